"""One training at a time in the folder of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.system.files import remove_partial_files
from rnnsearch.system.locks import only_one


@contextmanager
def run_lock(path: Path) -> Iterator[None]:
    """Keeps other trainings out of the folder, and removes the half-written files of one that was killed.

    Raises InputError if another training is at work in it, or if it cannot be written.
    """
    if path.exists() and not path.is_dir():
        raise InputError("is a file, not a folder", file=path, remedy="name another folder for --out")
    with ExitStack() as held:
        try:
            held.enter_context(only_one(path, "training"))
            for folder in (path, path / "checkpoints", path / "log"):
                remove_partial_files(folder)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=error.filename or path) from None
        yield
