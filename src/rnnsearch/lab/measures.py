"""Measures of systems on a test set: computed once, and read by every table, figure and page."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.evaluation import bleu
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.lab.gold_checks import warn_if_misread
from rnnsearch.lab.length_bands import LengthBand, buckets, length_tokenisation
from rnnsearch.lab.link_measures import alignment_statistics
from rnnsearch.lab.metrics import (
    BLEU,
    CHRF,
    DEPARTURE,
    LENGTH_RATIO,
    MULTI_BLEU,
    NLL_PER_SENTENCE,
    NLL_PER_WORD,
    OF_TEXTS,
    PERPLEXITY,
    SCORES,
)
from rnnsearch.lab.multi_bleu import multi_bleu_statistics
from rnnsearch.lab.outputs import OpenedRun, System
from rnnsearch.lab.significance import Comparison, comparisons, interval
from rnnsearch.lab.test_set import TestSet, require_different
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec
from rnnsearch.text.links import PairWordCounts, recognise, tokeniser_ranges
from rnnsearch.text.tokens import Tokeniser, given_words
from rnnsearch.word_links import GoldLinks, Link

NUMBERS = ("system", "metric", "pairs", "sentences", "value", "low", "high")
"""Fields of a score in the file with one row per number."""
NUMBER_COLUMNS = (
    "table",
    "system",
    "other",
    *NUMBERS[1:3],
    "shortest",
    "longest",
    *NUMBERS[3:],
    "p",
)
"""Its columns. table: scores, lengths or significance."""
ALL, KNOWN = "all", "without unknown words"
"""Pairs on which a score is computed: all, or those whose words all runs know (Table 1's second
column)."""

Statistics = dict[str, SufficientStatistics]
"""Metric → statistics of one system."""


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """A choice of further measures. BLEU and chrF2 are always computed, likelihood and alignment
    error for runs.

    tokenise: sacreBLEU's tokenisation for BLEU; empty: the one for the letters of the references.
    multi_bleu: the tokeniser for multi-BLEU, which text without spaces does not have; case counts
    in no score if it lowercases. by_length: whether to score the paper's length buckets.
    significance: metrics by which each pair of systems is tested. samples: of the bootstrap
    intervals.
    """

    tokenise: str = ""
    multi_bleu: Tokeniser | None = None
    by_length: bool = False
    significance: Collection[str] = ()
    samples: int = 1000

    def of(self, test: TestSet) -> MeasureOptions:
        """Returns the options with the tokenisation of a test set."""
        return replace(self, tokenise=self.tokenise or length_tokenisation(test.reference))

    def check(self, test: TestSet) -> None:
        """Raises InputError for a tokenisation that does not exist."""
        first = [lines[:1] for lines in test.references]
        _text_statistics(test.reference[:1], first, self.of(test))


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A number of a table or a point of a curve, with its bootstrap interval. value: None if no
    sentence has such a length. pairs: ALL or KNOWN. words: range of lengths; None for all."""

    system: str
    metric: str
    words: LengthBand | None
    sentences: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: str = ""

    @property
    def interval(self) -> str:
        """The interval in a table."""
        return f"{self.low:.1f}–{self.high:.1f}"


@dataclass(frozen=True)
class Measures:
    """All measures on one test set.

    statistics: system → metric → statistics. known: indices of the pairs without unknown words;
    None if no run says which they are. lengths: source words of each pair, as sacreBLEU counts
    them. buckets: the bands of lengths in `by_length` that have sentences.
    """

    test: TestSet
    systems: list[System]
    statistics: dict[str, Statistics]
    scores: list[SystemScore]
    signatures: dict[str, str]
    known: list[int] | None
    lengths: list[int]
    buckets: list[LengthBand]
    by_length: list[SystemScore]
    comparisons: list[Comparison]

    @property
    def runs(self) -> dict[str, OpenedRun]:
        """Our runs by name."""
        return {one.name: one.run for one in self.systems if one.run is not None}

    def score(self, system: str, metric: str, pairs: str = ALL) -> SystemScore | None:
        """Returns one score; None where a system has no such score."""
        named = system, metric, pairs
        return next(
            (one for one in self.scores if (one.system, one.metric, one.pairs) == named), None
        )


def measure(
    test: TestSet, systems: Sequence[System], options: MeasureOptions = MeasureOptions()
) -> Measures:
    """Measures every system on all pairs, and on the pairs without unknown words if a run says
    which they are.

    Raises InputError if there is no system, if two have the same name, and as the metrics do.
    """
    if not systems:
        raise InputError("there is no system to evaluate", "name a run or a file of translations")
    require_different([system.name for system in systems], "systems", "--system NAME=FILE")
    options = options.of(test)
    statistics = {system.name: system_statistics(test, system, options) for system in systems}
    known = _known_pairs(systems)
    scores = _scores(statistics, [None], options, ALL)
    if known:
        parts = {
            one.name: _on_known_pairs(test, one, statistics[one.name], known, options)
            for one in systems
        }
        scores += _scores(parts, [None], options, KNOWN)
    lengths = bleu.lengths(test.source, length_tokenisation(test.source))
    bands = buckets(lengths) if options.by_length else []
    return Measures(
        test=test,
        systems=list(systems),
        statistics=statistics,
        scores=scores,
        signatures={
            metric: one.signature
            for found in statistics.values()
            for metric, one in found.items()
            if metric in (*OF_TEXTS, LENGTH_RATIO)
        },
        known=known,
        lengths=lengths,
        buckets=[band for band in bands if band.sentences],
        by_length=_scores(statistics, bands, options),
        comparisons=[
            comparison
            for metric in _metrics(statistics)
            if metric in options.significance
            for comparison in comparisons(
                {name: found[metric] for name, found in statistics.items()}, options.samples
            )
        ],
    )


def system_statistics(
    test: TestSet, system: System, options: MeasureOptions = MeasureOptions()
) -> Statistics:
    """Compares one system's texts with the references by every metric. For a run, adds its
    likelihood of the references and, if there are gold links, the error of its links by α and by
    the posterior."""
    run, found = system.run, Statistics()
    if system.texts:
        found |= _text_statistics(system.texts, test.references, options.of(test))
    if run is not None:
        found |= nll_statistics(run.references)
        for prefix, links in run.links.items() if test.gold is not None else ():
            counted = counted_links(test, links, (run.run.source, run.run.target))
            warn_if_misread(*counted, test.gold_file)
            found |= {prefix + rate: one for rate, one in alignment_statistics(*counted).items()}
    return found


def length_ratio(statistics: SufficientStatistics) -> SufficientStatistics:
    """Returns words of the hypotheses / words of the references, from the statistics of BLEU or
    multi-BLEU."""
    return ratio("length ratio", statistics.signature, *statistics.values.T[:2])


def counted_links(
    test: TestSet, links: Sequence[Sequence[Link]], sides: Sequence[Codec]
) -> tuple[list[set[Link]], list[GoldLinks]]:
    """Returns (links in the positions that the gold links use, gold links).

    links: (source, target) positions of the words of `sides`. Gold links count words between
    spaces, or the tokenisers' words; which of the two is recognised as by `prepare`.
    Raises InputError for gold links outside their sentences.
    """
    assert test.gold is not None
    words = [
        [
            (given_words(line), side.tokeniser.link_words(line))
            for line, side in zip(pair, sides, strict=True)
        ]
        for pair in test.pairs
    ]
    counted = [
        PairWordCounts(
            sorted(sentence.possible), *zip(*(map(len, side) for side in pair), strict=True)
        )
        for sentence, pair in zip(test.gold, words, strict=True)
    ]
    tokenised = recognise(counted) == "tokenised"
    for number, (possible, *counts) in enumerate(counted, 1):
        source, target = counts[tokenised]
        for j, i in possible:
            if j >= source or i >= target:
                what = (
                    f"sentence {number}: the gold link {j}-{i} (counted from 0) is outside its"
                    f" {source} source and {target} target words"
                )
                remedy = "gold links must count words between spaces, or the tokeniser's words"
                raise InputError(what, remedy, file=test.gold_file)
    found = []
    for sentence, pair, lines in zip(links, words, test.pairs, strict=True):
        left, right = (
            _given_positions(test, counted[tokenised], side.words(line))
            for counted, line, side in zip(pair, lines, sides, strict=True)
        )
        found.append({(left[j], right[i]) for j, i in sentence})
    return found, test.gold


def _given_positions(test: TestSet, given: list[str], words: list[str]) -> list[int]:
    """Returns, for each of the tokeniser's words, the index of the given word that contains it; of
    several, the first."""
    ranges = tokeniser_ranges(given, words)
    if ranges is None:
        what = (
            f"the tokeniser changes letters of {' '.join(given)[:60]!r}, so its links cannot be "
            "compared with gold links"
        )
        remedy = 'leave the sentence out, or give data.tokeniser = "space"'
        raise InputError(what, remedy, file=test.gold_file)
    positions = [0] * len(words)
    for place, (first, after) in reversed(list(enumerate(ranges))):
        positions[first:after] = [place] * (after - first)
    return positions


def nll_statistics(references: Sequence[Translation]) -> Statistics:
    """Returns −log p(reference | source) per sentence and per word, in nats; words are counted, not
    subwords, and the end of sentence is one.

    Models can be compared only if they have the same target vocabulary: a short shortlist makes UNK
    probable.
    """
    nll = [-result.score for result in references]
    words = [len(result.tokens) + 1 for result in references]
    counts = {NLL_PER_SENTENCE: [1] * len(nll), NLL_PER_WORD: words}
    return {name: ratio(name, "nats", nll, of) for name, of in counts.items()}


def departure(
    references: Sequence[Translation], links: Sequence[Collection[Link]]
) -> SufficientStatistics:
    """Returns how far α is from known links: the mean, over the target words that have links, of
    the weight on other source words.

    references: results of forced decoding. links: (source, target) of every sentence. Links outside
    a sentence are left out.
    """
    distances, words = [], []
    for result, known in zip(references, links, strict=True):
        linked = np.zeros_like(result.alignment, dtype=bool)
        targets, sources = linked.shape
        for j, i in known:
            if i < targets and j < sources - 1:
                linked[i, j] = True
        some = linked.any(axis=1)
        distances.append(float((1.0 - (result.alignment * linked).sum(axis=1))[some].sum()))
        words.append(int(some.sum()))
    return ratio(DEPARTURE, "of forced decoding", distances, words)


def perplexity(nll_per_word: float) -> float:
    """Returns exp of the negative log-likelihood per word; infinity if that overflows."""
    try:
        return math.exp(nll_per_word)
    except OverflowError:
        return math.inf


def _text_statistics(
    texts: Sequence[str], references: bleu.References, options: MeasureOptions
) -> Statistics:
    lowercase = options.multi_bleu is not None and options.multi_bleu.lowercase
    found = {
        BLEU: bleu.bleu_statistics(
            texts, references, tokenise=options.tokenise, lowercase=lowercase
        ),
        CHRF: bleu.chrf_statistics(texts, references, lowercase=lowercase),
    }
    if options.multi_bleu is not None and not options.multi_bleu.unspaced:
        found[MULTI_BLEU] = multi_bleu_statistics(texts, references, options.multi_bleu)
    return found | {LENGTH_RATIO: length_ratio(found[BLEU])}


def _known_pairs(systems: Sequence[System]) -> list[int] | None:
    """Returns the indices of the pairs whose words all runs know; all systems are measured on
    these."""
    of_runs = [
        set(one.run.without_unk) for one in systems if one.run and one.run.without_unk is not None
    ]
    return sorted(set.intersection(*of_runs)) if of_runs else None


def _on_known_pairs(
    test: TestSet, system: System, whole: Statistics, known: list[int], options: MeasureOptions
) -> Statistics:
    """Returns the statistics on the known pairs, with translations in which runs may not write UNK.

    Only sentences whose translation without UNK differs are compared again.
    """
    part = {metric: replace(found, values=found.values[known]) for metric, found in whole.items()}
    texts = system.run.without_unk if system.run else None
    rows = [
        row for row, number in enumerate(known) if texts and texts[number] != system.texts[number]
    ]
    if texts and rows:
        numbers = [known[row] for row in rows]
        references = [[lines[number] for number in numbers] for lines in test.references]
        changed = [texts[number] for number in numbers], references
        for metric, found in _text_statistics(*changed, options).items():
            part[metric].values[rows] = found.values
    return part


def _metrics(statistics: dict[str, Statistics]) -> list[str]:
    """Returns all metrics in the order of display."""
    found = {metric for metrics in statistics.values() for metric in metrics}
    return [metric for metric in SCORES if metric in found] + sorted(found.difference(SCORES))


def _scores(
    statistics: dict[str, Statistics],
    words: Sequence[LengthBand | None],
    options: MeasureOptions,
    pairs: str = "",
) -> list[SystemScore]:
    """Returns the scores of all systems on these lengths. Without `pairs`, NLL per sentence is left
    out: it grows with the length anyway."""
    scores = []
    for metric in _metrics(statistics):
        for system, found in statistics.items():
            if metric not in found or (metric == NLL_PER_SENTENCE and not pairs):
                continue
            one = found[metric]
            for band in words:
                chosen = None if band is None else band.chosen
                sentences = len(one) if band is None else band.sentences
                if not sentences:
                    scores.append(SystemScore(system, metric, band, 0))
                    continue
                value = one.score(chosen).value
                low, high = interval(one, chosen, samples=options.samples)
                score = SystemScore(system, metric, band, sentences, value, low, high, pairs)
                scores.append(score)
                if metric == NLL_PER_WORD and pairs:
                    value, low, high = map(perplexity, (value, low, high))
                    scores.append(
                        replace(score, metric=PERPLEXITY, value=value, low=low, high=high)
                    )
    return scores


def number_rows(measures: Measures) -> Iterator[dict[str, Any]]:
    """Yields a row for every number: column → value."""
    for table, scores in (("scores", measures.scores), ("lengths", measures.by_length)):
        for score in scores:
            row = {"table": table} | {name: getattr(score, name) for name in NUMBERS}
            if score.words is not None:
                del row["pairs"]
                row |= {"shortest": score.words.shortest, "longest": score.words.longest}
            yield row
    for comparison in measures.comparisons:
        fields = asdict(comparison)
        yield {"table": "significance", "value": fields.pop("difference"), **fields}
