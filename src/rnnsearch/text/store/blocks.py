"""Blocks: some thousands of tokenised sentences as arrays, and temporary files of blocks. `prepare` uses them
between reading lines and writing the store."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int64, Integer
from numpy.typing import NDArray

Integers = Integer[NDArray[np.integer[Any]], " _"]
Mask = Bool[NDArray[np.bool_], " _"]


class Ragged(NamedTuple):
    """Concatenated rows of different lengths: row i is values[offsets[i] : offsets[i + 1]]."""

    values: Integers
    lengths: Integers

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Makes it of rows, with values of 16 or 32 bits."""
        values = np.fromiter(chain.from_iterable(rows), np.uint32)
        if not (values >> 16).any():
            values = values.astype(np.uint16)
        return cls(values, np.array([len(row) for row in rows], np.int32))

    def select(self, keep: Mask) -> Ragged:
        """Returns the rows that `keep` marks."""
        return Ragged(self.values[np.repeat(keep, self.lengths)], self.lengths[keep])


class SideBlock(NamedTuple):
    """One side of some pairs. words: the different words; sentences: rows of places in `words`."""

    words: list[str]
    sentences: Ragged

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> SideBlock:
        """Makes a block; words are in the order of first occurrence."""
        places: defaultdict[str, int] = defaultdict()
        places.default_factory = places.__len__  # a new word gets the next place
        rows = [list(map(places.__getitem__, sentence)) for sentence in sentences]
        places.default_factory = None  # break the reference cycle, so that the table is freed
        return cls(list(places), Ragged.of(rows))

    def line(self, number: int) -> str:
        """Returns the words of a sentence with spaces between them."""
        start, end = offsets_of(self.sentences.lengths)[number : number + 2]
        return " ".join(self.words[place] for place in self.sentences.values[start:end])

    def select(self, keep: Mask) -> SideBlock:
        return SideBlock(self.words, self.sentences.select(keep))

    def counts(self) -> list[int]:
        """Returns the number of times that each of `words` occurs."""
        counts: list[int] = np.bincount(self.sentences.values, minlength=len(self.words)).tolist()
        return counts


class Block(NamedTuple):
    """Consecutive pairs of one text, with the words of the kept pairs.

    text: its index among the texts. first: number of the first pair, 1-based. reasons: 0 for a kept pair,
    else the number of the filter that dropped it. links: rows of positions in source and target words,
    alternating; None without links.
    """

    text: int
    first: int
    reasons: NDArray[np.uint8]
    source: SideBlock
    target: SideBlock
    links: Ragged | None

    def select(self, keep: Mask, reason: int) -> Block:
        """Returns the block with only some of its kept pairs. reason: the number of the reason that drops the
        others."""
        reasons = self.reasons.copy()
        reasons[np.flatnonzero(reasons == 0)[~keep]] = reason
        links = None if self.links is None else self.links.select(keep)
        return Block(
            self.text, self.first, reasons, self.source.select(keep), self.target.select(keep), links
        )


def append(path: Path, *parts: object) -> None:
    """Appends the parts to a temporary file of this process."""
    with path.open("ab") as file:
        file.write(pickle.dumps(parts, protocol=5))


def appended(path: Path) -> Iterator[Any]:
    """Yields the parts as they were added. The file must be one that this process wrote itself."""
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)


def offsets_of(lengths: Integer[NDArray[np.integer[Any]], " n"]) -> Int64[NDArray[np.int64], " n+1"]:
    """Returns the cumulative sum of the lengths, beginning with 0."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(starts: Integers, lengths: Integers) -> NDArray[np.int64]:
    """Returns the concatenation of the ranges starts[i] … starts[i] + lengths[i] − 1, of size Σ lengths."""
    offsets = offsets_of(lengths)
    places: NDArray[np.int64] = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return places
