"""Sufficient statistics: a row of numbers for each sentence, whose sums over any set of sentences give the
corpus score of that set.

Whatever is asked of a system, on parts of the test set or on thousands of resamples, its text is compared
with the references only once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnsearch.errors import InputError

DRAWN_AT_ONCE = 4_000_000
"""Sentences drawn at once by the bootstrap: some 100 MB."""

Subset = NDArray[np.bool_] | NDArray[np.intp]
"""Sentences of a test set: one truth value for each of them, or positions."""


@dataclass(frozen=True, slots=True)
class Score:
    """A corpus score: `value` in percent for BLEU, chrF and TER, and the `signature` that says how it was
    computed."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


@dataclass(frozen=True, slots=True)
class SufficientStatistics:
    """One metric of one system on one test set.

    values: (sentences, numbers), for BLEU for example lengths, matching n-grams and n-grams. of_sums: their
    sums → the score. lower_is_better: as for TER and the negative log-likelihood.
    """

    name: str
    signature: str
    values: NDArray[np.float64]
    of_sums: Callable[[Sequence[float]], float]
    lower_is_better: bool = False

    def __len__(self) -> int:
        """Returns the number of sentences."""
        return len(self.values)

    def score(self, subset: Subset | None = None) -> Score:
        """Returns the score of all sentences or of some. Raises InputError if there is none."""
        values = self.values if subset is None else self.values[subset]
        if not len(values):
            raise InputError(f"no sentence to compute {self.name} of")
        return Score(self.name, self.of_sums(values.sum(axis=0).tolist()), self.signature)

    def bootstrap(
        self, subset: Subset | None = None, *, samples: int = 1000, seed: int = 1
    ) -> NDArray[np.float64]:
        """Returns the scores of `samples` resamples of the sentences, drawn with replacement (Efron 1979;
        Koehn 2004): (samples,).

        Systems of one test set get the same resamples from the same seed: their scores are paired.
        Raises InputError for no sentence.
        """
        values = self.values if subset is None else self.values[subset]
        if not len(values):
            raise InputError(f"no sentence to resample for {self.name}")
        return np.array([self.of_sums(row) for row in resampled_sums(values, samples, seed).tolist()])

    def interval(
        self, subset: Subset | None = None, *, samples: int = 1000, seed: int = 1, confidence: float = 0.95
    ) -> tuple[float, float]:
        """Returns the percentile interval of the bootstrap (Efron & Tibshirani 1993, Chapter 13)."""
        outside = 50 * (1 - confidence)
        low, high = np.percentile(
            self.bootstrap(subset, samples=samples, seed=seed), (outside, 100 - outside)
        )
        return float(low), float(high)


def resampled_sums(values: NDArray[np.float64], samples: int, seed: int) -> NDArray[np.float64]:
    """Sums the rows of resamples of as many sentences, drawn with replacement: (sentences, numbers) →
    (samples, numbers)."""
    sentences = len(values)
    random = np.random.default_rng(seed)
    block = max(1, DRAWN_AT_ONCE // sentences)
    sums = []
    for begin in range(0, samples, block):
        rows = min(block, samples - begin)
        drawn = random.integers(sentences, size=(rows, sentences)) + sentences * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * sentences).reshape(rows, sentences)
        sums.append(times.astype(np.float64) @ values)
    return np.concatenate(sums)


def ratio(
    name: str,
    signature: str,
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    lower_is_better: bool = False,
) -> SufficientStatistics:
    """Returns the statistics of Σ numerators / Σ denominators, one of each per sentence; not a number where
    the latter sum to 0."""
    values = np.stack([np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)], axis=1)
    return SufficientStatistics(
        name, signature, values, lambda sums: sums[0] / sums[1] if sums[1] else float("nan"), lower_is_better
    )
