"""Opens files and decompresses them according to their names. All faults become InputError."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from rnnsearch.errors import InputError

STDIN = "-"

MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
"""First bytes of a compressed file → the suffix that its name should have."""

_BUFFER = 1 << 18  # bytes decompressed at a time


def is_on_disk(path: str | Path) -> bool:
    """Tells whether a file can be read twice, unlike standard input or a pipe."""
    return str(path) != STDIN and Path(path).is_file()


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Yields the bytes of a file: a plain one, a .gz, .xz or .zst file, or standard input for `-`.

    Raises InputError for a file that cannot be opened or read, for damaged compression, and for .zst without
    the library that reads it.
    """
    try:
        if str(path) == STDIN:
            with _stdin() as stream:
                yield stream
        elif unpack := COMPRESSIONS.get(Path(path).suffix):
            with (
                unpack(Path(path)) as packed,
                io.BufferedReader(cast(io.RawIOBase, packed), _BUFFER) as stream,
            ):
                # Python's gzip reads a file of 0 bytes as valid and empty; a failed download leaves such a
                # file.
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
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            f"the compressed file is damaged or incomplete: {error}",
            file=path,
            remedy="copy or download it again",
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None


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


COMPRESSIONS: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zst": _open_zstandard}
"""Suffix → function that opens such a file."""
