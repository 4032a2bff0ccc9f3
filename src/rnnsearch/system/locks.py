"""Locks that the kernel releases when a process ends, however it ends: what nobody has locked is
abandoned."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnsearch.errors import InputError

try:
    import fcntl
except ImportError:  # a system without such locks: nothing counts as abandoned, and nothing is refused
    fcntl = None  # type: ignore[assignment]

NEW = 60
"""Seconds for which a new and empty file or folder does not count as abandoned."""


def lock(handle: int) -> bool:
    """Locks an open file or folder for as long as the handle is open. False if another process has locked
    it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def is_abandoned(path: Path) -> bool:
    """Returns True if no process has locked the file or folder at `path`, and False where that is unknown.

    A new and empty one may be about to be locked: it is left alone for a minute. One that is dated in the
    future, by a clock that was set back, is not new.
    """
    if fcntl is None:
        return False
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # gone meanwhile, or not ours
        return False
    try:
        status = os.fstat(handle)
        empty = not os.listdir(handle) if stat.S_ISDIR(status.st_mode) else not status.st_size
        if empty and abs(time.time() - status.st_mtime) < NEW:
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process is at work in it
        return False
    finally:
        os.close(handle)
    return True


@contextmanager
def only_one(folder: Path, doing: str) -> Iterator[None]:
    """Keeps every other process from doing the same in `folder`, by a file `.lock` in it, which is there
    meanwhile; the folder is made.

    Raises InputError if another process is at it, and OSError if the folder cannot be written.
    """
    made = _made(folder)
    path = folder / ".lock"
    handle = _locked(path, folder, doing)
    try:
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        # First the name, then the lock: a process that waits at the old file then looks for the new one.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(handle)
        with contextlib.suppress(OSError):  # a mistake leaves nothing behind
            for one in made:
                one.rmdir()


def _made(folder: Path) -> list[Path]:
    """Makes the folder. Returns the folders that were made, the innermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _locked(path: Path, folder: Path, doing: str) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not lock(handle):
            number = os.read(handle, 20).decode("ascii", "replace").strip()
            os.close(handle)
            who = f"another process ({number})" if number.isdecimal() else "another process"
            raise InputError(
                f"{who} is {doing} here", file=folder, remedy="wait for it or end it, or name another folder"
            )
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # its owner has removed it meanwhile
        time.sleep(0.01)
