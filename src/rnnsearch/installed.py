"""The models that are installed, by name: folders in the layout of a run, in packages that say they hold some.

A package says so by an entry point of the group `rnnsearch.models` that names a module; each folder beside that module with a `config.toml`
is a model of the folder's name. Nothing of the package is executed. $RNNSEARCH_MODELS names further folders that hold models.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from rnnsearch.errors import InputError, did_you_mean

GROUP = "rnnsearch.models"
VARIABLE = "RNNSEARCH_MODELS"
INSTALL = "pip install 'rnnsearch[models]'"


def installed_models() -> dict[str, Path]:
    """Name → folder, sorted by name; where two have one name, that of $RNNSEARCH_MODELS is taken."""
    found: dict[str, Path] = {}
    for home in _homes():
        if home.is_dir():
            found |= {folder.name: folder for folder in home.iterdir() if (folder / "config.toml").is_file()}
    return dict(sorted(found.items()))


def is_name(word: str | Path) -> bool:
    """Whether the word has the form of a model's name, not of a path, and no folder or file is called so."""
    return bool(str(word)) and Path(word).name == str(word) and str(word) not in (".", "..") and not Path(word).exists()


def folder_of(word: str | Path) -> Path:
    """The folder that a path or a model's name stands for; a path stays as it is, whether it exists or not.

    Raises InputError for a name that no installed model has; it lists those that are there.
    """
    if not is_name(word):
        return Path(word)
    models = installed_models()
    if str(word) in models:
        return models[str(word)]
    known = f"installed models: {', '.join(models)}" if models else f"no models are installed: {INSTALL}"
    raise InputError(
        f"there is no folder and no installed model {str(word)!r}", remedy=f"{did_you_mean(str(word), models)} {known}".strip()
    )


def _homes() -> list[Path]:
    packages = []
    for entry in entry_points(group=GROUP):
        try:
            spec = find_spec(entry.module)  # of a module at top level: nothing is imported
        except (ImportError, ValueError):
            continue
        packages += [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    named = os.environ.get(VARIABLE, "")
    return [*packages, *(Path(folder) for folder in named.split(os.pathsep) if folder)]
