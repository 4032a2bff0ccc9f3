"""Atomic writing of files (a crash, kill -9 or a full disk leaves the previous version), checksums, and
locks. The kernel releases the locks of a process that ends, so a partial file without a lock is abandoned."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnsearch.errors import InputError

try:
    import fcntl
except ImportError:  # without such locks nothing counts as abandoned, and nothing is refused
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".partial"
NEW_SECONDS = 60
"""Seconds in which a new, empty file or folder does not count as abandoned."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`. On success its file is flushed to disk and renamed; on an
    exception it is removed.

    Partial files of killed processes are removed first. Raises InputError if `path` is a device, a pipe or a
    folder, which must not be replaced, and OSError as the system does.
    """
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise InputError("cannot be written: it is not a regular file", file=path, remedy="name another file")
    remove_partial_files(path.parent, path.name)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}{PARTIAL}")
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        lock(handle)  # tells other processes that this one is writing it
        yield temporary
        fsync(temporary)
        temporary.replace(path)
        fsync(path.parent)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        if isinstance(error, OSError) and not error.filename:  # of a full disk
            error.filename = str(path)
        raise
    finally:
        os.close(handle)


def fsync(path: Path) -> None:
    """Flushes a file, or the entries of a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a small text file atomically."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove_partial_files(folder: Path, name: str = "") -> None:
    """Removes partial files of killed processes in `folder`: of the file `name`, or of any file. Those of
    running processes stay."""
    for path in folder.glob(f".*{PARTIAL}"):
        of = path.name[1:].rpartition(".")[0].rpartition(".")[0]
        if of and name in ("", of) and path.is_file() and is_abandoned(path):
            with contextlib.suppress(OSError):
                path.unlink()


@contextmanager
def writing(path: Path | None) -> Iterator[None]:
    """Turns an OSError into an InputError that names the file, or `path` if the error names none."""
    try:
        yield
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise InputError(what, file=error.filename or path) from None


def prepare_output(file: Path, overwrite: bool) -> None:
    """Makes the folder of a file to be written. Raises InputError if the file exists and may not be
    replaced."""
    if file.is_dir() or (file.exists() and not overwrite):
        raise InputError("already exists", file=file, remedy="choose another file, or add --overwrite")
    make_parents(file)


def make_parents(path: Path) -> None:
    """Makes the parent folders of the path. Raises InputError if one of them is a file."""
    file = next((parent for parent in path.parents if parent.exists() and not parent.is_dir()), None)
    if file is not None:
        raise InputError(f"{file} is a file, not a folder", file=path, remedy="name another place")
    path.parent.mkdir(parents=True, exist_ok=True)


def file_name(name: str) -> str:
    """Turns a name into a file name: unsuitable characters become hyphens."""
    return (
        "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name).strip(".")
        or "unnamed"
    )


def file_checksum(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum(*parts: str | bytes | memoryview | Path) -> str:
    """Returns the SHA-256 of texts, bytes and the contents of files, in hexadecimal. The length of each part
    counts, too."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            part = part.read_bytes()
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(len(content).to_bytes(8, "little"))
        total.update(content)
    return total.hexdigest()


def lock(handle: int) -> bool:
    """Locks an open file or folder while the handle is open. Returns False if another process has locked
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
    """Tells whether no process has locked the file or folder; False if unknown.

    A new, empty one may be about to be locked, so it does not count as abandoned for NEW_SECONDS. One with a
    date in the future is not new.
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
        if empty and abs(time.time() - status.st_mtime) < NEW_SECONDS:
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process is at work in it
        return False
    finally:
        os.close(handle)
    return True


@contextmanager
def only_one(folder: Path, doing: str) -> Iterator[None]:
    """Keeps other processes from doing the same in `folder`, with a file `.lock` in it. Makes the folder.

    doing: the work in the message, such as "training". Raises InputError if another process is doing it, and
    OSError if the folder cannot be written."""
    made = _make_folder(folder)
    path = folder / ".lock"
    handle = _open_locked(path, folder, doing)
    try:
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        # The file is removed before the lock is released: a process that gets the old file's lock sees that
        # it is gone.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(handle)
        with contextlib.suppress(OSError):  # removes new folders that are still empty
            for one in made:
                one.rmdir()


def _make_folder(folder: Path) -> list[Path]:
    """Makes the folder and its parents. Returns those that were made, the innermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _open_locked(path: Path, folder: Path, doing: str) -> int:
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
        os.close(handle)  # its owner has removed the file meanwhile
        time.sleep(0.01)
