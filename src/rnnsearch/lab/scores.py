"""Measures as tables: Table 1, tests of significance, word links against gold links; as text and JSON, for
`evaluate` and `aer`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import (
    AlignmentScore,
    agreement,
    alignment_error,
    alignment_statistics,
    monotone,
    read_pharaoh,
    require_same_start,
    warn_if_exchanged,
)
from rnnsearch.evaluation.statistics import SufficientStatistics
from rnnsearch.lab.measures import (
    AER,
    ALL,
    BLEU,
    CHRF,
    KNOWN,
    LENGTH_RATIO,
    MULTI_BLEU,
    NLL_PER_SENTENCE,
    NLL_PER_WORD,
    OF_TEXTS,
    PERPLEXITY,
    Measures,
    Statistics,
    SystemScore,
)
from rnnsearch.lab.page import Column, Table, Value, as_text, columns, finite
from rnnsearch.lab.significance import TRIALS, Comparison, comparisons, p_statement
from rnnsearch.word_links import GoldLinks, Link

NUMBER_COLUMNS = (
    *("table", "system", "other", "metric", "pairs", "shortest", "longest", "sentences"),
    *("value", "low", "high", "p"),
)
"""Columns of the file with one row per number. table: scores, lengths or significance."""
COLUMNS = (
    (Column(BLEU, ".2f", best="highest"), BLEU, ALL),
    (Column("BLEU, No UNK", ".2f", best="highest"), BLEU, KNOWN),
    (Column(MULTI_BLEU, ".2f", best="highest"), MULTI_BLEU, ALL),
    (Column("multi-BLEU, No UNK", ".2f", best="highest"), MULTI_BLEU, KNOWN),
    (Column(CHRF, ".2f", best="highest"), CHRF, ALL),
    (Column("Length ratio", ".3f"), LENGTH_RATIO, ALL),
    (Column(NLL_PER_SENTENCE, ".2f", best="lowest"), NLL_PER_SENTENCE, ALL),
    (Column(NLL_PER_WORD, ".3f", best="lowest"), NLL_PER_WORD, ALL),
    (Column("Perplexity", ".2f", best="lowest"), PERPLEXITY, ALL),
)
"""(column, metric, pairs) of Table 1, which has the interval of BLEU, too."""
SIGNIFICANT = 0.05

Points = dict[str, list[SystemScore]]
"""System → its scores by length."""


def signatures(measures: Measures, metrics: Sequence[str] = OF_TEXTS) -> list[str]:
    """Returns `metric: signature` for each of these metrics that has a signature."""
    signed = measures.signatures
    return [f"{metric}: {signed[metric]}" for metric in metrics if metric in signed]


def score_table(measures: Measures, prefix: str = "") -> Table:
    """Returns Table 1: a row for each system."""
    names = [system.name for system in measures.systems]
    cells: dict[Column, list[Value]] = {}
    for column, metric, pairs in COLUMNS:
        scores = [measures.score(name, metric, pairs) for name in names]
        if any(scores):
            cells[column] = [None if one is None else one.value for one in scores]
            if column.name == BLEU:
                cells[Column("95 % interval")] = [None if one is None else one.interval for one in scores]
    return Table(
        f"{prefix}table-1",
        f"Table 1. Scores on {measures.test.name}, {len(measures.test.source):,} sentences",
        [Column("System"), *cells],
        list(zip(names, *cells.values(), strict=True)),
        list(_notes(measures)),
        signatures(measures),
        latex=True,
    )


def _notes(measures: Measures) -> Iterator[str]:
    runs = [system.run for system in measures.systems if system.run is not None]
    yield "BLEU is sacreBLEU's, cased, on detokenised text; the interval is from the bootstrap."
    if MULTI_BLEU in measures.signatures:
        yield "multi-BLEU is that of Moses's multi-bleu.perl on tokenised text, as in the paper."
    if measures.known:
        yield (
            f"No UNK: only the {len(measures.known):,} pairs whose words, in source and reference, "
            "all of our runs know. On these pairs our runs may not write UNK. All systems are scored on the "
            "same pairs."
        )
    elif runs:
        yield "Every pair has an unknown word, so there are no columns for pairs without one."
    vocabularies = [run.target.vocabulary for run in runs]
    if any(vocabulary != vocabularies[0] for vocabulary in vocabularies):
        yield (
            "The runs write in different vocabularies: their NLL per word and perplexity cannot be compared."
        )


def difference_table(
    comparisons: Sequence[Comparison], names: Sequence[str], metric: str, factor: float = 1.0
) -> Table:
    """Returns the differences of all pairs of systems by one metric, row minus column, with p-values. factor:
    multiplies the differences."""
    cells: dict[tuple[str, str], str] = {}
    for each in comparisons:
        star = "*" if each.p < SIGNIFICANT else ""
        for pair, sign in (((each.other, each.system), factor), ((each.system, each.other), -factor)):
            shown = f"{sign * each.difference:+.2f}{star} ({p_statement(each.p)})"
            cells[pair] = shown.replace("-", "−")
    note = (
        f"p: approximate randomisation (Riezler and Maxwell 2005), two-sided, {TRIALS:,} trials. * marks "
        f"p < {SIGNIFICANT}. p is not corrected for the number of comparisons."
    )
    return Table(
        "significance",
        f"Differences in {metric}, the row's system minus the column's",
        columns("System", *names),
        [[name, *(cells.get((name, other)) for other in names)] for name in names],
        [note],
        latex=True,
    )


def links_table(name: str, systems: Mapping[str, Statistics], gold: Sequence[GoldLinks]) -> Table:
    """Returns a row for each system, with the statistics of its AER, precision and recall (0 to 1)."""
    rows: list[list[Value]] = []
    for system, found in systems.items():
        aer, precision, recall = (100 * found[rate].score().value for rate in (AER, "precision", "recall"))
        f = 2 * precision * recall / ((precision + recall) or 1.0)
        links = int(found["precision"].values[:, 1].sum())
        rows.append([system, aer, _interval(found[AER]), precision, recall, f, links])
    note = (
        f"Gold links: {sum(len(each.sure) for each in gold):,} sure, "
        f"{sum(len(each.possible) for each in gold):,} possible with the sure ones; AER as Och and Ney "
        "(2003) define it. The interval is from the bootstrap of the sentences."
    )
    heads = [
        *(Column("System"), Column("AER, %", ".2f", "lowest"), Column("95 % interval")),
        *(Column(rate, ".2f", "highest") for rate in ("Precision, %", "Recall, %", "F, %")),
        Column("Links"),
    ]
    return Table(name, "Alignment error rate on the references", heads, rows, [note], latex=True)


def _interval(errors: SufficientStatistics) -> str:
    """Returns the bootstrap interval of an error rate, in percent."""
    low, high = errors.interval()
    return f"{100 * low:.2f}–{100 * high:.2f}"


def measures_text(measures: Measures) -> str:
    """Returns tables for a terminal; for a single system, one line per metric with its signature."""
    several = len(measures.systems) > 1
    parts = [] if several else ["\n".join(_lines(measures))]
    if several or measures.known:
        parts.append(as_text(score_table(measures)))
    if measures.known is not None:
        pairs = f"{len(measures.known):,} of {len(measures.test.reference):,}"
        parts.append(f"Without unknown words: {pairs} pairs, on which the runs may not write UNK")
    for metric in dict.fromkeys(point.metric for point in measures.by_length):
        table = _length_table(points_of(measures, metric))
        heading = f"By source length in words: {metric} [95 % bootstrap interval]"
        parts.append(f"{heading}\n\n{as_text(table)}")
    names = [system.name for system in measures.systems]
    for metric in dict.fromkeys(each.metric for each in measures.comparisons):
        tested = [each for each in measures.comparisons if each.metric == metric]
        table = difference_table(tested, names, metric)
        parts.append(f"{table.caption} (p: approximate randomisation)\n\n{as_text(table)}")
    if several:
        parts.append("\n".join(signatures(measures)))
    return "\n\n".join(parts)


def _lines(measures: Measures) -> Iterator[str]:
    for score in measures.scores:
        if score.pairs == ALL and score.metric in OF_TEXTS:
            yield f"{score.metric} {score.value:.2f} ({measures.signatures[score.metric]})"
        elif score.pairs == ALL and score.metric in (NLL_PER_SENTENCE, NLL_PER_WORD, PERPLEXITY):
            yield f"{score.metric} {score.value:.{3 if score.metric == NLL_PER_WORD else 2}f}"


def _length_table(points: Points) -> Table:
    """Returns a row for each range of lengths, and a column for each system."""
    rows: list[list[Value]] = []
    for scores in zip(*points.values(), strict=True):
        shown = (
            None if one.value is None else f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"
            for one in scores
        )
        rows.append([str(scores[0].words), scores[0].sentences, *shown])
    return Table("", "", columns("words", "pairs", *points), rows)


def points_of(measures: Measures, metric: str) -> Points:
    """Returns the scores by length of one metric."""
    points: Points = {}
    for one in measures.by_length:
        if one.metric == metric:
            points.setdefault(one.system, []).append(one)
    return points


def measures_json(measures: Measures, about: dict[str, Any]) -> str:
    """Returns one JSON object with all measures; values that are not finite are null. about: further keys,
    which say how it was made."""
    systems = [{"name": one.name, "run": one.run and str(one.run.path)} for one in measures.systems]
    known = None if measures.known is None else [number + 1 for number in measures.known]
    whole = about | {
        "sentences": len(measures.test.reference),
        "systems": systems,
        "signatures": measures.signatures,
        "lines_without_unknown_words": known,
        **{table: [] for table in ("scores", "lengths", "significance")},
    }
    for row in number_rows(measures):
        table = row.pop("table")
        whole[table].append({key: finite(value) for key, value in row.items()})
    return json.dumps(whole, ensure_ascii=False)


def number_rows(measures: Measures) -> Iterator[dict[str, Any]]:
    """Yields a row for every number: column → value."""
    for table, scores in (("scores", measures.scores), ("lengths", measures.by_length)):
        for score in scores:
            columns = [name for name in NUMBER_COLUMNS if hasattr(score, name)]
            row = {"table": table, **{name: getattr(score, name) for name in columns}}
            words = score.words
            if words is not None:
                del row["pairs"]
                row |= {"shortest": words.shortest, "longest": words.longest}
            yield row
    for comparison in measures.comparisons:
        fields = asdict(comparison)
        yield {"table": "significance", "value": fields.pop("difference"), **fields}


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
    `require_same_start` do, and warns as `warn_if_exchanged` does."""
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
        warn_if_exchanged(links, gold, name, "" if swapped or names[1:] else "--links-reversed")
        systems.append(ScoredLinks(name, links, score, alignment_statistics(links, gold)))
    return systems


def link_tables(systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks]) -> list[Table]:
    """Returns the table of scores and, if there are any, that of differences."""
    found, compared = {system.name: system.statistics for system in systems}, _differences(systems)
    tables = [links_table("aer", found, gold)]
    return [*tables, difference_table(compared, list(found), "AER, %", 100.0)] if compared else tables


def links_as_text(systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks]) -> str:
    """Returns tables, with the agreement of each pair of systems; for a single system, two lines."""
    if len(systems) == 1:
        interval = _interval(systems[0].statistics[AER])
        return f"{systems[0].score}\n95 % bootstrap interval of AER: {interval}"
    agreements = [
        f"agreement {100 * _agreement(one, other):.2f}: {one.name}, {other.name}"
        for one, other in combinations(systems, 2)
    ]
    scores, *differences = link_tables(systems, gold)
    parts = [as_text(scores), "\n".join([scores.notes[0], *agreements])]
    return "\n\n".join([*parts, *(f"{each.caption}\n\n{as_text(each)}" for each in differences)])


def links_as_json(systems: Sequence[ScoredLinks], gold: str) -> str:
    """Returns one JSON object: rates from 0 to 1, counts, the share of jumps that do not go back, and for
    each pair of systems their agreement and difference in AER. gold: the name of the file."""
    rows = [
        {"name": one.name, **asdict(one.score), "f_measure": one.score.f_measure()}
        | dict(zip(("aer_low", "aer_high"), one.statistics[AER].interval(), strict=True))
        | {"monotone": _share(map(monotone, one.links))}
        for one in systems
    ]
    agreements = [[_agreement(one, other) for other in systems] for one in systems]
    differences = [asdict(found) for found in _differences(systems)]
    whole = {"gold": gold, "sentences": len(systems[0].links), "systems": rows}
    return json.dumps(whole | {"agreement": agreements, "differences": differences}, ensure_ascii=False)


def _differences(systems: Sequence[ScoredLinks]) -> list[Comparison]:
    """Compares the alignment error rates of each pair of systems."""
    return comparisons({system.name: system.statistics[AER] for system in systems})


def _agreement(one: ScoredLinks, other: ScoredLinks) -> float:
    return _share(map(agreement, one.links, other.links))


def _share(counts: Iterable[tuple[int, int]]) -> float:
    part, of = np.sum([(0, 0), *counts], axis=0).tolist()
    return float(part / of) if of else 1.0
