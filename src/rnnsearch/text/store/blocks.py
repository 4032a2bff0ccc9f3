"""Some thousands of tokenised sentences as arrays, and temporary files of them: what lies between the lines
of a corpus and the store."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int64, Integer
from numpy.typing import NDArray

Integers = Integer[NDArray[np.integer[Any]], " _"]
Mask = Bool[NDArray[np.bool_], " _"]


class Ragged(NamedTuple):
    """Rows of different lengths end to end: row i is values[offsets[i] : offsets[i + 1]], where offsets are
    the sums of the lengths."""

    values: Integers
    lengths: Integers

    def select(self, keep: Mask) -> Ragged:
        """Returns the rows that `keep` marks."""
        return Ragged(self.values[np.repeat(keep, self.lengths)], self.lengths[keep])


class SideBlock(NamedTuple):
    """One side of some pairs. words: the different words; sentences: rows of places in `words`."""

    words: list[str]
    sentences: Ragged

    def sentence(self, number: int) -> list[str]:
        start, end = offsets_of(self.sentences.lengths)[number : number + 2]
        return [self.words[place] for place in self.sentences.values[start:end]]

    def select(self, keep: Mask) -> SideBlock:
        return SideBlock(self.words, self.sentences.select(keep))

    def counts(self) -> list[int]:
        """Returns the number of times that each of `words` occurs."""
        counts: list[int] = np.bincount(self.sentences.values, minlength=len(self.words)).tolist()
        return counts


class FilterOutcomes(NamedTuple):
    """The filters' decisions about consecutive pairs of one text.

    text: its index among the texts. first: number of the first pair, 1-based. reasons: 0 for a pair that
    stays, else 1 + the place of the filter that dropped it.
    """

    text: int
    first: int
    reasons: NDArray[np.uint8]


class RowCollector:
    """Collects rows of numbers."""

    def __init__(self) -> None:
        self._values: list[int] = []
        self._lengths: list[int] = []

    def add(self, values: Iterable[int]) -> None:
        before = len(self._values)
        self._values += values
        self._lengths.append(len(self._values) - before)

    def packed(self) -> bytes:
        """Returns the rows as `read_links` reads them, in 16 or 32 bits."""
        return pack(*self._parts())

    def _parts(self) -> tuple[Integers, Integers]:
        values = np.array(self._values, dtype=np.uint32)
        small = not len(values) or int(values.max()) < 1 << 16
        return values.astype(np.uint16) if small else values, np.array(self._lengths, dtype=np.int32)


class SideCollector(RowCollector):
    """Collects sentences into a block."""

    def __init__(self) -> None:
        super().__init__()
        self._places: defaultdict[str, int] = defaultdict()
        self._places.default_factory = self._places.__len__  # a new word gets the next place

    def add(self, values: Iterable[str]) -> None:  # type: ignore[override]
        super().add(map(self._places.__getitem__, values))

    def packed(self) -> bytes:
        """Returns the block as `read_blocks` reads it; nothing can be added after it."""
        self._places.default_factory = None  # else the table would refer to itself, and stay in memory
        return pack(" ".join(self._places), *self._parts())


def pack(*parts: object) -> bytes:
    return pickle.dumps(parts, protocol=5)


def unpacked(path: Path) -> Iterator[Any]:
    """Yields the parts that were packed, one after another. The file must be one that this process wrote
    itself."""
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)


def read_blocks(path: Path) -> Iterator[SideBlock]:
    for words, values, lengths in unpacked(path):
        yield SideBlock(words.split(" ") if words else [], Ragged(values, lengths))


def read_links(path: Path) -> Iterator[Ragged]:
    for values, lengths in unpacked(path):
        yield Ragged(values, lengths)


def read_outcomes(path: Path) -> Iterator[FilterOutcomes]:
    for parts in unpacked(path):
        yield FilterOutcomes(*parts)


def offsets_of(lengths: Integer[NDArray[np.integer[Any]], " n"]) -> Int64[NDArray[np.int64], " n+1"]:
    """Returns where each row of these lengths begins, and where the last one ends; the first begins at 0."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(starts: Integers, lengths: Integers) -> NDArray[np.int64]:
    """Returns starts[0] … starts[0] + lengths[0] − 1, then those of the next: Σ lengths places."""
    offsets = offsets_of(lengths)
    places: NDArray[np.int64] = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return places
