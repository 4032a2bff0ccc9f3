"""The parts of `prepare`: digests and the shuffle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.text import preparation
from rnnsearch.text.cleaning import digest
from rnnsearch.text.dataset import Ragged
from rnnsearch.text.preparation import Buckets


def test_both_sides_and_their_border_count() -> None:
    pairs = [("a b", "c"), ("a", "b c"), ("a", "c"), ("c", "a"), ("", "a"), ("a", "")]
    assert len({digest(pair) for pair in pairs * 2}) == len(pairs)


def shuffled(folder: Path, seed: int) -> tuple[int, ...]:
    """The order in which the shards hold three pairs; pair i says i once, and i times."""
    (folder / "work").mkdir(parents=True)
    buckets = Buckets(folder / "work", 3, seed)
    numbers = np.arange(3)
    ones = Ragged(numbers.astype(np.uint16), np.ones(3, dtype=np.int32))
    buckets.add(ones, Ragged(np.repeat(numbers, numbers).astype(np.uint16), numbers.astype(np.int32)))
    shards = range(len(list(buckets.write_shards(folder, linked=False))))
    order = [np.load(folder / f"train.source.{shard:04d}.ids.npy") for shard in shards]
    found = tuple(np.concatenate(order).tolist())
    assert np.load(folder / "train.target.lengths.npy").tolist() == list(found)
    return found


def test_every_order_is_about_equally_likely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pairs, in one bucket or several: each of the six orders in a sixth of 300 shuffles, give or take
    five deviations."""
    monkeypatch.setattr(preparation, "SHARD_BYTES", 1)
    orders = Counter(shuffled(tmp_path / str(seed), seed) for seed in range(300))
    assert len(orders) == 6
    assert all(50 - 5 * 6.5 < count < 50 + 5 * 6.5 for count in orders.values())
