"""Packages: the version of this one, those that only training, scoring and drawing need, and the extras that
bring them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from rnnsearch.errors import InputError

EXTRAS = {
    "plot": ("matplotlib",),
    "report": ("sacrebleu", "matplotlib"),
    "train": ("tensorboard", "sacrebleu"),
    "all": ("tensorboard", "sacrebleu", "matplotlib"),
}
"""Name of an extra → the packages that are imported of it."""


def package_version() -> str:
    try:
        return version("rnnsearch")
    except PackageNotFoundError:
        return "0 (not installed)"


def need(extra: str) -> None:
    """Raises InputError, which says what to install, if a package of the extra is missing."""
    for package in EXTRAS[extra]:
        if find_spec(package) is None:
            raise InputError(missing(package, extra))


def missing(package: str, extra: str) -> str:
    """Returns the message about a missing package."""
    return f"needs {package}: pip install 'rnnsearch[{extra}]'"


def extra_of(package: str) -> str | None:
    """Returns the smallest extra that brings a package; None if no extra does."""
    return next((extra for extra, packages in EXTRAS.items() if package in packages), None)
