"""Scores over the length of the source sentence, with bootstrap bands: the numbers of the paper's Figure
2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import SufficientStatistics

BOUNDS = (0, 10, 20, 30, 40, 50, 60)
"""Between buckets: 1–10, 11–20, …, 51–60, and longer."""
FEWEST = 20
"""With fewer sentences than this a score is noise."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Sentences of some lengths. shortest, longest: in words, both included, None for no limit. chosen: one
    truth value per sentence."""

    shortest: int
    longest: int | None
    chosen: NDArray[np.bool_]

    @property
    def sentences(self) -> int:
        return int(self.chosen.sum())

    def __str__(self) -> str:
        return _range(self.shortest, self.longest)


@dataclass(frozen=True, slots=True)
class ScoreOfLength:
    """One point of a system's curve. value, low, high: the score and its bootstrap band; None where no
    sentence has such a length."""

    shortest: int
    longest: int | None
    sentences: int
    value: float | None
    low: float | None
    high: float | None
    system: str = ""
    metric: str = ""

    @property
    def words(self) -> str:
        """Its lengths, for a person."""
        return _range(self.shortest, self.longest)


def buckets(lengths: Sequence[int], bounds: Sequence[int] = BOUNDS) -> list[Stretch]:
    """Returns stretches that follow each other: from above one bound to the next one, and above the last. A
    length of 0 counts as 1.

    lengths: of every source sentence, in words.
    Raises InputError for bounds that do not rise.
    """
    if not bounds or any(low >= high for low, high in pairwise(bounds)) or bounds[0] < 0:
        raise InputError(
            f"the length bounds {list(bounds)} are not in increasing order", remedy="for example 0 10 20 30"
        )
    return [_stretch(lengths, low + 1, high) for low, high in pairwise(bounds)] + [
        _stretch(lengths, bounds[-1] + 1, None)
    ]


def windows(lengths: Sequence[int], width: int = 10, step: int = 1, fewest: int = FEWEST) -> list[Stretch]:
    """Returns a window of `width` lengths that slides over them in steps. Those with fewer than `fewest`
    sentences are left out: they are noise."""
    if width < 1 or step < 1:
        raise InputError(
            f"a window of width {width} cannot slide by {step}", remedy="both must be at least 1"
        )
    longest = max(lengths, default=0)
    every = (
        _stretch(lengths, start, start + width - 1)
        for start in range(1, max(longest - width + 1, 1) + 1, step)
    )
    return [stretch for stretch in every if stretch.sentences >= fewest]


def by_length(
    statistics: SufficientStatistics,
    stretches: Iterable[Stretch],
    *,
    samples: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> list[ScoreOfLength]:
    """Returns the score of one system on every stretch, with the percentile interval of the bootstrap;
    samples = 0 leaves the bands out."""
    return [_point(statistics, stretch, samples, seed, confidence) for stretch in stretches]


def _range(shortest: int, longest: int | None) -> str:
    return f"{shortest}+" if longest is None else f"{shortest}–{longest}"


def _stretch(lengths: Sequence[int], shortest: int, longest: int | None) -> Stretch:
    words = np.maximum(np.asarray(lengths, np.int64), 1)
    chosen = words >= shortest
    return Stretch(shortest, longest, chosen if longest is None else chosen & (words <= longest))


def _point(
    statistics: SufficientStatistics, stretch: Stretch, samples: int, seed: int, confidence: float
) -> ScoreOfLength:
    where = (stretch.shortest, stretch.longest, stretch.sentences)
    if not stretch.sentences:
        return ScoreOfLength(*where, None, None, None)
    value = statistics.score(stretch.chosen).value
    if not samples:
        return ScoreOfLength(*where, value, None, None)
    return ScoreOfLength(
        *where, value, *statistics.interval(stretch.chosen, samples=samples, seed=seed, confidence=confidence)
    )
