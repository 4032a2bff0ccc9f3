from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.preparing.word_counts import WordCounts

blocks = st.lists(st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 9), max_size=6), max_size=12)


def counted(content: list[dict[str, int]], limit: int) -> WordCounts:
    counts = WordCounts(limit)
    for block in content:
        counts.add(list(block), block.values())
        assert len(counts.counts) <= limit
    return counts


def test_counts_are_exact_while_they_fit() -> None:
    counts = counted([{"a": 2, "b": 1, "c": 0}, {"a": 3}], limit=3)
    assert (counts.counts, counts.missed) == ({"a": 5, "b": 1}, 0)


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


@pytest.mark.parametrize("size", [1, 3])
def test_the_most_frequent_words_are_those_of_an_unbounded_table(size: int) -> None:
    """As long as the last of them occurs more often than `missed`."""
    content = [{f"common{i}": 10 + i for i in range(5)} | {f"rare{block}-{i}": 1 for i in range(20)} for block in range(30)]
    counts = counted(content, limit=60)
    counts.recount((list(block), block.values()) for block in content)
    assert counts.missed > 0
    assert Counter(counts.counts).most_common(size) == [(f"common{4 - i}", 30 * (14 - i)) for i in range(size)]
