"""All that is measured of some systems on one test set, as plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.evaluation.by_length import ScoreOfLength, Stretch, by_length
from rnnsearch.evaluation.likelihood import perplexity
from rnnsearch.evaluation.significance import Comparison, comparisons
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.evaluation.systems import System, require_different_names

Metric = Callable[[Sequence[str], Sequence[str]], SufficientStatistics]
Measured = dict[str, dict[str, SufficientStatistics]]
"""Metric → system → statistics."""

ALL, WITHOUT_UNKNOWN = "all", "without unknown words"


@dataclass(frozen=True, slots=True)
class SystemScore:
    """One number of a table. pairs: ALL or WITHOUT_UNKNOWN. low, high: the bootstrap interval."""

    system: str
    metric: str
    pairs: str
    sentences: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LengthScore:
    """One point of a curve: the score of a system's sentences of some lengths."""

    system: str
    metric: str
    score: ScoreOfLength


@dataclass(frozen=True, slots=True)
class Evaluation:
    """sentences: of the test set. signatures: of the metrics. known: the lines without unknown words, from 1; None if nobody asked."""

    sentences: int
    systems: list[System]
    signatures: dict[str, str]
    scores: list[SystemScore]
    known: list[int] | None = None
    lengths: list[LengthScore] = field(default_factory=list)
    windows: list[LengthScore] = field(default_factory=list)
    significance: list[Comparison] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an evaluation consists of beside the scores of all sentences.

    known: which pairs have no unknown word. without_unk: system → its translations of those pairs alone, when it may not write UNK.
    lengths: stretches of source lengths; windows: more of them, which overlap. significance: whether to test every two systems.
    samples, seed: of the bootstrap intervals.
    """

    known: Sequence[bool] | None = None
    without_unk: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lengths: Sequence[Stretch] = ()
    windows: Sequence[Stretch] = ()
    significance: bool = False
    samples: int = 1000
    seed: int = 1


def evaluate(systems: Sequence[System], references: Sequence[str], metrics: Sequence[Metric], wanted: Wanted | None = None) -> Evaluation:
    """Measures every system by every metric, and by its likelihood where it has one.

    Raises InputError for no system, two of one name, and as the metrics do.
    """
    if not systems:
        raise InputError("there is no system to evaluate", remedy="give a file of translations")
    require_different_names(systems)
    wanted = wanted or Wanted()
    measured = _measured({system.name: system.hypotheses for system in systems}, references, metrics)
    likelihoods = _likelihoods(systems)
    scores = _scores(measured | likelihoods, ALL, wanted)
    known = None
    if wanted.known is not None:
        chosen = np.asarray(wanted.known, np.bool_)
        known = (np.flatnonzero(chosen) + 1).tolist()
        if known:
            hypotheses = {system.name: [system.hypotheses[line - 1] for line in known] for system in systems}
            part = _measured({**hypotheses, **wanted.without_unk}, [references[line - 1] for line in known], metrics)
            scores += _scores(part | _part(likelihoods, chosen), WITHOUT_UNKNOWN, wanted)
    curves = {name: each for name, each in (measured | likelihoods).items() if name != "NLL per sentence"}
    return Evaluation(
        sentences=len(references),
        systems=list(systems),
        signatures={name: statistics.signature for name, each in measured.items() for statistics in each.values()},
        scores=scores,
        known=known,
        lengths=_of_lengths(curves, wanted.lengths, wanted),
        windows=_of_lengths(curves, wanted.windows, wanted),
        significance=_significance(measured) if wanted.significance else [],
    )


def _measured(hypotheses: Mapping[str, Sequence[str]], references: Sequence[str], metrics: Sequence[Metric]) -> Measured:
    """By every metric, and the ratio of lengths in the words of the first one that counts them (which is BLEU)."""
    from rnnsearch.evaluation.bleu import length_ratio_statistics

    measured: Measured = {}
    for metric in metrics:
        for system, lines in hypotheses.items():
            statistics = metric(lines, references)
            measured.setdefault(statistics.name, {})[system] = statistics
    if "BLEU" in measured:
        measured["length ratio"] = {system: length_ratio_statistics(statistics) for system, statistics in measured["BLEU"].items()}
    return measured


def _likelihoods(systems: Sequence[System]) -> Measured:
    models = [(system.name, system.likelihood) for system in systems if system.likelihood is not None]
    return {
        "NLL per sentence": {name: likelihood.per_sentence() for name, likelihood in models},
        "NLL per word": {name: likelihood.per_word() for name, likelihood in models},
    }


def _part(measured: Measured, chosen: np.ndarray) -> Measured:
    """The same measures of some of the sentences."""
    return {
        metric: {system: replace(statistics, values=statistics.values[chosen]) for system, statistics in each.items()}
        for metric, each in measured.items()
    }


def _scores(measured: Measured, pairs: str, wanted: Wanted) -> list[SystemScore]:
    scores = []
    for metric, each in measured.items():
        for system, statistics in each.items():
            low, high = statistics.interval(samples=wanted.samples, seed=wanted.seed)
            score = SystemScore(system, metric, pairs, len(statistics), statistics.score().value, low, high)
            scores.append(score)
            if metric == "NLL per word":
                value, low, high = perplexity(score.value), perplexity(low), perplexity(high)
                scores.append(replace(score, metric="perplexity", value=value, low=low, high=high))
    return scores


def _of_lengths(measured: Measured, stretches: Sequence[Stretch], wanted: Wanted) -> list[LengthScore]:
    return [
        LengthScore(system, metric, point)
        for metric, each in measured.items()
        for system, statistics in each.items()
        for point in by_length(statistics, stretches, samples=wanted.samples, seed=wanted.seed)
    ]


def _significance(measured: Measured) -> list[Comparison]:
    return [comparison for metric, each in measured.items() if metric != "length ratio" for comparison in comparisons(each)]
