"""Sufficient statistics: a row of numbers for each sentence, whose sums over any set of sentences give the
corpus score of that set.

Intervals, scores by length and significance all follow from them: whatever is asked of a system, its text is
compared with the references only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rnnsearch.errors import InputError

DRAWN_AT_ONCE = 4_000_000
"""Sentences drawn at once by the bootstrap: some 100 MB."""
BOUNDS = (0, 10, 20, 30, 40, 50, 60)
"""Lengths between buckets: 1–10, 11–20, …, 51–60, and longer."""
FEWEST = 20
"""With fewer sentences than this a score is noise."""
RESAMPLES, TRIALS, SEED = 1000, 10_000, 12345
"""sacreBLEU's own, so that the p-values are those which `sacrebleu --paired-bs` and `--paired-ar` print."""
SMALLEST = 0.001
"""p-values below it are not written as numbers: so many trials say no more."""

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
        return Score(self.name, self.of_sums(self._some(subset).sum(axis=0).tolist()), self.signature)

    def by_sentence(self) -> list[float]:
        """Returns the score of every sentence by itself."""
        return [self.of_sums(row) for row in self.values.tolist()]

    def bootstrap(
        self, subset: Subset | None = None, *, samples: int = 1000, seed: int = 1
    ) -> NDArray[np.float64]:
        """Returns the scores of `samples` resamples of the sentences, drawn with replacement (Efron 1979;
        Koehn 2004): (samples,).

        Systems of one test set get the same resamples from the same seed: their scores are paired.
        Raises InputError for no sentence.
        """
        sums = resampled_sums(self._some(subset), samples, seed)
        return np.array([self.of_sums(row) for row in sums.tolist()])

    def interval(
        self, subset: Subset | None = None, *, samples: int = 1000, seed: int = 1, confidence: float = 0.95
    ) -> tuple[float, float]:
        """Returns the percentile interval of the bootstrap (Efron & Tibshirani 1993, Chapter 13)."""
        outside = 50 * (1 - confidence)
        scores = self.bootstrap(subset, samples=samples, seed=seed)
        low, high = np.percentile(scores, (outside, 100 - outside))
        return float(low), float(high)

    def _some(self, subset: Subset | None) -> NDArray[np.float64]:
        values = self.values if subset is None else self.values[subset]
        if not len(values):
            raise InputError(f"no sentence to compute {self.name} of")
        return values


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


@dataclass(frozen=True, slots=True)
class Stretch:
    """Sentences of some lengths. shortest, longest: in words, both included, None for no limit. chosen: one
    truth value per sentence."""

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
    """One number of a table or point of a curve, with its bootstrap interval; None where no sentence has such
    a length. pairs: which pairs it is of. words: their lengths; None for all lengths."""

    metric: str
    words: Stretch | None
    sentences: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    system: str = ""
    pairs: str = ""


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
    return [_stretch(lengths, low + 1, high) for low, high in pairwise([*bounds, None]) if low is not None]


def windows(lengths: Sequence[int], width: int = 10, step: int = 1, fewest: int = FEWEST) -> list[Stretch]:
    """Returns a window of `width` lengths that slides over them in steps. Those with fewer than `fewest`
    sentences are left out: they are noise."""
    if width < 1 or step < 1:
        what = f"a window of width {width} cannot slide by {step}"
        raise InputError(what, remedy="both must be at least 1")
    starts = range(1, max(max(lengths, default=0) - width + 1, 1) + 1, step)
    every = (_stretch(lengths, start, start + width - 1) for start in starts)
    return [stretch for stretch in every if stretch.sentences >= fewest]


def _stretch(lengths: Sequence[int], shortest: int, longest: int | None) -> Stretch:
    words = np.maximum(np.asarray(lengths, np.int64), 1)
    chosen = words >= shortest
    return Stretch(shortest, longest, chosen if longest is None else chosen & (words <= longest))


def by_length(
    statistics: SufficientStatistics,
    stretches: Iterable[Stretch | None],
    *,
    samples: int = 1000,
    seed: int = 1,
) -> list[SystemScore]:
    """Returns the score of one system on every stretch, with the 95 % interval of the bootstrap.

    stretches: None among them is all sentences. samples: 0 leaves the intervals out.
    """
    scores = []
    for words in stretches:
        chosen = None if words is None else words.chosen
        value = low = high = None
        sentences = len(statistics) if words is None else words.sentences
        if sentences:
            value = statistics.score(chosen).value
            if samples:
                low, high = statistics.interval(chosen, samples=samples, seed=seed)
        scores.append(SystemScore(statistics.name, words, sentences, value, low, high))
    return scores


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
    systems: Mapping[str, SufficientStatistics], *, resamples: int = RESAMPLES, trials: int = TRIALS
) -> list[Comparison]:
    """Compares every two systems, in their order. systems: name → statistics of one metric. Raises InputError
    as `compare` does."""
    pairs = combinations(systems.items(), 2)
    return [compare(first, second, resamples=resamples, trials=trials) for first, second in pairs]


def compare(
    system: tuple[str, SufficientStatistics],
    other: tuple[str, SufficientStatistics],
    *,
    resamples: int = RESAMPLES,
    trials: int = TRIALS,
    seed: int = SEED,
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
    # numpy draws truth values by 32: so their order is that of a single draw
    block = max(32, DRAWN_AT_ONCE // sentences // 32 * 32)
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
