"""Some thousands of tokenised sentences as arrays, and temporary files of them: what lies between the lines of a corpus and the store."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int64, Integer, UInt8
from numpy.typing import NDArray

Integers = Integer[NDArray[np.integer[Any]], " _"]
Mask = Bool[NDArray[np.bool_], " _"]


class Ragged(NamedTuple):
    """Rows of different lengths end to end: row i is values[offsets[i] : offsets[i + 1]], where offsets are the sums of the lengths."""

    values: Integers
    lengths: Integers

    def select(self, keep: Bool[NDArray[np.bool_], " rows"]) -> Ragged:
        """The rows that `keep` marks."""
        return Ragged(self.values[np.repeat(keep, self.lengths)], self.lengths[keep])


class SideBlock(NamedTuple):
    """One side of some pairs. words: the different words; sentences: of places in `words`."""

    words: list[str]
    sentences: Ragged

    def sentence(self, number: int) -> list[str]:
        start = int(self.sentences.lengths[:number].sum())
        return [self.words[place] for place in self.sentences.values[start : start + int(self.sentences.lengths[number])]]

    def select(self, keep: Bool[NDArray[np.bool_], " sentences"]) -> SideBlock:
        return SideBlock(self.words, self.sentences.select(keep))

    def counts(self) -> list[int]:
        """How often each of `words` occurs."""
        counts: list[int] = np.bincount(self.sentences.values, minlength=len(self.words)).tolist()
        return counts


class FilterOutcomes(NamedTuple):
    """What the filters decided about consecutive pairs of one text.

    text: its index among the texts. first: number of the first pair, 1-based.
    reasons: 0 for a pair that stays, else 1 + the place of the filter that dropped it.
    """

    text: int
    first: int
    reasons: UInt8[NDArray[np.uint8], " pairs"]


class SideCollector:
    """Makes a block of sentences that come one by one."""

    def __init__(self) -> None:
        self._places: defaultdict[str, int] = defaultdict()
        self._places.default_factory = self._places.__len__  # a new word gets the next place
        self._values: list[int] = []
        self._lengths: list[int] = []

    def add(self, words: Sequence[str]) -> None:
        self._values += map(self._places.__getitem__, words)
        self._lengths.append(len(words))

    def packed(self) -> bytes:
        """The block, as `read_blocks` reads it; nothing can be added after it."""
        self._places.default_factory = None  # else the table would refer to itself, and stay in memory for a while
        return pack(" ".join(self._places), smallest(self._values), np.array(self._lengths, dtype=np.int32))


class LinksCollector:
    """Makes rows of links of pairs that come one by one: a link is two values in a row."""

    def __init__(self) -> None:
        self._values: list[int] = []
        self._lengths: list[int] = []

    def add(self, links: Sequence[tuple[int, int]]) -> None:
        self._values += [position for link in links for position in link]
        self._lengths.append(2 * len(links))

    def packed(self) -> bytes:
        """The rows, as `read_links` reads them."""
        return pack(smallest(self._values), np.array(self._lengths, dtype=np.int32))


def smallest(values: Sequence[int]) -> Integers:
    """The values in the smaller of the types that hold them, 16 or 32 bits."""
    array = np.array(values, dtype=np.uint32)
    return array if len(array) and int(array.max()) >= 1 << 16 else array.astype(np.uint16)


def pack(*parts: object) -> bytes:
    return pickle.dumps(parts, protocol=5)


def unpacked(path: Path) -> Iterator[Any]:
    """What was packed and written one after another. The file must be one that this process wrote itself."""
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
    """Where each of so many rows begins, and where the last one ends: the first offset is 0."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
