"""Sufficient statistics: a row of numbers for each sentence, whose sums over any set of sentences
give the corpus score of that set.

Intervals, scores by length and significance are all computed from them, so a system's text is
compared with the references only once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnsearch.errors import InputError

Subset = NDArray[np.bool_] | NDArray[np.intp]
"""Sentences of a test set: one boolean for each, or positions."""


@dataclass(frozen=True, slots=True)
class Score:
    """A corpus score: `value` in percent for BLEU and chrF, and the `signature` that says how it
    was computed."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


@dataclass(frozen=True, slots=True)
class SufficientStatistics:
    """One metric of one system on one test set.

    values: (sentences, numbers); for BLEU the numbers are lengths, matching n-grams and n-grams.
    of_sums: maps the sums of `values` to the score.
    """

    name: str
    signature: str
    values: NDArray[np.float64]
    of_sums: Callable[[Sequence[float]], float]

    def __len__(self) -> int:
        """Returns the number of sentences."""
        return len(self.values)

    def score(self, subset: Subset | None = None) -> Score:
        """Returns the score of all sentences or of a subset. Raises InputError if there is no
        sentence."""
        value = self.of_sums(self.rows_of(subset).sum(axis=0).tolist())
        return Score(self.name, value, self.signature)

    def rows_of(self, subset: Subset | None = None) -> NDArray[np.float64]:
        """Returns the rows of all sentences or of a subset. Raises InputError if there is none."""
        values = self.values if subset is None else self.values[subset]
        if not len(values):
            raise InputError(f"there is no sentence to compute {self.name}")
        return values


def ratio(
    name: str,
    signature: str,
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    empty: float = float("nan"),
) -> SufficientStatistics:
    """Returns the statistics of Σ numerators / Σ denominators, with one of each per sentence.
    empty: the value where the denominators sum to 0."""
    columns = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    values = np.stack(columns, axis=1)
    return SufficientStatistics(
        name, signature, values, lambda sums: sums[0] / sums[1] if sums[1] else empty
    )
