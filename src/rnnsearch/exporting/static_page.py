"""A folder of static files that translates in the browser: the page, its engine, and the models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.exporting.browser_model import check_exportable, write_browser_model
from rnnsearch.page import page_files
from rnnsearch.run import Run
from rnnsearch.system.files import file_name
from rnnsearch.system.folders import whole_folder

CONFIG, MODELS = "config.json", "models"


@dataclass(frozen=True)
class StaticPage:
    """folder: what can be put on any static host. bytes: of the page, and of each model by name."""

    folder: Path
    page_bytes: int
    model_bytes: dict[str, int]


def export_page(runs: Sequence[str | Path], out: str | Path) -> StaticPage:
    """Writes the folder, whole or not at all. The models appear in the page in the order of `runs`; the first is chosen.

    Raises InputError for a run that cannot be opened or that the page's engine cannot run, for two of one name, and for a folder that
    is there and was not made by this function.
    """
    out = Path(out)
    opened = [Run.open(run) for run in runs]
    for run in opened:
        check_exportable(run)
    names = model_names(opened)
    files = page_files()
    with whole_folder(out, made_here) as folder:
        sizes, models = {}, []
        for name, run in zip(names, opened, strict=True):
            sizes[name] = write_browser_model(run, folder / MODELS / name)
            data = run.settings.data
            models.append(
                {
                    "name": name,
                    "source": data.source_language,
                    "target": data.target_language,
                    "folder": f"{MODELS}/{name}",
                    "bytes": sizes[name],
                }
            )
        config = json.dumps({"engine": "local", "models": models}, ensure_ascii=False, indent=1).encode()
        for path, content in {**files, CONFIG: config}.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return StaticPage(out, sum(map(len, files.values())), sizes)


def model_names(runs: Sequence[Run]) -> list[str]:
    """What the page calls them: `en-fr`, or the names of their folders where languages are the same. Two of one name raise InputError."""
    pairs = [f"{run.settings.data.source_language}-{run.settings.data.target_language}" for run in runs]
    names = [file_name(pair if pairs.count(pair) == 1 else run.path.resolve().name) for pair, run in zip(pairs, runs, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"there are two models called {name}", remedy="rename the folder of one of them")
    return names


def made_here(folder: Path) -> bool:
    """Whether the folder is such a page, which a new one may replace."""
    return (folder / CONFIG).is_file() and (folder / "engine" / "worker.js").is_file()
