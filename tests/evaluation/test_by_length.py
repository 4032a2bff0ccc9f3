"""Scores over the length of the source: who falls into which bucket, and the score of those."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu

from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu_statistics
from rnnsearch.evaluation.statistics import buckets, by_length, ratio, windows

LENGTHS = [0, 1, 10, 11, 20, 21, 60, 61, 62, 300]


def members(stretches: list, lengths: list[int] = LENGTHS) -> dict[str, list[int]]:
    return {
        str(stretch): [length for length, inside in zip(lengths, stretch.chosen, strict=True) if inside]
        for stretch in stretches
    }


def test_buckets_are_those_of_the_figure() -> None:
    assert members(buckets(LENGTHS)) == {
        **{"1–10": [0, 1, 10], "11–20": [11, 20], "21–30": [21], "31–40": [], "41–50": [], "51–60": [60]},
        "61+": [61, 62, 300],
    }
    assert members(buckets(LENGTHS, (20, 60))) == {"21–60": [21, 60], "61+": [61, 62, 300]}


@pytest.mark.parametrize("bounds", [(), (0, 10, 10), (10, 0), (-1, 5)])
def test_bounds_must_rise(bounds: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="not in increasing order"):
        buckets(LENGTHS, bounds)


def test_a_window_slides_over_every_length() -> None:
    lengths = [1, 2, 2, 4, 5]
    assert members(windows(lengths, width=2, fewest=1), lengths) == {
        "1–2": [1, 2, 2],
        "2–3": [2, 2],
        "3–4": [4],
        "4–5": [4, 5],
    }
    assert list(members(windows(lengths, width=2, fewest=2), lengths)) == ["1–2", "2–3", "4–5"]
    assert list(members(windows(lengths, width=2, step=2, fewest=1), lengths)) == ["1–2", "3–4"]
    assert members(windows(lengths, width=9, fewest=1), lengths) == {"1–9": lengths}
    assert windows([], fewest=1) == []
    with pytest.raises(InputError, match="cannot slide"):
        windows(lengths, width=0)


def test_the_score_of_a_bucket_is_that_of_its_lines() -> None:
    references = ["a b c d e", "a b c d f", "w x y z z", "w x y z a b"]
    hypotheses = ["a b c d e", "a b c c f", "w x y z a", "w x y z z b"]
    points = by_length(
        bleu_statistics(hypotheses, references, tokenise="none"), buckets([3, 10, 12, 25]), samples=0
    )
    expected = [
        sacrebleu.corpus_bleu(hypotheses[part], [references[part]]).score
        for part in (slice(2), slice(2, 3), slice(3, 4))
    ]
    assert [point.value for point in points[:3]] == pytest.approx(expected)
    assert [point.sentences for point in points] == [2, 1, 1, 0, 0, 0, 0]
    assert (points[3].value, points[3].low, points[3].high) == (None, None, None)
    assert (str(points[0].words), points[0].low, points[0].high) == ("1–10", None, None)


def test_bands_hold_the_score_and_narrow_with_more_sentences() -> None:
    values = np.random.default_rng(1).normal(5, 1, size=500).tolist()
    lengths = [5] * 450 + [15] * 50
    many, few, *_ = by_length(ratio("mean", "", values, [1.0] * 500), buckets(lengths))
    for point, sentences in ((many, 450), (few, 50)):
        assert point.low < point.value < point.high
        error = 1 / sentences**0.5  # of a mean of values with variance 1
        assert point.high - point.low == pytest.approx(2 * 1.96 * error, rel=0.2)
    again, *_ = by_length(ratio("mean", "", values, [1.0] * 500), buckets(lengths))
    assert again == many
    other, *_ = by_length(ratio("mean", "", values, [1.0] * 500), buckets(lengths), seed=2)
    assert other != many
