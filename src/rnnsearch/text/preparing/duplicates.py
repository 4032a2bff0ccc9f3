"""Which pairs occurred before, found in bounded memory: their digests lie on the disk, parted by their first bits."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

DIGEST = 16
"""Bytes of a digest: among 10^9 pairs, two different ones share theirs with a probability of 10^-21."""

_PARTS = 64  # each is sorted on its own
_RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("number", "<i8")])


def digest(source: str, target: str) -> bytes:
    """What tells a pair of lines from others. Neither line may hold a line feed."""
    return hashlib.blake2b(f"{source}\n{target}".encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


class Duplicates:
    """Takes the digests of all pairs in their order, and says which of them are repetitions.

    24 bytes per pair on the disk; in memory one part in 64 of that, while it is sorted, and one byte per pair for the answer.
    """

    def __init__(self, folder: Path) -> None:
        self.paths = [folder / f"digests.{part:02d}" for part in range(_PARTS)]
        self.pairs = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._files = [self._stack.enter_context(path.open("wb")) for path in self.paths]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, digests: bytes) -> None:
        """The digests of the next pairs, end to end."""
        halves = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
        records = np.empty(len(halves), dtype=_RECORD)
        records["high"], records["low"] = halves.T
        records["number"] = np.arange(self.pairs, self.pairs + len(halves))
        self.pairs += len(halves)
        parts = (records["high"] % _PARTS).astype(np.intp)
        by_part = np.argsort(parts, kind="stable")
        starts = np.searchsorted(parts[by_part], np.arange(_PARTS + 1))
        for part, file in enumerate(self._files):
            if starts[part] < starts[part + 1]:
                file.write(records[by_part[starts[part] : starts[part + 1]]].tobytes())

    def repetitions(self) -> NDArray[np.bool_]:
        """(pairs,): whether the pair occurred before. Removes the files."""
        for file in self._files:
            file.flush()
        repeated = np.zeros(self.pairs, dtype=bool)
        for path in self.paths:
            records = np.fromfile(path, dtype=_RECORD)
            order = np.lexsort((records["low"], records["high"]))  # stable: the first occurrence comes first
            sorted_records = records[order]
            same = (sorted_records["high"][1:] == sorted_records["high"][:-1]) & (sorted_records["low"][1:] == sorted_records["low"][:-1])
            repeated[sorted_records["number"][1:][same]] = True
            path.unlink()
        return repeated
