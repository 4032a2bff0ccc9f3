"""What compresses bytes, by the end of a file's name."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from functools import partial
from importlib import import_module

try:
    zstandard = import_module("compression.zstd")
except ImportError:
    zstandard = import_module("backports.zstd")

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": partial(gzip.compress, mtime=0),  # no clock: the bytes are part of the names of tests
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
PACKED = [*PACK][1:]
