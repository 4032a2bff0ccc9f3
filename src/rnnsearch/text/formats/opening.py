"""Opens files, and decompresses them according to their names. All faults become InputError."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from rnnsearch.arguments import require
from rnnsearch.errors import InputError

FilePath = str | Path
STDIN = "-"

_ZIP = ".zip/"
# Files beside the text of a downloaded archive.
_NOTES = ("readme", "license", "licence", "copying", "_", ".")
_BUFFER = 1 << 18  # bytes decompressed at a time
_FAULTS: dict[type[OSError], tuple[str, str]] = {
    FileNotFoundError: ("no such file", "check the path"),
    IsADirectoryError: ("is a folder, not a text file", "name a file in it"),
}


def is_on_disk(path: FilePath) -> bool:
    """Tells whether a file can be read twice, unlike standard input or a pipe."""
    return str(path) != STDIN and Path(path).is_file()


def text_suffix(path: FilePath) -> str:
    """Returns the suffix of a file's name without that of its compression, in lowercase."""
    name = Path(str(path).lower())
    return Path(name.stem).suffix if name.suffix in COMPRESSIONS else name.suffix


@contextmanager
def opened(path: FilePath) -> Iterator[BinaryIO]:
    """Yields the bytes of a file: a plain one, a .gz, .bz2, .xz or .zst file, the only text in a
    .zip file, `archive.zip/name` for one of several, or standard input for `-`.

    Raises InputError for a file that cannot be opened or read, for damaged compression, and for
    .zst without the library that reads it.
    """
    require("the file", path, str, Path)
    suffix = ".zip" if _ZIP in str(path).lower() else Path(path).suffix.lower()
    with _faults(path):
        if str(path) == STDIN:
            with _stdin() as stream:
                yield stream
        elif unpack := COMPRESSIONS.get(suffix):
            with unpack(path) as packed, io.BufferedReader(packed, _BUFFER) as stream:
                # Python's gzip and bz2 read a file of 0 bytes as valid and empty; a failed download
                # leaves such a file.
                if is_on_disk(path) and not Path(path).stat().st_size:
                    raise EOFError("it is empty")
                yield stream
        else:
            with Path(path).open("rb") as stream:
                yield stream


@contextmanager
def _faults(path: FilePath) -> Iterator[None]:
    """Turns errors of opening, reading and decompressing into an InputError."""
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno is not None:  # gzip and bz2 give no number
            what, remedy = _FAULTS.get(type(error), (f"cannot be read: {error.strerror}", ""))
        else:
            what = f"the compressed file is damaged or incomplete: {error}"
            remedy = "copy or download it again; if it is plain text, rename it"
        raise InputError(what, remedy, file=path) from None


@contextmanager
def _stdin() -> Iterator[BinaryIO]:
    """Opens standard input with a buffer of its own: a thread that waits on the buffer of
    `sys.stdin` would prevent the interpreter from exiting."""
    try:
        descriptor = sys.stdin.fileno()
    except OSError:  # it has no file descriptor
        yield sys.stdin.buffer
    else:
        with open(descriptor, "rb", closefd=False) as stream:
            yield stream


def texts_in_zip(path: FilePath) -> list[str]:
    """Returns the names of the texts in a .zip file, without notes; none for another file. Raises
    InputError if it is damaged."""
    if not str(path).lower().endswith(".zip"):
        return []
    with _faults(path), zipfile.ZipFile(path) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    return [name for name in names if not Path(name).name.lower().startswith(_NOTES)]


@contextmanager
def _open_zip(path: FilePath) -> Iterator[Any]:
    """Opens the only text in a .zip file, or `archive.zip/name`."""
    begin, ending, name = re.split(r"(\.zip)(?:/|$)", str(path), maxsplit=1, flags=re.IGNORECASE)
    texts = texts_in_zip(outer := begin + ending)
    names = [name] if name else texts
    with zipfile.ZipFile(outer) as archive:
        if len(names) != 1 or names[0] not in archive.namelist():
            what = f"has no such text; it has {len(texts)}: {', '.join(texts)}"
            raise InputError(what[:200], f"name one of them, as in {outer}/NAME", file=path)
        try:
            with archive.open(names[0]) as member:
                yield member
        except (RuntimeError, NotImplementedError) as error:  # encrypted, or an unknown compression
            raise InputError(f"cannot be read: {error}", "unpack it yourself", file=path) from None


@contextmanager
def _open_zstandard(path: FilePath) -> Iterator[Any]:
    """Opens by Python's own module from 3.14 on, or by its backport for older versions."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            zstandard = import_module(module)
        except ImportError:
            continue
        try:
            with zstandard.open(path, "rb") as stream:
                yield stream
            return
        except zstandard.ZstdError as error:
            raise EOFError(str(error)) from None
    what = "reading .zst needs the package backports.zstd"
    raise InputError(what, "pip install 'rnnsearch[zstd]'", file=path)


COMPRESSIONS: dict[str, Callable[[FilePath], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstandard,
    ".zip": _open_zip,
}
"""Suffix → function that opens such a file."""
