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

try:
    import fcntl
except ImportError:  # no such locks on this system: nothing is then taken for left behind
    fcntl = None  # type: ignore[assignment]

PARTIAL, ASIDE = ".partial", ".old"


@contextmanager
def whole_folder(out: Path, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """A new folder to write into, which becomes `out` at the end, on disk to the last byte; on any exception nothing is left of it.

    After a kill -9 or a power cut its remains stay beside `out` under a hidden name; the next one that makes `out` removes them.
    replaceable: whether an `out` that is there, and not empty, may be replaced.
    Raises InputError if it may not, and for every fault of the file system on the way, a full disk above all.
    """
    out = out.resolve()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _clear_left_behind(out)
        _check(out, replaceable)
        unique = uuid.uuid4().hex[:8]
        folder = out.with_name(f".{out.name}.{unique}{PARTIAL}")
        lock = _locked_folder(folder)
        try:
            yield folder
            _flush(folder)
            _replace(out, folder, aside=out.with_name(f".{out.name}.{unique}{ASIDE}"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
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


def _locked_folder(folder: Path) -> int:
    """Makes the folder, locked by this process for as long as it lives; the handle that holds the lock."""
    new = folder.with_suffix(".new")  # a folder is never seen under its name without its lock
    new.mkdir()
    handle = os.open(new, os.O_RDONLY)
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    new.rename(folder)
    return handle


def _clear_left_behind(out: Path) -> None:
    """Removes what processes left behind that no longer live: the kernel has taken their locks."""
    for aside in out.parent.glob(f".{_literal(out.name)}.*{ASIDE}"):
        partial = aside.with_suffix(PARTIAL)
        if not partial.exists() or _is_abandoned(partial):
            if out.exists():
                shutil.rmtree(aside, ignore_errors=True)
            else:  # it ended between the two renames: the old folder is the only whole one
                aside.rename(out)
    for folder in out.parent.glob(f".{_literal(out.name)}.*{PARTIAL}"):
        if _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _literal(name: str) -> str:
    """The name as a pattern that only it matches."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def _is_abandoned(folder: Path) -> bool:
    if fcntl is None:
        return False
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # gone meanwhile, or not ours
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process is at work in it
        return False
    finally:
        os.close(handle)
    return True


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
