"""The parts of the passes of `prepare`: digests and the shuffle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.text.preparing import prepare as preparation
from rnnsearch.text.preparing.cleaning import Ragged, TokenisedPair, digest
from rnnsearch.text.preparing.prepare import Buckets


def test_both_sides_and_their_border_count() -> None:
    pairs = [("a b", "c"), ("a", "b c"), ("a", "c"), ("c", "a"), ("", "a"), ("a", "")]
    assert len({digest(TokenisedPair(pair, ([], []))) for pair in pairs * 2}) == len(pairs)


IDS = np.dtype(np.uint16)


def rows(start: int, end: int) -> Ragged:
    """Row i says i, i % 4 times."""
    numbers = np.arange(start, end)
    return Ragged(np.repeat(numbers, numbers % 4).astype(np.uint16), (numbers % 4).astype(np.int32))


def shuffled(
    folder: Path, pairs: int, *, seed: int = 1, block: int = 10, expected: int = 1
) -> list[list[int]]:
    """The numbers of the pairs in each shard, by their order there; every second number has no words, so
    lengths stand for them too."""
    work = folder / "work"
    work.mkdir(parents=True)
    buckets = Buckets(work, expected, seed, (IDS, IDS))
    for start in range(0, pairs, block):
        end = min(start + block, pairs)
        ones = Ragged(np.arange(start, end).astype(np.uint16), np.ones(end - start, dtype=np.int32))
        buckets.add(ones, rows(start, end))
    sizes = list(buckets.write_shards(folder, linked=False))
    assert not list(work.iterdir())
    shards = []
    for number, size in enumerate(sizes):
        ones = np.load(folder / f"train.source.{number:04d}.ids.npy").tolist()
        offsets = np.load(folder / f"train.target.{number:04d}.offsets.npy")
        targets = np.load(folder / f"train.target.{number:04d}.ids.npy")
        for place, one in enumerate(ones):
            assert targets[offsets[place] : offsets[place + 1]].tolist() == [one] * (one % 4), (
                "a pair was torn apart"
            )
        assert len(ones) == size
        shards.append(ones)
    assert np.load(folder / "train.target.lengths.npy").tolist() == [
        one % 4 for shard in shards for one in shard
    ]
    return shards


def test_every_order_is_about_equally_likely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pairs, in one bucket or several: each of the six orders in a sixth of 300 shuffles, give or take
    five deviations."""
    monkeypatch.setattr(preparation, "SHARD_BYTES", 1)
    orders = Counter(
        tuple(one for shard in shuffled(tmp_path / str(seed), 3, seed=seed, expected=3) for one in shard)
        for seed in range(300)
    )
    assert len(orders) == 6
    assert all(50 - 5 * 6.5 < count < 50 + 5 * 6.5 for count in orders.values())
