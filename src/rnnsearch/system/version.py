"""Which rnnsearch this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    try:
        return version("rnnsearch")
    except PackageNotFoundError:
        return "0 (not installed)"
