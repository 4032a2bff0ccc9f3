"""Files that are whole or absent: a crash, kill -9 or a full disk leaves the previous version. And
checksums."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.system.locks import is_abandoned, lock

PARTIAL = ".partial"


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on success it is flushed to the disk and renamed, on any
    exception removed.

    What a process that was killed left of the same file is removed first. Raises InputError if `path` is a
    device, a pipe or a folder, which must not be replaced, and OSError as the system does.
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
    """Flushes a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a small text file whole."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove_partial_files(folder: Path, name: str = "") -> None:
    """Removes what killed processes left in `folder` of the file `name`, or of any file; what a living one
    writes stays."""
    for path in folder.glob(f".*{PARTIAL}"):
        of = path.name[1:].rpartition(".")[0].rpartition(".")[0]
        if of and name in ("", of) and path.is_file() and is_abandoned(path):
            with contextlib.suppress(OSError):
                path.unlink()


def free(file: Path, overwrite: bool) -> None:
    """Makes the folder of a file to be written. Raises InputError if the file is there already and may not be
    replaced."""
    if file.is_dir() or (file.exists() and not overwrite):
        raise InputError("already exists", file=file, remedy="choose another file, or add --overwrite")
    make_parents(file)


def make_parents(path: Path) -> None:
    """Makes the folders that the path lies in. Raises InputError if one of them is a file."""
    file = next((parent for parent in path.parents if parent.exists() and not parent.is_dir()), None)
    if file is not None:
        raise InputError(f"{file} is a file, not a folder", file=path, remedy="name another place")
    path.parent.mkdir(parents=True, exist_ok=True)


def file_name(name: str) -> str:
    """Returns the name with whatever a file's name should not hold turned into hyphens."""
    return (
        "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name).strip(".")
        or "unnamed"
    )


def file_checksum(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum(*parts: str | bytes | memoryview | Path) -> str:
    """Returns the SHA-256 of texts, bytes and the content of files, in hexadecimal; a length before each part
    keeps them apart."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            part = part.read_bytes()
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(len(content).to_bytes(8, "little"))
        total.update(content)
    return total.hexdigest()
