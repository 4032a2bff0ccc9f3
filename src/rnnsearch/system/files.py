"""Atomic writing of files (Ctrl-C, kill -9 or a full disk leaves the previous version; a power cut may not),
checksums, and locks, which the kernel releases when a process ends."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnsearch.errors import InputError

try:
    import fcntl
except ImportError:  # a system without such locks: nothing is refused
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".partial"


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`, whose file replaces it on success; on an exception it is
    removed. The next writer of `path` overwrites what a killed process has left.

    Raises InputError if `path` is a device, a pipe or a folder, which must not be replaced, and while another
    process is writing it; OSError as the system does.
    """
    if path.exists() and not path.is_file():
        raise InputError("cannot be written: it is not a regular file", file=path, remedy="name another file")
    temporary = path.with_name(f".{path.name}{PARTIAL}")
    handle = open_locked(temporary)
    try:
        os.truncate(handle, 0)
        yield temporary
        os.fsync(handle)
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        if isinstance(error, OSError) and not error.filename:  # of a full disk
            error.filename = str(path)
        raise
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a small text file atomically."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove_partial_files(folder: Path) -> None:
    """Removes what killed processes left in a folder in which no other process writes."""
    for path in folder.glob(f".*{PARTIAL}"):
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
    if file.exists() and not file.is_file():
        raise InputError("is not a regular file", file=file, remedy="name another file")
    if file.exists() and not overwrite:
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


def open_locked(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Opens a file or a folder and locks it until the handle is closed. Raises InputError if another process
    has locked it."""
    while True:
        handle = os.open(path, flags | os.O_CLOEXEC, 0o666)
        if not lock(handle):
            os.close(handle)
            raise InputError("another command is writing it", file=path, remedy="wait for it, or end it")
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # its owner has renamed or removed it meanwhile


@contextmanager
def only_one(folder: Path, doing: str) -> Iterator[None]:
    """Keeps other processes from doing the same in `folder`, with a file `.lock` in it. Makes the folder.

    doing: the work in the message, such as "training". Raises InputError if another process is doing it, and
    OSError if the folder cannot be written."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    try:
        handle = open_locked(path)
    except InputError:
        number = path.read_text("ascii", "replace").strip() if path.exists() else "?"
        what = f"another process ({number}) is {doing} here"
        raise InputError(what, file=folder, remedy="wait for it or end it, or name another folder") from None
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
            for one in missing:
                one.rmdir()
