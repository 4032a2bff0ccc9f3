"""Significance over seeds and sentences: would a difference hold with other seeds on other sentences?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rnnsearch.evaluation.statistics import SufficientStatistics

RESAMPLES, SEED = 1000, 1


@dataclass(frozen=True)
class Difference:
    """A difference of two variants: mean over seeds, 95 % interval, and p.

    seeds: number of seeds that both variants have. With one seed, only sentences vary: interval and p are
    then about other sentences, not about other seeds.
    """

    value: float
    low: float
    high: float
    p: float
    seeds: int


def difference_over_seeds(
    ours: Sequence[SufficientStatistics], theirs: Sequence[SufficientStatistics]
) -> Difference:
    """Compares two variants; element s of both has seed s, all on the same sentences.

    Seeds and sentences are both samples. The variance of the mean difference is that between the seeds,
    divided by their number, plus that of a bootstrap of the sentences (the same sentences for all seeds and
    both variants). The interval and p are Student's, with the degrees of freedom of Welch and Satterthwaite.
    The variance between seeds has a part of that between sentences in it, so the test is conservative.
    """
    seeds, sentences = len(ours), len(ours[0])
    pairs = list(zip(ours, theirs, strict=True))
    each = [other.score().value - one.score().value for one, other in pairs]
    mean = math.fsum(each) / seeds
    resampled = np.mean(
        [
            other.bootstrap(samples=RESAMPLES, seed=SEED) - one.bootstrap(samples=RESAMPLES, seed=SEED)
            for one, other in pairs
        ],
        axis=0,
    )
    of_seeds = float(np.var(each, ddof=1)) / seeds if seeds > 1 else 0.0
    of_sentences = float(np.var(resampled, ddof=1))
    variance = of_seeds + of_sentences
    if not variance:  # the same outputs, or the same difference everywhere
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0, seeds)
    freedom = variance**2 / (of_seeds**2 / max(seeds - 1, 1) + of_sentences**2 / max(sentences - 1, 1))
    error = math.sqrt(variance)
    reach = student_quantile(0.05, freedom) * error
    return Difference(mean, mean - reach, mean + reach, student_p(abs(mean) / error, freedom), seeds)


def student_p(t: float, freedom: float) -> float:
    """Returns the two-sided p of Student's t.

    With t = √ν tan θ, its density is proportional to cos^(ν−1) θ, which is integrated numerically.
    """
    freedom = min(freedom, 10_000.0)  # normal, in effect
    angles = np.linspace(0.0, math.pi / 2, 100_001)
    density = np.cos(angles) ** (freedom - 1)
    density[-1] = 0.0 if freedom > 1 else 1.0
    share = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    inside = np.interp(math.atan(t / math.sqrt(freedom)), angles, share)
    return float(1.0 - inside / share[-1])


def student_quantile(p: float, freedom: float) -> float:
    """Returns the t whose two-sided p is this."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > p else (low, middle)
    return high


def holm(ps: Sequence[float]) -> list[float]:
    """Corrects p-values for the number of comparisons (Holm 1979), in their order."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected
