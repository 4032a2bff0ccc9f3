"""Is one system better than another, or was it luck? Paired bootstrap and approximate randomisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import DRAWN_AT_ONCE, SufficientStatistics

RESAMPLES, TRIALS, SEED = 1000, 10_000, 12345
"""sacreBLEU's own, so that the p-values are those which `sacrebleu --paired-bs` and `--paired-ar` print."""

Named = tuple[str, SufficientStatistics]
SMALLEST = 0.001
"""p-values below it are not written as numbers: so many trials say no more."""


def p_number(p: float) -> str:
    """Writes a p-value for a person: `0.042`, or `< 0.001`; never 0.000."""
    return f"< {SMALLEST}" if p < SMALLEST else f"{p:.3f}"


def p_statement(p: float) -> str:
    """Writes `p = 0.042`, or `p < 0.001`."""
    return f"p {p_number(p)}" if p < SMALLEST else f"p = {p_number(p)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems by one metric, on the same sentences.

    difference: the score of `other` minus that of `system`. p_randomisation: approximate randomisation
    (Riezler & Maxwell 2005), two-sided: how often the systems differ by more after their translations were
    exchanged, sentence by sentence, at random. It asks what the null hypothesis asks: the one to quote.
    p_bootstrap: paired bootstrap (Koehn 2004), two-sided: how often the difference on resampled sentences
    exceeds its mean by more than the systems differ. Riezler & Maxwell find that it takes luck for a
    difference more often. share_better: the share of the resamples in which `other` is better, ties counted
    half: the figure that Koehn gives.
    """

    metric: str
    system: str
    other: str
    difference: float
    p_bootstrap: float
    p_randomisation: float
    share_better: float


def comparisons(
    systems: Mapping[str, SufficientStatistics],
    *,
    resamples: int = RESAMPLES,
    trials: int = TRIALS,
    seed: int = SEED,
) -> list[Comparison]:
    """Compares every two systems, in their order. systems: name → statistics of one metric. Raises InputError
    as `compare` does."""
    return [
        compare(first, second, resamples=resamples, trials=trials, seed=seed)
        for first, second in combinations(systems.items(), 2)
    ]


def compare(
    system: Named, other: Named, *, resamples: int = RESAMPLES, trials: int = TRIALS, seed: int = SEED
) -> Comparison:
    """Compares two systems, each given as (name, statistics).

    Raises InputError if they are of different metrics or of different numbers of sentences.
    """
    (name, ours), (other_name, theirs) = system, other
    if len(ours) != len(theirs) or ours.name != theirs.name:
        what = (
            f"{name} has {ours.name} of {len(ours):,} sentences and {other_name} has {theirs.name} of "
            f"{len(theirs):,}"
        )
        raise InputError(what, remedy="compare one metric on one test set")
    difference = theirs.score().value - ours.score().value
    resampled = theirs.bootstrap(samples=resamples, seed=seed) - ours.bootstrap(samples=resamples, seed=seed)
    better = -resampled if ours.lower_is_better else resampled
    return Comparison(
        metric=ours.name,
        system=name,
        other=other_name,
        difference=difference,
        p_bootstrap=_share_beyond(np.abs(resampled) - np.abs(resampled).mean(), difference),
        p_randomisation=_share_beyond(np.abs(exchanged_differences(ours, theirs, trials, seed)), difference),
        share_better=float(np.mean((better > 0) + 0.5 * (better == 0))),
    )


def exchanged_differences(
    ours: SufficientStatistics, theirs: SufficientStatistics, trials: int, seed: int
) -> NDArray[np.float64]:
    """Returns the differences of the scores, (trials,), after each sentence's two translations were exchanged
    with probability ½."""
    random = np.random.default_rng(seed)
    sentences = len(ours)
    both, gain = ours.values.sum(axis=0) + theirs.values.sum(axis=0), ours.values - theirs.values
    block = max(
        32, DRAWN_AT_ONCE // sentences // 32 * 32
    )  # numpy draws truth values by 32: so their order is that of a single draw
    differences: list[float] = []
    for begin in range(0, trials, block):
        kept = random.integers(2, size=(min(block, trials - begin), sentences), dtype=bool)
        first = theirs.values.sum(axis=0) + kept.astype(np.float64) @ gain
        rows = zip(first.tolist(), (both - first).tolist(), strict=True)
        differences += [ours.of_sums(a) - ours.of_sums(b) for a, b in rows]
    return np.array(differences)


def _share_beyond(chance: NDArray[np.float64], difference: float) -> float:
    """Returns the p-value: the share of chance's differences that are larger, the observed one counted among
    them.

    Where there is no difference there is nothing to explain: 1, though a strict inequality alone would call
    equal systems different.
    """
    if difference == 0:
        return 1.0
    return float((np.sum(chance > abs(difference)) + 1) / (len(chance) + 1))
