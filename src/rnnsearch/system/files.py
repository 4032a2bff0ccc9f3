"""Files that are whole or absent: a crash, kill -9 or a full disk leaves the previous version."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnsearch.errors import InputError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on success it is flushed to the disk and renamed, on any exception removed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    """Writes a small text file whole."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def free(file: Path, overwrite: bool) -> None:
    """Makes the folder of a file to be written. Raises InputError if the file is there already and may not be replaced."""
    if file.is_dir() or (file.exists() and not overwrite):
        raise InputError("is there already", file=file, remedy="name another file, or give --overwrite")
    file.parent.mkdir(parents=True, exist_ok=True)
