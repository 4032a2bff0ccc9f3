"""Shuffles the training pairs once, in bounded memory: every pair goes to a random bucket, and each bucket is
shuffled separately.

Every order is equally likely, as in one shuffle of all pairs. A bucket becomes a shard of the dataset.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.store.blocks import Integers, Mask, Ragged, append, appended, offsets_of, ranges
from rnnsearch.text.store.store import shard_name, write_array, write_rows

SHARD_BYTES = 1 << 27
"""Approximate bytes of the ids in a shard, both sides together. A shard is in memory while it is shuffled."""

_MOST_SHARDS = 200
_GATHERED = 1 << 16  # sentences rearranged at a time


class Buckets:
    """Takes the encoded pairs in the order of the text and writes the shards of the dataset.

    expected_bytes: approximate size of the ids of all pairs. dtypes: types of source and target ids. The
    order of the pairs in the dataset depends only on the seed and on their order in the text.
    """

    def __init__(
        self, folder: Path, expected_bytes: int, seed: int, dtypes: tuple[np.dtype[Any], np.dtype[Any]]
    ) -> None:
        number = min(max(1, -(-expected_bytes // SHARD_BYTES)), _MOST_SHARDS)
        self.paths = [folder / f"bucket.{bucket:04d}" for bucket in range(number)]
        self.dtypes, self._seed = dtypes, seed % 2**32
        self._random = np.random.default_rng([self._seed, 0, 1])

    def add(self, *rows: Ragged) -> None:
        """Adds source ids, target ids and, if there are any, links of the same pairs."""
        # One random number per pair, so the bucket does not depend on the size of the blocks.
        bucket = (self._random.random(len(rows[0].lengths)) * len(self.paths)).astype(np.int64)
        for number, path in enumerate(self.paths):
            chosen: Mask = bucket == number
            if chosen.any():
                append(path, *(row.select(chosen) for row in rows))

    def write_shards(self, store: Path, linked: bool) -> Iterator[int]:
        """Writes every bucket's pairs in random order, and their lengths; yields the number of pairs of
        each shard."""
        lengths: dict[str, list[Integers]] = {"source": [], "target": []}
        filled = [(number, path) for number, path in enumerate(self.paths) if path.exists()]
        for shard, (number, path) in enumerate(filled):
            for place, kind in enumerate(["source", "target", "links"][: 2 + linked]):
                rows = _read(path, place)
                # The first bucket's numbers are those of the seed alone.
                order = np.random.default_rng([self._seed, number]).permutation(len(rows.lengths))
                ordered = rows.lengths[order]
                dtype = self.dtypes[place] if kind in lengths else rows.values.dtype
                write_rows(store, shard_name(kind, shard), ordered, gathered(rows, order), dtype)
                if kind in lengths:
                    lengths[kind].append(ordered.astype(np.int32))
            yield len(order)
            path.unlink()
        for side, parts in lengths.items():
            write_array(store / f"train.{side}.lengths.npy", np.dtype(np.int32), sum(map(len, parts)), parts)


def gathered(rows: Ragged, order: NDArray[np.int64]) -> Iterator[Integers]:
    """Yields the rows in another order, concatenated, some ten thousands at a time."""
    offsets = offsets_of(rows.lengths)
    for start in range(0, len(order), _GATHERED):
        chosen = order[start : start + _GATHERED]
        yield rows.values[ranges(offsets[chosen], rows.lengths[chosen])]


def _read(path: Path, place: int) -> Ragged:
    """Returns one kind of rows of a bucket."""
    arrays = zip(*(parts[place] for parts in appended(path)), strict=True)
    return Ragged(*map(np.concatenate, arrays))
