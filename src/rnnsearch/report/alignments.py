"""Alignments of given pairs: their measures as a table, and a page to browse them (one HTML file that works
offline). Link files against gold links, for `aer`."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rnnsearch.drawing.alignments import Panel, matrix_of
from rnnsearch.drawing.page import render
from rnnsearch.drawing.tables import Table, as_text
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import (
    LEFT_OUT,
    TOO_OFTEN,
    AlignmentScore,
    Behaviour,
    agreement,
    alignment_error,
    alignment_statistics,
    behaviour,
    monotone,
    read_pharaoh,
    require_same_start,
    shares,
    summed,
)
from rnnsearch.evaluation.measures import AER, Statistics
from rnnsearch.evaluation.statistics import Comparison, comparisons
from rnnsearch.report.scores import difference_table, links_table
from rnnsearch.translation.aligner import Aligned
from rnnsearch.word_links import GoldLinks, Link, hard_links


class Measure(NamedTuple):
    """A measure on the page: its name and its meaning."""

    name: str
    meaning: str


MEASURES = {
    "source_words": Measure("source words", "Words of the source sentence, without its end."),
    "target_words": Measure("target words", "Words of the target sentence, without its end."),
    "log_probability": Measure(
        "log p per word",
        "Log-probability of the target sentence per word, its end included, in nats; 0 is the best.",
    ),
    "aer": Measure(
        "AER",
        "Alignment error rate, 1 − (|A∩S| + |A∩P|) / (|A| + |S|), of the links A, sure S and possible P; 0 "
        "is the best.",
    ),
    "precision": Measure(
        "precision", "Share of the links that are possible gold links (sure ones are possible, too)."
    ),
    "recall": Measure("recall", "Share of the sure gold links that were found."),
    "entropy": Measure(
        "entropy",
        "Mean entropy of the weights of a target word, in nats; 0 if every word attends to one source word "
        "alone.",
    ),
    "under_translated": Measure(
        "under-translated", f"Share of the source words whose weights sum to less than {LEFT_OUT}."
    ),
    "over_translated": Measure(
        "over-translated", f"Share of the source words whose weights sum to more than {TOO_OFTEN}."
    ),
    "monotone": Measure(
        "monotone",
        "Share of the steps from one linked target word to the next that do not go back in the source.",
    ),
    "agreement": Measure(
        "agreement",
        "2 |A∩B| / (|A| + |B|) of the links A and B of the two directions; 1 if they are the same.",
    ),
}
"""Measures that the page shows and sorts by, if the sentences have them."""


class PairMeasures(NamedTuple):
    """Measures of one or several pairs. log_probability: the sum over the pairs. links, gold: one entry for
    each pair."""

    behaviour: Behaviour
    log_probability: float
    links: Sequence[Sequence[Link]]
    gold: Sequence[GoldLinks]

    def values(self) -> dict[str, float]:
        """Returns the available measures by their names in MEASURES. The log-probability is per target word;
        ends of sentence count as words."""
        source_words, target_words = (self.behaviour[name][1] for name in ("under_translated", "entropy"))
        return {
            "source_words": source_words,
            "target_words": target_words,
            "log_probability": self.log_probability / (target_words + len(self.links)),
            **shares(self.behaviour),
            **_rates(self.links, self.gold),
        }


def measure_pair(aligned: Aligned, gold: GoldLinks | None) -> PairMeasures:
    """Measures one pair by its links. The agreement compares the links of the two directions."""
    counted = behaviour(aligned.result.alignment, aligned.forward_links, aligned.reverse_links)
    return PairMeasures(counted, aligned.result.score, [aligned.links], [gold] if gold else [])


def measure_together(pairs: Sequence[PairMeasures]) -> PairMeasures:
    """Combines the measures of at least one pair. Long pairs weigh more than short ones."""
    counted = summed([pair.behaviour for pair in pairs])
    links, gold = [one for pair in pairs for one in pair.links], [one for pair in pairs for one in pair.gold]
    return PairMeasures(counted, sum(pair.log_probability for pair in pairs), links, gold)


def measures_of_pairs(pairs: Sequence[PairMeasures]) -> Iterator[str]:
    """Yields lines of TSV: the columns' names, a line for each pair, and `all`. A measure that a pair lacks
    is left empty."""
    yield "\t".join(["pair", *MEASURES])
    rows = [(str(number), pair) for number, pair in enumerate(pairs, 1)]
    for name, pair in [*rows, ("all", measure_together(pairs))] if pairs else []:
        values = pair.values()
        cells = (f"{values[one]:.5f}".rstrip("0").rstrip(".") if one in values else "" for one in MEASURES)
        yield "\t".join([name, *cells])


def panels(aligned: Aligned, titles: Sequence[str]) -> list[Panel]:
    """Returns the pictures of a pair: the run, the reverse run (transposed), and the other runs. titles:
    their titles in this order."""
    results = [(one.source_tokens, one.tokens, one.alignment) for one in (aligned.result, *aligned.others)]
    if aligned.reverse is not None:
        reverse = aligned.reverse
        results.insert(1, (reverse.tokens, reverse.source_tokens[:-1], reverse.alignment[:, :-1].T))
    return [Panel(title, *result) for title, result in zip(titles, results, strict=True)]


class BrowsedRun(NamedTuple):
    """One run's alignment of a sentence. links: made from its weights. measures: key of MEASURES → value."""

    panel: Panel
    links: Sequence[Link]
    measures: Mapping[str, float]


class BrowsedSentence(NamedTuple):
    """A sentence of the page. number: that of the pair, from 1. runs: the page sorts by the first one."""

    number: int
    runs: Sequence[BrowsedRun]
    gold: GoldLinks | None = None


def browsed(number: int, aligned: Aligned, titles: Sequence[str], gold: GoldLinks | None) -> BrowsedSentence:
    """Returns a pair as the page shows it. The first run shows the combined links, the others their own."""
    pictures = panels(aligned, titles)
    runs = [BrowsedRun(pictures.pop(0), aligned.links, measure_pair(aligned, gold).values())]
    if aligned.reverse is not None and aligned.reverse_links is not None:
        rates = _rates([aligned.reverse_links], [gold] if gold else [])
        runs.append(BrowsedRun(pictures.pop(0), aligned.reverse_links, rates))
    for picture, result in zip(pictures, aligned.others, strict=True):
        links = hard_links(result.alignment)
        runs.append(BrowsedRun(picture, links, measure_pair(Aligned(result, links, links), gold).values()))
    return BrowsedSentence(number, runs, gold)


def alignment_page(sentences: Sequence[BrowsedSentence], title: str, note: str = "") -> str:
    """Returns the page: a list of sentences that can be sorted and searched, and the matrices of one
    sentence.

    A page of a thousand sentences of 25 words has about a megabyte.
    Raises InputError as `alignment_figure` does.
    """
    used = {name for sentence in sentences for run in sentence.runs for name in run.measures}
    names = {key: measure.name for key, measure in MEASURES.items()}
    return render(
        "alignments.html",
        title=title,
        note=note,
        gold=any(sentence.gold is not None for sentence in sentences),
        measures=[measure for key, measure in MEASURES.items() if key in used],
        data={"measures": names, "sentences": [_sentence(sentence) for sentence in sentences]},
    )


def _sentence(sentence: BrowsedSentence) -> dict[str, Any]:
    gold = sentence.gold
    known = gold and {"sure": sorted(gold.sure), "possible": sorted(gold.possible - gold.sure)}
    return {"number": sentence.number, "gold": known, "runs": [_run(run, gold) for run in sentence.runs]}


def _run(run: BrowsedRun, gold: GoldLinks | None) -> dict[str, Any]:
    panel = run.panel
    weights = np.nan_to_num(matrix_of(panel.source_tokens, panel.target_tokens, panel.weights, gold))
    shades = np.rint(np.clip(weights, 0.0, 1.0) * 255).astype(np.uint8)
    return {
        "title": panel.title,
        "source": list(panel.source_tokens),
        "target": list(panel.target_tokens),
        "weights": b64encode(shades.tobytes()).decode("ascii"),
        "links": sorted(run.links),
        "measures": {name: round(float(run.measures[name]), 4) for name in MEASURES if name in run.measures},
    }


def _rates(links: Sequence[Sequence[Link]], gold: Sequence[GoldLinks]) -> dict[str, float]:
    if not gold:
        return {}
    score = alignment_error(links, gold)
    return {"aer": score.aer, "precision": score.precision, "recall": score.recall}


class ScoredLinks(NamedTuple):
    """A link file: its name, its links, their score, and its statistics."""

    name: str
    links: list[set[Link]]
    score: AlignmentScore
    statistics: Statistics


def read_links(
    names: Sequence[str], gold: Sequence[GoldLinks], swapped: bool = False, gold_file: str = ""
) -> list[ScoredLinks]:
    """Reads and scores link files. swapped: whether the files have target-source. gold_file: if given, all
    links must count from the same position. Raises InputError as `read_pharaoh`, `alignment_error` and
    `require_same_start` do."""
    if len(set(names)) < len(names):
        raise InputError("the same link file is given twice", remedy="give each file once")
    systems = []
    for name in names:
        links = read_pharaoh(name)
        if gold_file:
            require_same_start(gold, gold_file, links)
        links = [{link[::-1] for link in sentence} for sentence in links] if swapped else links
        try:
            score = alignment_error(links, gold)
        except InputError as error:
            raise InputError(str(error), file=name) from None
        systems.append(ScoredLinks(name, links, score, alignment_statistics(links, gold)))
    return systems


def link_differences(systems: Sequence[ScoredLinks]) -> list[Comparison]:
    """Compares the alignment error rates of each pair of systems."""
    return comparisons({system.name: system.statistics[AER] for system in systems})


def link_tables(
    systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks], differences: Sequence[Comparison], alpha: float
) -> list[Table]:
    """Returns the table of scores and, if there are any, that of differences."""
    found = {system.name: system.statistics for system in systems}
    tables = [links_table("aer", found, gold, alpha=alpha)]
    return [*tables, difference_table(differences, list(found), "AER, %", 100.0)] if differences else tables


def links_as_text(tables: Sequence[Table], systems: Sequence[ScoredLinks], alpha: float) -> str:
    """Returns tables, with the agreement of each pair of systems; for a single system, two lines."""
    if len(systems) == 1 and alpha == 0.5:
        low, high = (100 * value for value in systems[0].statistics[AER].interval())
        return f"{systems[0].score}\n95 % bootstrap interval of AER: {low:.2f}–{high:.2f}"
    agreements = [
        f"agreement {100 * _agreement(one, other):.2f}: {one.name}, {other.name}"
        for one, other in combinations(systems, 2)
    ]
    scores, *differences = tables
    parts = [as_text(scores), "\n".join([scores.notes[0], *agreements])]
    return "\n\n".join([*parts, *(f"{each.caption}\n\n{as_text(each)}" for each in differences)])


def links_as_json(
    systems: Sequence[ScoredLinks], differences: Sequence[Comparison], gold: str, alpha: float
) -> str:
    """Returns one JSON object: rates from 0 to 1, counts, the share of jumps that do not go back, and for
    each pair of systems their agreement and difference in AER."""
    whole = {
        "gold": gold,
        "sentences": len(systems[0].links),
        "alpha": alpha,
        "systems": [_as_dict(system, alpha) for system in systems],
        "agreement": [[round(_agreement(one, other), 6) for other in systems] for one in systems],
        "differences": [
            {"system": found.system, "other": found.other, "aer": round(found.difference, 6)}
            | {"low": round(found.low, 6), "high": round(found.high, 6), "p": found.p}
            for found in differences
        ],
    }
    return json.dumps(whole, ensure_ascii=False)


def _as_dict(system: ScoredLinks, alpha: float) -> dict[str, Any]:
    low, high = system.statistics[AER].interval()
    interval = {"aer_low": round(low, 6), "aer_high": round(high, 6)}
    straight = round(_share(map(monotone, system.links)), 6)
    return {"name": system.name, **_counted(system.score, alpha), **interval, "monotone": straight}


def links_by_sentence(systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks]) -> Iterator[str]:
    """Yields lines of TSV, one for each sentence of each system. A rate whose denominator is 0 is 1, an error
    rate 0."""
    rows = [
        (system.name, number, _counted(alignment_error([found], [reference]), 0.5))
        for system in systems
        for number, (found, reference) in enumerate(zip(system.links, gold, strict=True), 1)
    ]
    yield "\t".join(["system", "sentence", *rows[0][2]])
    for name, number, rates in rows:
        yield "\t".join([name, str(number), *(f"{rate:g}" for rate in rates.values())])


def _counted(score: AlignmentScore, alpha: float) -> dict[str, float]:
    rates = {"aer": score.aer, "precision": score.precision, "recall": score.recall}
    rates["f_measure"] = score.f_measure(alpha)
    counts = {"links": score.links, "sure": score.sure, "possible": score.possible}
    return {name: round(rate, 6) for name, rate in rates.items()} | counts


def _agreement(one: ScoredLinks, other: ScoredLinks) -> float:
    return _share(map(agreement, one.links, other.links))


def _share(counts: Iterable[tuple[int, int]]) -> float:
    part, of = np.sum([(0, 0), *counts], axis=0).tolist()
    return float(part / of) if of else 1.0
