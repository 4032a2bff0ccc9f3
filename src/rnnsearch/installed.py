"""What is installed: the version of this package, the packages of its extras, and models by name.

Models are folders in the layout of a run, in packages that declare them.

A package declares an entry point of the group `rnnsearch.models` that names a module. Each folder
with a `config.toml` next to that module is a model with the folder's name. No code of the package
is executed. $RNNSEARCH_MODELS names further folders with models.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rnnsearch.arguments import require
from rnnsearch.errors import InputError, did_you_mean

EXTRAS = {
    "plot": ("matplotlib",),
    "report": ("sacrebleu", "matplotlib"),
    "train": ("tensorboard", "sacrebleu"),
    "all": ("tensorboard", "sacrebleu", "matplotlib"),
    "serve": ("fastapi", "uvicorn", "prometheus_client", "python_multipart"),
    "ray": ("ray", "pandas", "pyarrow", "fsspec"),
}
"""Extra → its packages, by their import names."""

MODELS_GROUP = "rnnsearch.models"
"""Group of the entry points."""
VARIABLE = "RNNSEARCH_MODELS"
"""Environment variable with further folders."""
NO_MODELS = "no models are installed: pip install 'rnnsearch[models]'"


def installed_models() -> dict[str, Path]:
    """Returns name → folder, sorted by name. $RNNSEARCH_MODELS takes precedence if two models have
    the same name."""
    files = (file for base in _base_folders() for file in base.glob("*/config.toml"))
    return dict(sorted({file.parent.name: file.parent for file in files}.items()))


def is_name(word: str | Path) -> bool:
    """Tells whether the word has the form of a model's name, not of a path, and no file or folder
    has this name."""
    return Path(word).name == str(word) and not Path(word).exists()


def folder_of(word: str | Path) -> Path:
    """Returns the folder of a model's name. A path is returned unchanged, even if it does not
    exist.

    Raises InputError, which lists the installed models, for an unknown name.
    """
    require("the run", word, str, Path)
    if not is_name(word):
        return Path(word)
    models, name = installed_models(), str(word)
    if name in models:
        return models[name]
    known = f"installed models: {', '.join(models)}" if models else NO_MODELS
    remedy = f"{did_you_mean(name, models)} {known}".strip()
    raise InputError(f"there is no folder and no installed model {name!r}", remedy)


def model_names(
    given: Sequence[str], languages: Sequence[tuple[str, str]], folders: Sequence[Path]
) -> list[str]:
    """Returns the names of models that a service or a page offers together.

    given: names that the user chose, "" for none. languages: (source, target) of each model. A
    model's name is the given one; otherwise its languages if no other model has them, or else its
    folder. Raises InputError if two have the same name."""
    names: list[str] = []
    for name, pair, folder in zip(given, languages, folders, strict=True):
        known = all(pair) and languages.count(pair) == 1
        names.append(name or ("-".join(pair) if known else folder.resolve().name))
        if names[-1] in names[:-1]:
            remedy = "give them different names: NAME=RUN in a service, else folders"
            raise InputError(f"two models would be called {names[-1]!r}", remedy)
    return names


def _base_folders() -> list[Path]:
    folders = list[str]()
    for entry in entry_points(group=MODELS_GROUP):
        with suppress(ImportError, ValueError):
            spec = find_spec(entry.module)  # for a top-level module, nothing is imported
            folders += (spec and spec.submodule_search_locations) or []
    folders += os.environ.get(VARIABLE, "").split(os.pathsep)
    return [Path(folder) for folder in folders if folder]


def package_version() -> str:
    """Returns the version of the installed package."""
    try:
        return version("rnnsearch")
    except PackageNotFoundError:
        return "0 (not installed)"


def part(name: str) -> Any:
    """Returns what an entry point of the group `rnnsearch.parts` names. Raises InputError if there
    is none."""
    for entry in entry_points(group="rnnsearch.parts", name=name):
        return entry.load()
    raise InputError(f"this installation has no part {name!r}", "install the whole of rnnsearch")


def need(extra: str) -> None:
    """Raises InputError with an installation command if a package of the extra is missing."""
    for package in EXTRAS[extra]:
        if find_spec(package) is None:
            raise InputError(missing_message(package, extra))


def missing_message(package: str, extra: str) -> str:
    """Returns the message about a missing package."""
    return f"needs {package}: pip install 'rnnsearch[{extra}]'"


def extra_of(package: str) -> str | None:
    """Returns the smallest extra with a package; None if there is none."""
    return next((extra for extra, packages in EXTRAS.items() if package in packages), None)
