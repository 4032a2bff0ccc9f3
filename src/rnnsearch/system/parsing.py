"""Reading of untrusted small files, TOML and JSON. Every fault is an OSError or a ValueError, and pipes are
refused."""

from __future__ import annotations

import errno
import json
import os
import stat
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError

LARGEST = 1 << 28
"""Largest size of a small file, in bytes."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parses TOML, also after a byte order mark. Raises ValueError with a plain one-line message."""
    table: dict[str, Any] = _parsed(tomllib.loads, text.removeprefix("\ufeff"))
    return table


def parse_json(text: str | bytes) -> Any:
    """Parses JSON. Raises ValueError with a plain one-line message."""
    return _parsed(json.loads, text)


def read_toml(path: Path) -> dict[str, Any]:
    """Reads a TOML file. Raises OSError if it cannot be read, and ValueError if it is not TOML."""
    return parse_toml(read_text(path))


def read_json(path: Path) -> Any:
    """Reads a JSON file. Raises OSError if it cannot be read, and ValueError if it is not JSON."""
    return parse_json(read_text(path))


def read_text(path: Path) -> str:
    """Returns the text of a regular file in UTF-8. Raises OSError if it cannot be read, and ValueError if it
    is not UTF-8 or is larger than LARGEST."""
    return read_bytes(path).decode("utf-8")


def read_bytes(path: Path) -> bytes:
    """Returns the content of a regular file. Raises OSError if it cannot be read, and ValueError if it is
    larger than LARGEST."""
    check_regular(path)
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"the file has more than {LARGEST:,} bytes")
    return content


def read_file(path: Path) -> bytes:
    """Returns the content of a regular file. Raises InputError if it cannot be read or is larger than
    LARGEST."""
    with reading(path):
        return read_bytes(path)


@contextmanager
def reading(file: Path, remedy: str = "", found: str = "cannot be read") -> Iterator[None]:
    """Turns OSError and ValueError into an InputError. found: the beginning of its message."""
    try:
        yield
    except (OSError, ValueError) as error:
        what = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"{found}: {what}", file=file, remedy=remedy) from None


def check_regular(path: Path) -> None:
    """Raises OSError if there is no file, and for a folder, a pipe, a device or a socket, on which reading
    would wait or fail."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", str(path))


def _parsed(parse: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        # Python refuses to convert thousands of digits, with a message for programmers.
        if "integer string conversion" in str(error):
            raise ValueError("a number has too many digits") from None
        raise
