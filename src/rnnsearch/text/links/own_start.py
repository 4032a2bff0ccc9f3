"""First word links of a corpus where no other aligner is installed.

IBM Model 1 (Brown et al. 1993) between the beginnings of words, with a preference for the diagonal (Dyer,
Chahuneau & Smith 2013), in both directions; a link is what both agree on.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rnnsearch.system.progress import Progress
from rnnsearch.word_links import Link

SIZE, LETTERS = 1 << 13, 6
"""Rows of the table; words whose first letters have the same checksum share a row."""
ROUNDS, SAMPLE = 5, 100_000
"""Passes of EM, over the first pairs of the corpus at most."""
NULL, TENSION = 0.08, 4.0
"""p of no source word; how much p falls with the distance from the diagonal."""
FLOOR = 1e-7

Ids = NDArray[np.int64]


def first_links(pairs: Sequence[tuple[list[str], list[str]]], progress: Progress) -> Iterator[list[Link]]:
    """Yields the links of each pair of words, (source, target), sorted."""
    encoded = [(_ids(source), _ids(target)) for source, target in pairs]
    forward, reverse = (_strongest(some, progress) for some in (encoded, [pair[::-1] for pair in encoded]))
    for sources, targets in zip(forward, reverse, strict=True):
        yield sorted((int(i), j) for j, i in enumerate(sources) if i >= 0 and targets[i] == j)


def _ids(words: Sequence[str]) -> Ids:
    """Returns the rows of the words; 0 is that of no word."""
    return np.array(
        [1 + zlib.crc32(word[:LETTERS].lower().encode()) % (SIZE - 1) for word in words], np.int64
    )


def _strongest(pairs: Sequence[tuple[Ids, Ids]], progress: Progress) -> list[Ids]:
    """Returns the most probable source position of each target word, or −1, of each pair."""
    table = np.ones((SIZE, SIZE), np.float32)
    for done in range(ROUNDS):
        progress("first links: round", done, ROUNDS)
        counts = np.zeros_like(table)
        for pair in islice(pairs, SAMPLE):
            np.add.at(counts, _cells(*pair), _expected(table, *pair))
        counts /= np.maximum(counts.sum(1, keepdims=True), FLOOR)
        table = np.maximum(counts, FLOOR, out=counts)
    return [_expected(table, *pair).argmax(0) - 1 for pair in pairs]


def _expected(table: NDArray[np.float32], source: Ids, target: Ids) -> NDArray[np.float64]:
    """Returns p(source word | target word), the first row of no word; columns sum to 1."""
    rows, columns = (np.arange(len(side)) / max(1, len(side)) for side in (source, target))
    near = np.exp(-TENSION * np.abs(rows[:, None] - columns))
    near *= (1 - NULL) / np.maximum(near.sum(0), FLOOR)
    joint = np.vstack((np.full((1, len(target)), NULL), near)) * table[_cells(source, target)]
    found: NDArray[np.float64] = joint / joint.sum(0)
    return found


def _cells(source: Ids, target: Ids) -> tuple[Ids, Ids]:
    """Returns the rows and columns of the table that a pair reaches, with row 0 first."""
    return np.concatenate(([0], source))[:, None], target
