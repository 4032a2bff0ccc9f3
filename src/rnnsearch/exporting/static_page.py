"""A folder of static files that translates in the browser: the page, its engine, and the models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.exporting.browser_model import check_exportable, write_browser_model
from rnnsearch.installed import model_names
from rnnsearch.page import page_files
from rnnsearch.pretrained.card import examples_of
from rnnsearch.run import Run
from rnnsearch.system.files import file_name
from rnnsearch.system.folders import whole_folder
from rnnsearch.training.alignment_loss import needs_links

CONFIG, MODELS = "config.json", "models"


@dataclass(frozen=True)
class StaticPage:
    """folder: what can be put on any static host. bytes: of the page, and of each model by name."""

    folder: Path
    page_bytes: int
    model_bytes: dict[str, int]


def export_page(runs: Sequence[str | Path], out: str | Path) -> StaticPage:
    """Writes the folder, whole or not at all. The models appear in the page in the order of `runs`; the first
    is chosen.

    Raises InputError for a run that cannot be opened or that the page's engine cannot run, and for a folder
    that is there and was not made by this function.
    """
    out = Path(out)
    opened = [Run.open(run) for run in runs]
    for run in opened:
        check_exportable(run)
    languages = [(run.settings.data.source_language, run.settings.data.target_language) for run in opened]
    folders = [run.path for run in opened]
    named = model_names([""] * len(opened), ["-".join(pair) for pair in languages], folders)
    names = [file_name(name) for name in named]
    files = page_files()
    with whole_folder(out, made_here) as folder:
        sizes, models = {}, []
        for name, run, (source, target) in zip(names, opened, languages, strict=True):
            sizes[name] = write_browser_model(run, folder / MODELS / name)
            models.append(
                {
                    "name": name,
                    "source": source,
                    "target": target,
                    "taught_links": needs_links(run.settings.training),
                    "folder": f"{MODELS}/{name}",
                    "bytes": sizes[name],
                }
            )
        examples = {name: examples_of(path) for name, path in zip(names, folders, strict=True)}
        described = {"engine": "local", "models": models, "examples": examples}
        config = json.dumps(described, ensure_ascii=False, indent=1).encode()
        for path, content in {**files, CONFIG: config}.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return StaticPage(out, sum(map(len, files.values())), sizes)


def made_here(folder: Path) -> bool:
    """Tells whether the folder is such a page, which a new one may replace."""
    return (folder / CONFIG).is_file() and (folder / "engine" / "worker.js").is_file()
