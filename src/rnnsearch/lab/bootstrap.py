"""The bootstrap: scores of sentences drawn again with replacement, and the intervals they give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnsearch.evaluation.statistics import Subset, SufficientStatistics

DRAWN_AT_ONCE = 4_000_000
"""Sentences drawn at once: about 100 MB."""


def bootstrap(
    statistics: SufficientStatistics,
    subset: Subset | None = None,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> NDArray[np.float64]:
    """Returns the scores of `samples` resamples of the sentences, drawn with replacement (Efron
    1979; Koehn 2004): (samples,).

    The same seed gives all systems of a test set the same resamples, so their scores are paired.
    Raises InputError if there is no sentence.
    """
    sums = _resampled_sums(statistics.rows_of(subset), samples, seed)
    return np.array([statistics.of_sums(row) for row in sums.tolist()])


def interval(
    statistics: SufficientStatistics, subset: Subset | None = None, *, samples: int = 1000
) -> tuple[float, float]:
    """Returns the 95 % percentile interval of the bootstrap (Efron & Tibshirani 1993, Chapter
    13)."""
    low, high = np.percentile(bootstrap(statistics, subset, samples=samples), (2.5, 97.5))
    return float(low), float(high)


def _resampled_sums(values: NDArray[np.float64], samples: int, seed: int) -> NDArray[np.float64]:
    """Sums the rows of each resample. A resample has as many sentences as there are, drawn with
    replacement: (sentences, numbers) → (samples, numbers)."""
    sentences = len(values)
    random = np.random.default_rng(seed)
    block = max(1, DRAWN_AT_ONCE // sentences)
    sums = []
    for begin in range(0, samples, block):
        rows = min(block, samples - begin)
        drawn = (
            random.integers(sentences, size=(rows, sentences))
            + sentences * np.arange(rows)[:, None]
        )
        times = np.bincount(drawn.ravel(), minlength=rows * sentences).reshape(rows, sentences)
        sums.append(times.astype(np.float64) @ values)
    return np.concatenate(sums)
