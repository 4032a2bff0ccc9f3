"""Alignment error and measures without gold links, against tables, matrices and links counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.evaluation.alignment_error import AlignmentScore, alignment_error
from rnnsearch.lab.link_measures import behaviour, coverage, entropy, monotone, shares, summed
from rnnsearch.word_links import GoldLinks, Link

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)))


def gold(sure: str, possible: str = "") -> GoldLinks:
    return GoldLinks(frozenset(pairs(sure)), frozenset(pairs(possible)))


def pairs(text: str) -> list[Link]:
    return [(int(item[0]), int(item[2])) for item in text.split()]


# A | S | P∖S by sentence; then |A∩P|/|A|, |A∩S|/|S| and 1 − (|A∩S| + |A∩P|)/(|A| + |S|), counted by hand.
TABLE = {
    "all right": ("0-0 1-1 | 0-0 1-1 |", 2 / 2, 2 / 2, 1 - 4 / 4),
    "all wrong": ("0-1 1-0 | 0-0 1-1 |", 0 / 2, 0 / 2, 1 - 0 / 4),
    "a possible link is no error": ("0-0 2-1 | 0-0 1-1 | 2-1 2-2", 2 / 2, 1 / 2, 1 - 3 / 4),
    "possible links need not be found": (
        "0-0 1-1 2-1 | 0-0 1-1 | 2-1 2-2",
        3 / 3,
        2 / 2,
        1 - 5 / 5,
    ),
    "both kinds of error": ("0-0 1-1 3-3 4-4 | 0-0 2-2 | 1-1", 2 / 4, 1 / 2, 1 - 3 / 6),
    "counts, not a mean": ("0-0 | 0-0 |; 0-1 1-0 2-2 | 0-0 | 2-2", 2 / 4, 1 / 2, 1 - 3 / 6),
    "a link counts once": ("0-0 0-0 | 0-0 1-1 |", 1 / 1, 1 / 2, 1 - 2 / 3),
    "no links": (" | 0-0 |", 1.0, 0.0, 1.0),
    "nothing sure, link possible": ("0-0 | | 0-0", 1.0, 1.0, 0.0),
    "nothing sure, link wrong": ("0-0 | |", 0.0, 1.0, 1.0),
    "neither links nor sure links": (" | | 0-0", 1.0, 1.0, 0.0),
}


@pytest.mark.parametrize("case", TABLE)
def test_against_the_table(case: str) -> None:
    text, *rates = TABLE[case]
    sentences = [[*sentence.split("|")] for sentence in text.split(";")]
    score = alignment_error(
        [pairs(found) for found, _, _ in sentences],
        [gold(sure, possible) for _, sure, possible in sentences],
    )
    assert [score.precision, score.recall, score.aer] == pytest.approx(rates)


@pytest.mark.parametrize(
    ("precision", "recall", "alpha", "expected"),
    [
        (0.8, 0.4, 0.5, 2 * 0.8 * 0.4 / (0.8 + 0.4)),
        (0.8, 0.4, 0.2, 1 / (0.2 / 0.8 + 0.8 / 0.4)),
        (0.0, 0.4, 0.5, 0.0),
    ],
)
def test_f_measure(precision: float, recall: float, alpha: float, expected: float) -> None:
    score = AlignmentScore(precision, recall, aer=0.5, links=1, sure=1, possible=1)
    assert score.f_measure(alpha) == pytest.approx(expected)


@given(st.lists(st.tuples(links, links), min_size=1))
def test_without_possible_links_the_error_is_what_the_balanced_f_measure_lacks(
    sentences: list[tuple[frozenset[Link], frozenset[Link]]],
) -> None:
    """1 − AER = F_0.5 where S = P (Fraser & Marcu 2007)."""
    score = alignment_error(
        [found for found, _ in sentences], [GoldLinks(sure) for _, sure in sentences]
    )
    if score.links and score.sure:
        assert score.f_measure() == pytest.approx(1 - score.aer)


def test_nothing_at_all_is_refused() -> None:
    with refusal("no sentence to score"):
        alignment_error([], [])


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], 0.0),
        ([[0.25] * 4], math.log(4)),
        ([[0.5, 0.5], [1.0, 0.0]], math.log(2) / 2),
        ([[0.9, 0.1]], -0.9 * math.log(0.9) - 0.1 * math.log(0.1)),
    ],
)
def test_entropy_of_known_rows(weights: list[list[float]], expected: float) -> None:
    assert entropy(np.array(weights, dtype=np.float32)) == pytest.approx(expected, abs=1e-6)
    assert math.copysign(1, entropy(np.array(weights))) == 1


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


def test_words_that_merge_or_split_are_no_fault() -> None:
    """`of the` became `du`: half of its weight each. `not` became `ne … pas`: twice a whole one."""
    weights = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    found = behaviour(weights, [])
    assert found["under_translated"] == found["over_translated"] == (0, 3)


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([(3, 1)], (0, 0)),
        ([(0, 0), (2, 1), (1, 2), (1, 3)], (2, 3)),
        ([(5, 4), (0, 0)], (1, 1)),  # unlinked words between them are passed over
        ([(0, 0), (1, 1), (4, 1), (2, 2)], (1, 2)),  # target word 1 stands at 2.5
        ([(0, 0), (1, 1), (1, 1)], (1, 1)),  # a link counts once
    ],
)
def test_jumps_that_do_not_go_back(links: list[Link], expected: tuple[int, int]) -> None:
    assert monotone(links) == expected


def test_one_sentence() -> None:
    found = behaviour(WEIGHTS, LINKS, reverse=[(0, 0), (1, 1)])
    # its end is no word
    assert (found["under_translated"], found["over_translated"]) == ((1, 3), (1, 3))
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
