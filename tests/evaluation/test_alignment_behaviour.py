"""Measures without gold links, against matrices and links that were counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rnnsearch.evaluation.alignment_error import (
    behaviour,
    coverage,
    jumps,
    left_out,
    shares,
    summed,
    too_often,
)
from rnnsearch.word_links import Link

# Three source words and the end of sentence. Coverage by hand: 2.55, 0.15, 0.25, 0.05.
WEIGHTS = np.array([[0.9, 0.1, 0.0, 0.0], [0.8, 0.05, 0.15, 0.0], [0.85, 0.0, 0.1, 0.05]])
LINKS = [(0, 0), (0, 1), (2, 2)]
ENTROPIES = [
    -0.9 * math.log(0.9) - 0.1 * math.log(0.1),
    -0.8 * math.log(0.8) - 0.05 * math.log(0.05) - 0.15 * math.log(0.15),
    -0.85 * math.log(0.85) - 0.1 * math.log(0.1) - 0.05 * math.log(0.05),
]


def test_coverage_is_what_a_word_gets_from_all_target_words() -> None:
    assert coverage(WEIGHTS) == pytest.approx([2.55, 0.15, 0.25, 0.05])
    assert coverage(np.zeros((0, 3))).tolist() == [0, 0, 0]
    assert left_out(WEIGHTS) == [1, 3]
    assert too_often(WEIGHTS) == [0]


def test_words_that_merge_or_split_are_no_fault() -> None:
    """`of the` became `du`: half of its weight each. `not` became `ne … pas`: twice a whole one."""
    weights = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert left_out(weights) == too_often(weights) == []


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([], []),
        ([(3, 1)], []),
        ([(0, 0), (2, 1), (1, 2), (1, 3)], [2, -1, 0]),
        ([(5, 4), (0, 0)], [5]),  # unlinked words between them are passed over
        ([(0, 0), (1, 1), (4, 1), (2, 2)], [2.5, -0.5]),  # target word 1 stands at 2.5
        ([(0, 0), (1, 1), (1, 1)], [1]),  # a link counts once
    ],
)
def test_jumps(links: list[Link], expected: list[float]) -> None:
    assert jumps(links) == expected


def test_one_sentence() -> None:
    found = behaviour(WEIGHTS, LINKS, reverse=[(0, 0), (1, 1)])
    assert (found["under_translated"], found["over_translated"]) == ((1, 3), (1, 3))  # its end is no word
    assert shares(found) == pytest.approx(
        {
            "entropy": sum(ENTROPIES) / 3,
            "under_translated": 1 / 3,
            "over_translated": 1 / 3,
            "monotone": 1.0,
            "agreement": 2 * 1 / (3 + 2),
        }
    )
    assert "agreement" not in shares(behaviour(WEIGHTS, LINKS))


def test_sums_over_sentences_weigh_words_not_sentences() -> None:
    hard = np.array(
        [
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    other = behaviour(hard, [(2, 0), (1, 1), (1, 2), (1, 3)])  # jumps −1, 0, 0; coverage 0, 3, 1
    together = summed([behaviour(WEIGHTS, LINKS), other])
    assert shares(together) == pytest.approx(
        {
            "entropy": sum(ENTROPIES) / 8,
            "under_translated": 2 / 6,
            "over_translated": 2 / 6,
            "monotone": 4 / 5,
        }
    )


def test_nothing_at_all() -> None:
    empty = behaviour(np.zeros((0, 1)), [], [])
    assert empty == summed([empty, empty])
    assert shares(empty) == {
        "entropy": 0.0,
        "under_translated": 0.0,
        "over_translated": 0.0,
        "monotone": 1.0,
    }
