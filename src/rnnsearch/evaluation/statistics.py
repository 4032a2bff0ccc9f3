"""Sufficient statistics: a row of numbers for each sentence, whose sums over any set of sentences give the
corpus score of that set.

Intervals, scores by length and significance are all computed from them, so a system's text is compared with
the references only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnsearch.errors import InputError

DRAWN_AT_ONCE = 4_000_000
"""Sentences drawn at once by the bootstrap: about 100 MB."""
BOUNDS = (0, 10, 20, 30, 40, 50, 60)
"""Bounds of the length buckets: 1–10, 11–20, …, 51–60, and longer."""
FEWEST = 20
"""Minimum number of sentences: a score of fewer is noise."""
FEW = f"fewer than {FEWEST} sentences: no differences and no p-values"
TRIALS, SEED = 10_000, 12345
"""Of approximate randomisation: sacreBLEU's values, and its random exchanges."""
SMALLEST = 0.001
"""Smaller p-values are shown as `< 0.001`."""

Subset = NDArray[np.bool_] | NDArray[np.intp]
"""Sentences of a test set: one boolean for each, or positions."""


@dataclass(frozen=True, slots=True)
class Score:
    """A corpus score: `value` in percent for BLEU and chrF, and the `signature` that says how it was
    computed."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


@dataclass(frozen=True, slots=True)
class SufficientStatistics:
    """One metric of one system on one test set.

    values: (sentences, numbers); for BLEU the numbers are lengths, matching n-grams and n-grams. of_sums:
    maps the sums of `values` to the score. lower_is_better: True for negative log-likelihood.
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
        """Returns the score of all sentences or of a subset. Raises InputError if there is no sentence."""
        return Score(self.name, self.of_sums(self._rows_of(subset).sum(axis=0).tolist()), self.signature)

    def by_sentence(self) -> list[float]:
        """Returns the score of every single sentence."""
        return [self.of_sums(row) for row in self.values.tolist()]

    def bootstrap(
        self, subset: Subset | None = None, *, samples: int = 1000, seed: int = 1
    ) -> NDArray[np.float64]:
        """Returns the scores of `samples` resamples of the sentences, drawn with replacement (Efron 1979;
        Koehn 2004): (samples,).

        The same seed gives all systems of a test set the same resamples, so their scores are paired.
        Raises InputError if there is no sentence.
        """
        sums = resampled_sums(self._rows_of(subset), samples, seed)
        return np.array([self.of_sums(row) for row in sums.tolist()])

    def interval(
        self, subset: Subset | None = None, *, samples: int = 1000, seed: int = 1
    ) -> tuple[float, float]:
        """Returns the 95 % percentile interval of the bootstrap (Efron & Tibshirani 1993, Chapter 13)."""
        low, high = np.percentile(self.bootstrap(subset, samples=samples, seed=seed), (2.5, 97.5))
        return float(low), float(high)

    def _rows_of(self, subset: Subset | None) -> NDArray[np.float64]:
        values = self.values if subset is None else self.values[subset]
        if not len(values):
            raise InputError(f"there is no sentence to compute {self.name}")
        return values


def resampled_sums(values: NDArray[np.float64], samples: int, seed: int) -> NDArray[np.float64]:
    """Sums the rows of each resample. A resample has as many sentences as there are, drawn with replacement:
    (sentences, numbers) → (samples, numbers)."""
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
    empty: float = float("nan"),
) -> SufficientStatistics:
    """Returns the statistics of Σ numerators / Σ denominators, with one of each per sentence. empty: the
    value where the denominators sum to 0."""
    values = np.stack([np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)], axis=1)
    return SufficientStatistics(
        name, signature, values, lambda sums: sums[0] / sums[1] if sums[1] else empty, lower_is_better
    )


@dataclass(frozen=True, slots=True)
class LengthBand:
    """The sentences in a range of lengths. shortest, longest: in words, both included; None for no limit.
    chosen: one boolean per sentence."""

    shortest: int
    longest: int | None
    chosen: NDArray[np.bool_] = field(compare=False)

    @property
    def sentences(self) -> int:
        return int(self.chosen.sum())

    def __str__(self) -> str:
        return f"{self.shortest}+" if self.longest is None else f"{self.shortest}–{self.longest}"


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A number of a table or a point of a curve, with its bootstrap interval. value: None if no sentence has
    such a length. pairs: ALL or KNOWN. words: range of lengths; None for all."""

    metric: str
    words: LengthBand | None
    sentences: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    system: str = ""
    pairs: str = ""


def buckets(lengths: Sequence[int], bounds: Sequence[int] = BOUNDS) -> list[LengthBand]:
    """Returns adjacent bands: from above one bound to the next one, and above the last. A length of 0 counts
    as 1.

    lengths: of every source sentence, in words.
    """
    words = np.maximum(np.asarray(lengths, np.int64), 1)
    bands = []
    for low, high in pairwise([*bounds, None]):
        assert low is not None
        chosen = words > low if high is None else (words > low) & (words <= high)
        bands.append(LengthBand(low + 1, high, chosen))
    return bands


def by_length(
    statistics: SufficientStatistics,
    bands: Iterable[LengthBand | None],
    *,
    samples: int = 1000,
    seed: int = 1,
) -> list[SystemScore]:
    """Returns the score of one system in every band of lengths, with the 95 % interval of the bootstrap.

    bands: None stands for all sentences. samples: 0 leaves the intervals out.
    """
    scores = []
    for words in bands:
        chosen = None if words is None else words.chosen
        value = low = high = None
        sentences = len(statistics) if words is None else words.sentences
        if sentences:
            value = statistics.score(chosen).value
            if samples:
                low, high = statistics.interval(chosen, samples=samples, seed=seed)
        scores.append(SystemScore(statistics.name, words, sentences, value, low, high))
    return scores


def p_statement(p: float) -> str:
    """Formats a p-value: `p = 0.042`, or `p < 0.001`; never 0.000."""
    return f"p < {SMALLEST}" if p < SMALLEST else f"p = {p:.3f}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two systems by one metric, on the same sentences.

    difference: the score of `other` minus that of `system`. low, high: its 95 % interval by the paired
    bootstrap (Koehn 2004). p: two-sided, by approximate randomisation (Riezler & Maxwell 2005): how often the
    systems differ at least as much after their translations were exchanged at random, sentence by sentence.
    """

    metric: str
    system: str
    other: str
    difference: float
    low: float
    high: float
    p: float


def comparisons(
    systems: Mapping[str, SufficientStatistics], *, samples: int = 1000, trials: int = TRIALS
) -> list[Comparison]:
    """Compares each pair of systems, in their order; none if there are fewer than FEWEST sentences.

    systems: name → statistics of one metric. Raises InputError as `compare` does.
    """
    pairs = combinations(systems.items(), 2)
    enough = all(len(statistics) >= FEWEST for statistics in systems.values())
    return [compare(*pair, samples=samples, trials=trials) for pair in pairs] if enough else []


def compare(
    system: tuple[str, SufficientStatistics],
    other: tuple[str, SufficientStatistics],
    *,
    samples: int = 1000,
    trials: int = TRIALS,
    seed: int = SEED,
) -> Comparison:
    """Compares two systems, each given as (name, statistics). samples: resamples of the bootstrap interval.

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
    resampled = theirs.bootstrap(samples=samples, seed=seed) - ours.bootstrap(samples=samples, seed=seed)
    low, high = np.percentile(resampled, (2.5, 97.5)).tolist()
    return Comparison(ours.name, name, other_name, difference, low, high, p_value(ours, theirs, trials, seed))


def p_value(
    ours: SufficientStatistics, theirs: SufficientStatistics, trials: int = TRIALS, seed: int = SEED
) -> float:
    """Returns the two-sided p-value of the difference between two systems on the same sentences: the
    probability of at least this difference if each sentence's two translations were exchanged by chance.

    It is exact, by enumeration, if so few sentences differ that `trials` cover all exchanges. Otherwise it is
    (count of differences at least as large + 1) / (trials + 1), which never has more false positives than it
    says (Davison & Hinkley 1997, Sec. 4.2).
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
        differences = np.concatenate([_differences(ours, theirs, kept, slice(None)) for kept in drawn])
    beyond = int(np.sum(np.abs(differences) >= abs(scores[1] - scores[0]) - rounding))
    return beyond / len(differences) if exact else (beyond + 1) / (trials + 1)


def _differences(
    ours: SufficientStatistics,
    theirs: SufficientStatistics,
    kept: NDArray[np.bool_] | NDArray[np.int64],
    exchanged: slice | NDArray[np.intp],
) -> NDArray[np.float64]:
    """Returns the differences of the scores, (trials,). kept: (trials, exchanged sentences), whether each
    system keeps its translation or they exchange theirs."""
    both = ours.values.sum(axis=0) + theirs.values.sum(axis=0)
    gain = (ours.values - theirs.values)[exchanged]
    first = theirs.values.sum(axis=0) + kept.astype(np.float64) @ gain
    rows = zip(first.tolist(), (both - first).tolist(), strict=True)
    return np.array([ours.of_sums(a) - ours.of_sums(b) for a, b in rows])
