"""The models that are installed, by name: folders in the layout of a run, in packages that say they hold
some.

A package says so by an entry point of the group `rnnsearch.models` that names a module; each folder beside
that module with a `config.toml` is a model of the folder's name. Nothing of the package is executed.
$RNNSEARCH_MODELS names further folders that hold models.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from rnnsearch.errors import InputError, did_you_mean

GROUP = "rnnsearch.models"
VARIABLE = "RNNSEARCH_MODELS"
INSTALL = "pip install 'rnnsearch[models]'"


def installed_models() -> dict[str, Path]:
    """Returns name → folder, sorted by name; of two models with one name, that of $RNNSEARCH_MODELS."""
    found: dict[str, Path] = {}
    for home in _homes():
        if home.is_dir():
            found |= {folder.name: folder for folder in home.iterdir() if (folder / "config.toml").is_file()}
    return dict(sorted(found.items()))


def is_name(word: str | Path) -> bool:
    """Tells whether the word has the form of a model's name, not of a path, and no file or folder is called
    so."""
    return (
        bool(str(word))
        and Path(word).name == str(word)
        and str(word) not in (".", "..")
        and not Path(word).exists()
    )


def folder_of(word: str | Path) -> Path:
    """Returns the folder that a path or a model's name stands for; a path stays as it is, even if nothing is
    there.

    Raises InputError for a name that no installed model has; it lists those that are there.
    """
    if not is_name(word):
        return Path(word)
    models = installed_models()
    if str(word) in models:
        return models[str(word)]
    known = f"installed models: {', '.join(models)}" if models else f"no models are installed: {INSTALL}"
    raise InputError(
        f"there is no folder and no installed model {str(word)!r}",
        remedy=f"{did_you_mean(str(word), models)} {known}".strip(),
    )


def model_names(given: Sequence[str], pairs: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Returns the names of models that are offered together, in the service and in a page alike.

    A model has the name that was given to it. Otherwise it is called by its languages where no other model
    has them, and else by its folder; a number behind it tells it from one of the same name. Raises InputError
    if one name is given twice.
    """
    for name in filter(None, given):
        if given.count(name) > 1:
            raise InputError(f"two models would be called {name!r}", remedy="give them different names")
    names: list[str] = []
    for name, pair, folder in zip(given, pairs, folders, strict=True):
        wanted = pair if pair and pairs.count(pair) == 1 else folder.resolve().name
        numbered = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
        names.append(name or next(one for one in numbered if one not in {*given, *names}))
    return names


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
