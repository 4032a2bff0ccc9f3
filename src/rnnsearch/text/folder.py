"""Folders that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnsearch.errors import InputError


@contextmanager
def whole_folder(out: Path, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """A new folder to write into, which becomes `out` at the end, on disk to the last byte; on any exception nothing is left of it.

    replaceable: whether an `out` that is there, and not empty, may be replaced.
    Raises InputError if it may not, and for every fault of the file system on the way, a full disk above all.
    """
    out = out.resolve()
    try:
        _check(out, replaceable)
        out.parent.mkdir(parents=True, exist_ok=True)
        unique = uuid.uuid4().hex[:8]
        folder = out.with_name(f".{out.name}.{unique}.partial")
        folder.mkdir()
        try:
            yield folder
            _flush(folder)
            _replace(out, folder, aside=out.with_name(f".{out.name}.{unique}.old"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError("no space left on the disk", file=out, remedy="free some, or write to another disk") from None
        raise InputError(f"cannot be written: {error.strerror or error}", file=out, remedy="check path and permissions") from None


def _check(out: Path, replaceable: Callable[[Path], bool]) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError("is a file, not a folder", file=out, remedy="name another folder")
    if any(out.iterdir()) and not replaceable(out):
        raise InputError("exists and is not empty", file=out, remedy="name another folder, or remove this one")


def _flush(folder: Path) -> None:
    for path in [*folder.iterdir(), folder]:
        _fsync(path)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(out: Path, folder: Path, aside: Path) -> None:
    if out.exists() and any(out.iterdir()):  # a rename replaces an empty folder only
        out.rename(aside)
    folder.rename(out)
    _fsync(out.parent)
    shutil.rmtree(aside, ignore_errors=True)
