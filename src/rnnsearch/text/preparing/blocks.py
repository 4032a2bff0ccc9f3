"""Blocks: some thousands of tokenised sentences as arrays, and temporary files of blocks. `prepare` uses them
between reading lines and writing the dataset."""

from __future__ import annotations

import pickle
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from rnnsearch.text.store.corpus import Integers, offsets_of

Mask = Bool[NDArray[np.bool_], " _"]


class Ragged(NamedTuple):
    """Concatenated rows of different lengths: row i is values[offsets[i] : offsets[i + 1]]."""

    values: Integers
    lengths: Integers

    def select(self, keep: Mask) -> Ragged:
        """Returns the rows that `keep` marks."""
        return Ragged(self.values[np.repeat(keep, self.lengths)], self.lengths[keep])


class SideBlock(NamedTuple):
    """One side of some pairs. spelt: the different words with spaces between them; sentences: rows of places
    in `words`."""

    spelt: str
    sentences: Ragged

    @property
    def words(self) -> list[str]:
        return self.spelt.split(" ") if self.spelt else []

    def line(self, number: int) -> str:
        """Returns the words of a sentence with spaces between them."""
        start, end = offsets_of(self.sentences.lengths)[number : number + 2]
        return " ".join(map(self.words.__getitem__, self.sentences.values[start:end]))

    def select(self, keep: Mask) -> SideBlock:
        return SideBlock(self.spelt, self.sentences.select(keep))

    def counts(self) -> list[int]:
        """Returns the number of times that each of `words` occurs."""
        counts: list[int] = np.bincount(self.sentences.values, minlength=len(self.words)).tolist()
        return counts


class Rows:
    """Collects rows of numbers, end to end: no objects of rows stay in memory."""

    def __init__(self) -> None:
        self._values, self._lengths = array("I"), array("i")

    def add(self, row: Iterable[int]) -> None:
        before = len(self._values)
        self._values.extend(row)
        self._lengths.append(len(self._values) - before)

    def ragged(self) -> Ragged:
        """Returns the rows, their values in 16 or 32 bits."""
        values = np.array(self._values, np.uint32)
        small = not (values >> 16).any()
        return Ragged(values.astype(np.uint16) if small else values, np.array(self._lengths, np.int32))


class Sentences:
    """Collects sentences, whose words are numbered in the order in which they come."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._places: defaultdict[str, int] = defaultdict()
        self._places.default_factory = self._places.__len__  # a new word gets the next place

    def add(self, words: Iterable[str]) -> None:
        self._rows.add(map(self._places.__getitem__, words))

    def block(self) -> SideBlock:
        """Returns the sentences; none can be added after it."""
        self._places.default_factory = None  # else the table would refer to itself, and stay in memory
        return SideBlock(" ".join(self._places), self._rows.ragged())


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


def ranges(starts: Integers, lengths: Integers) -> NDArray[np.int64]:
    """Returns the concatenation of the ranges starts[i] … starts[i] + lengths[i] − 1, of size Σ lengths."""
    offsets = offsets_of(lengths)
    places: NDArray[np.int64] = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return places
