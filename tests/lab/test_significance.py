"""The test over seeds and sentences: Student's numbers are those of printed tables, and equal systems are
called different no more often than p says."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import pytest

from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.lab.significance import difference_over_seeds, half_width, holm, student_quantile


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (5, 2.571), (30, 2.042), (10**6, 1.960)]
)
def test_student_s_table(freedom: int, quantile: float) -> None:
    assert student_quantile(0.05, freedom) == pytest.approx(quantile, abs=1e-3)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def systems(
    random: np.random.Generator, effect: float, of_seed: float, seeds: int = 3, sentences: int = 100
) -> tuple[list[SufficientStatistics], list[SufficientStatistics]]:
    """Two variants on sentences of different difficulty, whose seeds differ by `of_seed`, and that differ by
    `effect`."""
    difficulty, taste = random.normal(size=sentences), random.normal(size=sentences)

    def one(shift: float, side: float) -> SufficientStatistics:
        noise = random.normal(size=sentences)
        return ratio("m", "", difficulty + side * taste + noise + shift, np.ones(sentences))

    ours = [one(of_seed * random.normal(), 0.0) for _ in range(seeds)]
    theirs = [one(effect + of_seed * random.normal(), 0.5) for _ in range(seeds)]
    return ours, theirs


@pytest.mark.parametrize("p", [0.05, 0.01, 0.003, 0.001])
@pytest.mark.parametrize("ratio_of_variances", [0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 10.0, 1000.0])
def test_three_seeds_never_have_more_false_positives_than_p(
    p: float, ratio_of_variances: float
) -> None:
    """The variance of three normal differences is exponential: so the share of false positives is exact."""
    parts = (np.arange(20_000) + 0.5) / 20_000
    estimated = ratio_of_variances * -np.log1p(-parts)
    widths = half_width(p, (estimated, 2), (1.0, 10_000))
    wrong = np.mean([erfc(width) for width in widths / sqrt(2 * (1 + ratio_of_variances))])
    assert wrong <= 1.003 * p
    if ratio_of_variances in (0.0, 1000.0):  # one of the variances decides alone
        assert wrong == pytest.approx(p, rel=0.03)


@pytest.mark.parametrize("of_seed", [0.05, 0.3])
def test_equal_variants_are_rarely_called_different(of_seed: float) -> None:
    random = np.random.default_rng(1)
    ps = np.array([difference_over_seeds(*systems(random, 0.0, of_seed)).p for _ in range(100)])
    # 100 trials at 0.05: more than 13 have a probability below 0.001
    assert (ps < 0.05).sum() <= 13
    assert (ps < 0.5).sum() <= 66


def test_a_large_difference_is_found_and_lies_in_its_interval() -> None:
    random = np.random.default_rng(2)
    found = [difference_over_seeds(*systems(random, 1.0, 0.05)) for _ in range(50)]
    assert sum(one.p < 0.05 for one in found) >= 45
    assert sum(one.low <= 1.0 <= one.high for one in found) >= 45
    assert all((one.low > 0) == (one.p < 0.05) for one in found)


def test_the_same_outputs_do_not_differ() -> None:
    ours, _ = systems(np.random.default_rng(3), 0.0, 0.3)
    same = difference_over_seeds(ours, ours)
    assert same == (0.0, 0.0, 0.0, 1.0)


def test_with_one_seed_only_sentences_vary() -> None:
    ours, theirs = systems(np.random.default_rng(4), 2.0, 0.0, seeds=1)
    one = difference_over_seeds(ours, theirs)
    assert one.low < one.value < one.high
    assert one.p < 0.001
