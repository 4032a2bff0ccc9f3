"""The parts of the passes of `prepare`: repetitions, frequencies, and the shuffle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.preparing import encoding
from rnnsearch.text.preparing.blocks import Ragged
from rnnsearch.text.preparing.cleaning import DIGEST, digest, repetitions
from rnnsearch.text.preparing.encoding import Buckets, gathered
from rnnsearch.text.preparing.prepare import WordCounts


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=6))
def test_the_first_of_equal_pairs_is_none_and_the_others_are(blocks: list[list[int]]) -> None:
    found = repetitions([b"".join(digest(f"s{number}", "t") for number in block) for block in blocks])
    pairs = [number for block in blocks for number in block]
    assert found.tolist() == [number in pairs[:place] for place, number in enumerate(pairs)]


def test_digests_of_one_half_only_do_not_make_a_duplicate() -> None:
    """Zero bytes at the end count, too."""
    one, other, third = bytes(DIGEST), bytes(DIGEST - 1) + b"\1", b"\1" + bytes(DIGEST - 1)
    assert repetitions([one + other, third + other + one]).tolist() == [False, False, False, True, True]


def test_both_sides_and_their_border_count() -> None:
    pairs = [("a b", "c"), ("a", "b c"), ("a", "c"), ("c", "a"), ("", "a"), ("a", "")]
    assert len({digest(*pair) for pair in pairs * 2}) == len(pairs)


blocks = st.lists(st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 9), max_size=6), max_size=12)


def counted(content: list[dict[str, int]], limit: int) -> WordCounts:
    counts = WordCounts(limit)
    for block in content:
        counts.add(list(block), block.values())
        assert len(counts.counts) <= limit
    return counts


def test_the_rarest_are_forgotten() -> None:
    counts = counted([{"a": 9, "b": 1, "c": 2}, {"d": 5, "e": 1}], limit=4)
    assert counts.counts == {"a": 9, "d": 5}
    assert counts.missed == 2


@given(blocks, st.integers(2, 12))
def test_no_frequent_word_is_lost_and_a_recount_is_exact(content: list[dict[str, int]], limit: int) -> None:
    true = Counter[str]()
    for block in content:
        true.update(block)
    true = +true
    counts = counted(content, limit)
    for word, count in true.items():
        assert word in counts.counts or count <= counts.missed
        assert count - counts.missed <= counts.counts.get(word, 0) <= count
    counts.recount((list(block), block.values()) for block in content)
    assert counts.counts == {word: true[word] for word in counts.counts}
    assert counts.missed > 0 or counts.counts == dict(true)


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


def test_every_pair_lies_in_one_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "SHARD_BYTES", 100)
    shards = shuffled(tmp_path, 200, expected=450)
    assert len(shards) == 5
    assert sorted(one for shard in shards for one in shard) == list(range(200))
    assert all(shard != sorted(shard) and 15 < len(shard) < 75 for shard in shards)
    few = shuffled(tmp_path / "few", 7, expected=5000)  # most of the 50 buckets are empty, and make none
    assert all(few)
    assert sorted(one for shard in few for one in shard) == list(range(7))


@pytest.mark.parametrize("expected", [1, 900])
def test_the_order_is_a_function_of_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: int
) -> None:
    monkeypatch.setattr(encoding, "SHARD_BYTES", 300)
    first = shuffled(tmp_path / "a", 100, block=10, expected=expected)
    assert first == shuffled(tmp_path / "b", 100, block=33, expected=expected)
    assert first != shuffled(tmp_path / "c", 100, block=10, expected=expected, seed=2)


def test_every_order_is_about_equally_likely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pairs, in one bucket or several: each of the six orders in a sixth of 300 shuffles, give or take
    five deviations."""
    monkeypatch.setattr(encoding, "SHARD_BYTES", 1)
    orders = Counter(
        tuple(one for shard in shuffled(tmp_path / str(seed), 3, seed=seed, expected=3) for one in shard)
        for seed in range(300)
    )
    assert len(orders) == 6
    assert all(50 - 5 * 6.5 < count < 50 + 5 * 6.5 for count in orders.values())


@pytest.mark.parametrize("at_a_time", [1, 3, 1000])
def test_rows_in_another_order(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    monkeypatch.setattr(encoding, "_GATHERED", at_a_time)
    order = np.random.default_rng(0).permutation(11)
    found = np.concatenate(list(gathered(rows(0, 11), order))).tolist()
    assert found == [one for one in order.tolist() for _ in range(one % 4)]
