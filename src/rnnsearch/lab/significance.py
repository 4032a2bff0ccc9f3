"""Intervals of scores by the bootstrap, which draws the sentences again, with replacement; and
significance of differences: between two systems on the same sentences, by approximate
randomisation, and between two variants of a study, over seeds and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import Subset, SufficientStatistics

FEWEST_SENTENCES = 20
"""Minimum number of sentences: a score of fewer is noise."""
FEW = f"fewer than {FEWEST_SENTENCES} sentences: no differences and no p-values"
TRIALS, SEED = 10_000, 12345
"""Of approximate randomisation: sacreBLEU's values, and its random exchanges."""
SMALLEST = 0.001
"""Smaller p-values are shown as `< 0.001`."""
LEVELS = np.geomspace(1e-9, 1.0, 3001)
"""Values of p among which that of a difference over seeds is interpolated."""
DRAWN_AT_ONCE = 4_000_000
"""Sentences drawn at once: about 100 MB."""

RealArray = NDArray[np.float64]


def bootstrap(
    statistics: SufficientStatistics,
    subset: Subset | None = None,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> RealArray:
    """Returns the scores of `samples` resamples of the sentences, drawn with replacement (Efron
    1979; Koehn 2004): (samples,).

    The same seed gives all systems of a test set the same resamples, so their scores are paired.
    Raises InputError if there is no sentence.
    """
    values = statistics.rows_of(subset)
    sentences, random = len(values), np.random.default_rng(seed)
    block = max(1, DRAWN_AT_ONCE // sentences)
    scores: list[float] = []
    for begin in range(0, samples, block):
        rows = min(block, samples - begin)
        drawn = random.integers(sentences, size=(rows, sentences))
        # the sentences of each resample have numbers of their own, so one count is of all
        drawn += sentences * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * sentences).reshape(rows, sentences)
        scores += map(statistics.of_sums, (times.astype(np.float64) @ values).tolist())
    return np.array(scores)


def interval(
    statistics: SufficientStatistics, subset: Subset | None = None, *, samples: int = 1000
) -> tuple[float, float]:
    """Returns the 95 % percentile interval of the bootstrap (Efron & Tibshirani 1993, Chapter
    13)."""
    low, high = np.percentile(bootstrap(statistics, subset, samples=samples), (2.5, 97.5))
    return float(low), float(high)


def p_statement(p: float) -> str:
    """Formats a p-value: `p = 0.042`, or `p < 0.001`; never 0.000."""
    return f"p < {SMALLEST}" if p < SMALLEST else f"p = {p:.3f}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two systems by one metric, on the same sentences.

    difference: the score of `other` minus that of `system`. low, high: its 95 % interval by the
    paired bootstrap (Koehn 2004). p: two-sided, by approximate randomisation (Riezler & Maxwell
    2005): how often the systems differ at least as much after their translations were exchanged at
    random, sentence by sentence.
    """

    metric: str
    system: str
    other: str
    difference: float
    low: float
    high: float
    p: float


def comparisons(
    systems: Mapping[str, SufficientStatistics], samples: int = 1000
) -> list[Comparison]:
    """Compares each pair of systems, in their order; none if there are fewer than FEWEST_SENTENCES
    sentences.

    systems: name → statistics of one metric. samples: of the bootstrap. Raises InputError as
    `compare` does.
    """
    pairs = combinations(systems.items(), 2)
    enough = all(len(statistics) >= FEWEST_SENTENCES for statistics in systems.values())
    return [compare(*pair, samples=samples) for pair in pairs] if enough else []


def compare(
    system: tuple[str, SufficientStatistics],
    other: tuple[str, SufficientStatistics],
    trials: int = TRIALS,
    samples: int = 1000,
) -> Comparison:
    """Compares two systems, each given as (name, statistics). trials: of approximate randomisation.
    samples: of the bootstrap.

    Raises InputError if they are of different metrics or of different numbers of sentences.
    """
    (name, ours), (other_name, theirs) = system, other
    if len(ours) != len(theirs) or ours.name != theirs.name:
        raise InputError(
            f"{name} has {ours.name} of {len(ours):,} sentences and {other_name} has {theirs.name}"
            f" of {len(theirs):,}",
            "compare one metric on one test set",
        )
    difference = theirs.score().value - ours.score().value
    before, after = (bootstrap(one, samples=samples, seed=SEED) for one in (ours, theirs))
    low, high = np.percentile(after - before, (2.5, 97.5)).tolist()
    return Comparison(
        ours.name, name, other_name, difference, low, high, p_value(ours, theirs, trials)
    )


def p_value(
    ours: SufficientStatistics, theirs: SufficientStatistics, trials: int = TRIALS, seed: int = SEED
) -> float:
    """Returns the two-sided p-value of the difference between two systems on the same sentences:
    the probability of at least this difference if each sentence's two translations were exchanged
    by chance.

    It is exact, by enumeration, if so few sentences differ that `trials` cover all exchanges.
    Otherwise it is (count of differences at least as large + 1) / (trials + 1), which never has
    more false positives than it says (Davison & Hinkley 1997, Sec. 4.2).
    """
    scores = ours.score().value, theirs.score().value
    rounding = 1e-10 * sum(map(abs, scores))
    differing = np.flatnonzero((ours.values != theirs.values).any(axis=1))
    exact = 2 ** len(differing) <= trials
    if exact:
        kept = np.arange(2 ** len(differing))[:, None] >> np.arange(len(differing)) & 1
        differences = _differences(ours, theirs, kept, differing)
    else:
        random, sentences = np.random.default_rng(seed), len(ours)
        # numpy draws booleans by 32: a multiple of 32 keeps the order of a single draw
        block = max(32, DRAWN_AT_ONCE // sentences // 32 * 32)
        sizes = (min(block, trials - begin) for begin in range(0, trials, block))
        drawn = (random.integers(2, size=(size, sentences), dtype=bool) for size in sizes)
        differences = np.concatenate(
            [_differences(ours, theirs, kept, slice(None)) for kept in drawn]
        )
    beyond = int(np.sum(np.abs(differences) >= abs(scores[1] - scores[0]) - rounding))
    return beyond / len(differences) if exact else (beyond + 1) / (trials + 1)


def _differences(
    ours: SufficientStatistics,
    theirs: SufficientStatistics,
    kept: NDArray[np.bool_] | NDArray[np.int64],
    exchanged: slice | NDArray[np.intp],
) -> RealArray:
    """Returns the differences of the scores, (trials,). kept: (trials, exchanged sentences),
    whether each system keeps its translation or they exchange theirs."""
    both = ours.values.sum(axis=0) + theirs.values.sum(axis=0)
    gain = (ours.values - theirs.values)[exchanged]
    first = theirs.values.sum(axis=0) + kept.astype(np.float64) @ gain
    rows = zip(first.tolist(), (both - first).tolist(), strict=True)
    return np.array([ours.of_sums(a) - ours.of_sums(b) for a, b in rows])


class Difference(NamedTuple):
    """A difference of two variants: mean over seeds, 95 % interval, and p. With one seed, only
    sentences vary: interval and p are then about other sentences, not about other seeds."""

    value: float
    low: float
    high: float
    p: float


def difference_over_seeds(
    ours: Sequence[SufficientStatistics], theirs: Sequence[SufficientStatistics]
) -> Difference:
    """Compares two variants; element s of both has seed s, all on the same sentences.

    Seeds and sentences are both samples. The mean difference has a variance of the seeds (that
    between them, divided by their number) and one of the sentences, which all seeds share (the
    covariance of two seeds' differences in a bootstrap of the sentences). `half_width` turns them
    into interval and p.
    """
    seeds, sentences = len(ours), len(ours[0])
    pairs = list(zip(ours, theirs, strict=True))
    each = [other.score().value - one.score().value for one, other in pairs]
    mean = fmean(each)
    resampled = np.array([bootstrap(other) - bootstrap(one) for one, other in pairs])
    of_mean, of_one = resampled.mean(axis=0).var(ddof=1), resampled.var(axis=1, ddof=1).mean()
    of_seeds, shared = 0.0, float(of_one)
    if seeds > 1:
        of_seeds = float(np.var(each, ddof=1)) / seeds
        shared = max(float(seeds * of_mean - of_one) / (seeds - 1), 0.0)
    if not of_seeds + shared:  # the same outputs, or the same difference everywhere
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    variances = (of_seeds, max(seeds - 1, 1)), (shared, sentences - 1)
    reach = float(half_width(0.05, *variances))
    p = math.exp(np.interp(-abs(mean), -half_width(LEVELS, *variances), np.log(LEVELS)))
    return Difference(mean, mean - reach, mean + reach, p)


def half_width(p: RealArray | float, *variances: tuple[RealArray | float, int]) -> RealArray:
    """Returns how far an interval with the two-sided error p reaches from a mean that has several
    estimated variances, each with its degrees of freedom: √(Σ t² variance), where t is Student's
    quantile for p with these degrees (Banerjee 1961).

    If scores are normal, the interval misses the true mean with a probability of at most p,
    whatever the true variances are: the probability of |z| < x is concave in x². It is p if only
    one is not zero.
    """
    squares = (student_quantile(p, freedom) ** 2 * variance for variance, freedom in variances)
    width: RealArray = np.sqrt(sum(squares))
    return width


def student_quantile(p: RealArray | float, freedom: int) -> RealArray:
    """Returns the t whose two-sided p is this."""
    angles, inside = _student(freedom)
    quantile: RealArray = math.sqrt(freedom) * np.tan(np.interp(1.0 - p, inside, angles))
    return quantile


@cache
def _student(freedom: int) -> tuple[RealArray, RealArray]:
    """Returns angles θ from 0 to π/2, and the probability of |t| < √ν tan θ for each.

    The density of θ is proportional to cos^(ν−1) θ, which is integrated numerically.
    """
    angles = np.linspace(0.0, math.pi / 2, 100_001)
    density = np.cos(angles) ** (freedom - 1)
    density[-1] = 0.0 if freedom > 1 else 1.0
    inside = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return angles, inside / inside[-1]


def holm(ps: Sequence[float]) -> list[float]:
    """Corrects p-values for the number of comparisons (Holm 1979), in their order."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected
