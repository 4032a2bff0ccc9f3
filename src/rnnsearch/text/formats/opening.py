"""Opens files, and decompresses them according to their names. All faults become InputError."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from rnnsearch.errors import InputError

STDIN = "-"

MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
}
"""First bytes of a compressed file → the suffix that its name should have."""

_BUFFER = 1 << 18  # bytes decompressed at a time
# Files beside the text of a downloaded archive.
_NOTES = ("readme", "license", "licence", "copying", "_", ".")


def is_on_disk(path: str | Path) -> bool:
    """Tells whether a file can be read twice, unlike standard input or a pipe."""
    return str(path) != STDIN and Path(path).is_file()


def text_suffix(path: str | Path) -> str:
    """Returns the suffix of a file's name without that of its compression, in lowercase."""
    name = Path(path)
    packed = name.suffix.lower() in (*COMPRESSIONS, ".zip")
    return Path(name.stem).suffix.lower() if packed else name.suffix.lower()


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Yields the bytes of a file: a plain one, a .gz, .bz2, .xz or .zst file, the only text in a .zip file,
    `archive.zip/name` for one of several, or standard input for `-`.

    Raises InputError for a file that cannot be opened or read, for damaged compression, and for .zst without
    the library that reads it.
    """
    try:
        if str(path) == STDIN:
            with _stdin() as stream:
                yield stream
        elif unpack := _unpacker(Path(path)):
            with (
                unpack(Path(path)) as packed,
                io.BufferedReader(cast(io.RawIOBase, packed), _BUFFER) as stream,
            ):
                # Python's gzip and bz2 read a file of 0 bytes as valid and empty; a failed download leaves
                # such a file.
                if not stream.peek(1) and Path(path).is_file() and not Path(path).stat().st_size:
                    raise EOFError("it is empty")
                yield stream
        else:
            with Path(path).open("rb") as stream:
                yield stream
    except FileNotFoundError:
        raise InputError("no such file", file=path, remedy="check the path") from None
    except IsADirectoryError:
        raise InputError("is a folder, not a text file", file=path, remedy="name a file in it") from None
    except PermissionError:
        raise InputError(
            "cannot be read: permission denied", file=path, remedy="check its permissions"
        ) from None
    except gzip.BadGzipFile as error:
        raise InputError(
            f"is not a valid gzip file: {error}",
            file=path,
            remedy="copy it again, or remove .gz from the name of a plain file",
        ) from None
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise _damaged(path, error) from None
    except OSError as error:
        if error.errno is None:  # of bz2
            raise _damaged(path, error) from None
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None


def _damaged(path: str | Path, error: Exception) -> InputError:
    what = f"the compressed file is damaged or incomplete: {error}"
    return InputError(what, file=path, remedy="copy or download it again")


@contextmanager
def _stdin() -> Iterator[BinaryIO]:
    """Opens standard input with a buffer of its own: a thread that waits on the buffer of `sys.stdin` would
    prevent the interpreter from exiting."""
    try:
        descriptor = sys.stdin.fileno()
    except OSError:  # it has no file descriptor
        yield sys.stdin.buffer
    else:
        with open(descriptor, "rb", closefd=False) as stream:
            yield stream


def _unpacker(path: Path) -> Callable[[Path], Any] | None:
    if path.suffix.lower() == ".zip" or archive_of(path):
        return _open_zip
    return COMPRESSIONS.get(path.suffix.lower())


def archive_of(path: Path) -> Path | None:
    """Returns the .zip file that a path like `archive.zip/name` leads into."""
    parents = (parent for parent in path.parents if parent.suffix.lower() == ".zip")
    return next(filter(Path.is_file, parents), None)


def texts_in_zip(path: Path) -> list[str]:
    """Returns the names of the texts in a .zip file. Raises InputError if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise _damaged(path, error) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    return [name for name in names if not Path(name).name.lower().startswith(_NOTES)]


@contextmanager
def _open_zip(path: Path) -> Iterator[Any]:
    archive = archive_of(path) or path
    name = path.relative_to(archive).as_posix()
    if archive == path:
        name, *others = texts_in_zip(path) or [""]
        if others or not name:
            what = f"holds {1 + len(others) if name else 0} texts: {', '.join([name, *others])}"
            raise InputError(what[:200], file=path, remedy=f"name one of them, as in {path}/{name or 'NAME'}")
    with zipfile.ZipFile(archive) as opened_archive:
        try:
            member = opened_archive.open(name)
        except KeyError:
            raise InputError("no such file in the archive", file=path, remedy="check the path") from None
        except (RuntimeError, NotImplementedError) as error:  # encrypted, or an unknown compression
            raise InputError(f"cannot be read: {error}", file=path, remedy="unpack it yourself") from None
        with member:
            yield member


@contextmanager
def _open_zstandard(path: Path) -> Iterator[BinaryIO]:
    zstandard = _zstandard(path)
    try:
        with zstandard.open(path, "rb") as stream:
            yield stream
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from None


def _zstandard(path: Path) -> Any:
    """Returns Python's own module from 3.14 on, or its backport for older versions."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(module)
        except ImportError:
            continue
    raise InputError(
        "reading .zst needs the package backports.zstd", file=path, remedy="pip install 'rnnsearch[zstd]'"
    )


COMPRESSIONS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstandard,
}
"""Suffix → function that opens such a file."""
