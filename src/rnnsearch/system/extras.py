"""The version of this package, and its optional dependencies: extras, and packages that are missing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from rnnsearch.errors import InputError

EXTRAS = {
    "plot": ("matplotlib",),
    "report": ("sacrebleu", "matplotlib"),
    "train": ("tensorboard", "sacrebleu"),
    "all": ("tensorboard", "sacrebleu", "matplotlib"),
    "serve": ("fastapi", "uvicorn", "prometheus_client", "python_multipart", "py3langid"),
    "ray": ("ray", "pandas", "pyarrow", "fsspec"),
}
"""Extra → its packages, by their import names."""


def package_version() -> str:
    """Returns the version of the installed package."""
    try:
        return version("rnnsearch")
    except PackageNotFoundError:
        return "0 (not installed)"


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
