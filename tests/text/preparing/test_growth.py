"""Different words after so many words, at equal distances, against counting one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.preparing.growth import POINTS, Growth
from rnnsearch.text.store.blocks import Ragged, SideBlock

texts = st.lists(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), max_size=120), max_size=8)


def block(words: list[str], spare: str = "") -> SideBlock:
    """spare: a word of the block that no sentence holds any more."""
    different = [*spare, *dict.fromkeys(words)]
    values = np.array([different.index(word) for word in words], dtype=np.uint16)
    return SideBlock(different, Ragged(values, np.array([len(words)], dtype=np.int32)))


@given(texts)
def test_points_are_what_counting_finds(blocks: list[list[str]]) -> None:
    growth, known = Growth(), set[str]()
    for words in blocks:
        growth.add(block(words, spare="!"), known)
        known |= set(words)
    text = [word for words in blocks for word in words]
    points = growth.points()
    assert points[-1] == (len(text), len(set(text)))
    assert all(different == len(set(text[:read])) for read, different in points)


@given(texts.filter(any))
def test_points_stand_at_equal_distances_and_do_not_depend_on_blocks(blocks: list[list[str]]) -> None:
    growth, whole, known = Growth(), Growth(), set[str]()
    for words in blocks:
        growth.add(block(words), known)
        known |= set(words)
    text = [word for words in blocks for word in words]
    whole.add(block(text), set())
    assert growth.points() == whole.points()
    places = [read for read, _ in growth.points()]
    steps = [after - before for before, after in pairwise([0, *places])]
    assert len(set(steps[:-1])) <= 1
    assert steps[-1] <= steps[0]
    assert min(len(text), POINTS // 2) <= len(places) <= POINTS + 1


def test_an_empty_text_has_a_point() -> None:
    assert Growth().points() == [(0, 0)]
