"""Sufficient statistics: a row of numbers for each sentence, whose sums over any set of sentences
give the corpus score of that set.

Intervals, scores by length and significance are all computed from them, so a system's text is
compared with the references only once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnsearch.errors import InputError

DRAWN_AT_ONCE = 4_000_000
"""Sentences drawn at once by the bootstrap: about 100 MB."""
LENGTH_BOUNDS = (0, 10, 20, 30, 40, 50, 60)
"""Bounds of the length buckets: 1–10, 11–20, …, 51–60, and longer."""
FEWEST_SENTENCES = 20
"""Minimum number of sentences: a score of fewer is noise."""

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
        return Score(
            self.name, self.of_sums(self._rows_of(subset).sum(axis=0).tolist()), self.signature
        )

    def by_sentence(self) -> list[float]:
        """Returns the score of every single sentence."""
        return [self.of_sums(row) for row in self.values.tolist()]

    def bootstrap(
        self, subset: Subset | None = None, *, samples: int = 1000, seed: int = 1
    ) -> NDArray[np.float64]:
        """Returns the scores of `samples` resamples of the sentences, drawn with replacement (Efron
        1979; Koehn 2004): (samples,).

        The same seed gives all systems of a test set the same resamples, so their scores are
        paired.
        Raises InputError if there is no sentence.
        """
        sums = resampled_sums(self._rows_of(subset), samples, seed)
        return np.array([self.of_sums(row) for row in sums.tolist()])

    def interval(self, subset: Subset | None = None, *, samples: int = 1000) -> tuple[float, float]:
        """Returns the 95 % percentile interval of the bootstrap (Efron & Tibshirani 1993, Chapter
        13)."""
        low, high = np.percentile(self.bootstrap(subset, samples=samples), (2.5, 97.5))
        return float(low), float(high)

    def _rows_of(self, subset: Subset | None) -> NDArray[np.float64]:
        values = self.values if subset is None else self.values[subset]
        if not len(values):
            raise InputError(f"there is no sentence to compute {self.name}")
        return values


def resampled_sums(values: NDArray[np.float64], samples: int, seed: int) -> NDArray[np.float64]:
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
    values = np.stack(
        [np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)], axis=1
    )
    return SufficientStatistics(
        name, signature, values, lambda sums: sums[0] / sums[1] if sums[1] else empty
    )


@dataclass(frozen=True, slots=True)
class LengthBand:
    """The sentences in a range of lengths. shortest, longest: in words, both included; None for no
    limit.
    chosen: one boolean per sentence."""

    shortest: int
    longest: int | None
    chosen: NDArray[np.bool_] = field(compare=False)

    @property
    def sentences(self) -> int:
        return int(self.chosen.sum())

    def __str__(self) -> str:
        return f"{self.shortest}+" if self.longest is None else f"{self.shortest}–{self.longest}"


def buckets(lengths: Sequence[int], bounds: Sequence[int] = LENGTH_BOUNDS) -> list[LengthBand]:
    """Returns adjacent bands: from above one bound to the next one, and above the last. A length of
    0 counts as 1.

    lengths: of every source sentence, in words.
    """
    words = np.maximum(np.asarray(lengths, np.int64), 1)
    bands = []
    for low, high in pairwise([*bounds, None]):
        assert low is not None
        chosen = words > low if high is None else (words > low) & (words <= high)
        bands.append(LengthBand(low + 1, high, chosen))
    return bands
