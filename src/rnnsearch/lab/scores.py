"""Scores of `evaluate` and `aer`, of translations and of word links, as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import alignment_error
from rnnsearch.lab.gold_checks import (
    require_same_start,
    require_words,
    warn_if_beyond,
    warn_if_misread,
)
from rnnsearch.lab.link_measures import agreement, alignment_statistics, monotone
from rnnsearch.lab.measures import ALL, Measures, Statistics, SystemScore, number_rows
from rnnsearch.lab.metrics import AER, LENGTH_RATIO, SCORES
from rnnsearch.lab.page import Rows, Table, as_text, columns, finite
from rnnsearch.lab.significance import comparisons, interval
from rnnsearch.lab.tables import (
    difference_table,
    links_table,
    percent_interval,
    points_of,
    score_table,
    signatures,
    vocabulary_notes,
)
from rnnsearch.text.formats.links import parse_gold_links, read_link_lines
from rnnsearch.word_links import GoldLinks, Link

LinkFiles = Mapping[str, Sequence[set[Link]]]
"""Name of a link file → the links of each sentence."""


def measures_text(measures: Measures) -> str:
    """Returns tables for a terminal; for a single system, one line per metric with its
    signature."""
    several = len(measures.systems) > 1
    parts = [] if several else ["\n".join(_lines(measures))]
    if several or measures.known:
        parts.append("\n\n".join([as_text(score_table(measures)), *vocabulary_notes(measures)]))
    if measures.known is not None:
        pairs = f"{len(measures.known):,} of {len(measures.test.reference):,}"
        parts.append(f"Without unknown words: {pairs} pairs, on which the runs may not write UNK")
    for metric in dict.fromkeys(point.metric for point in measures.by_length):
        table = _length_table(points_of(measures, metric))
        heading = f"By source length in words: {metric} [95 % bootstrap interval]"
        parts.append(f"{heading}\n\n{as_text(table)}")
    names = list(measures.statistics)
    for metric in dict.fromkeys(each.metric for each in measures.comparisons):
        tested = [each for each in measures.comparisons if each.metric == metric]
        table = difference_table(tested, names, metric)
        parts.append(f"{table.caption} (p: approximate randomisation)\n\n{as_text(table)}")
    if several:
        parts.append("\n".join(signatures(measures)))
    return "\n\n".join(parts)


def _lines(measures: Measures) -> Iterator[str]:
    signed = measures.signatures
    for score in measures.scores:
        if score.pairs == ALL and score.metric in SCORES and score.metric != LENGTH_RATIO:
            signature = f" ({signed[score.metric]})" if score.metric in signed else ""
            yield f"{score.metric} {score.value:.{SCORES[score.metric].digits}f}{signature}"


def _length_table(points: Mapping[str, Sequence[SystemScore]]) -> Table:
    """Returns a row for each range of lengths, and a column for each system."""
    rows: Rows = []
    for scores in zip(*points.values(), strict=True):
        shown = (
            None if one.value is None else f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"
            for one in scores
        )
        rows.append([str(scores[0].words), scores[0].sentences, *shown])
    return Table("", "", columns("words", "pairs", *points), rows)


def measures_json(measures: Measures, about: dict[str, Any]) -> str:
    """Returns one JSON object with all measures; values that are not finite are null. about:
    further keys, which say how it was made."""
    systems = [
        {"name": one.name, "run": one.run and str(one.run.run.path)} for one in measures.systems
    ]
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


def read_links(
    names: Sequence[str], gold: Sequence[GoldLinks], swapped: bool = False, gold_file: str = ""
) -> LinkFiles:
    """Reads link files. swapped: whether they have target-source. gold_file: if given, all links
    must count from the same position. Raises InputError as `read_pharaoh`, `alignment_error` and
    `require_same_start` do, and warns as `warn_if_misread` and `warn_if_beyond` do."""
    if len(set(names)) < len(names):
        raise InputError("the same link file is given twice", "give each file once")
    systems = {}
    for name in names:
        lines = list(read_link_lines(name))  # once: it may be a pipe
        links = [set(parse_gold_links(line, name, n).possible) for n, line in enumerate(lines, 1)]
        if gold_file:
            require_same_start(gold, gold_file, links, name)
        links = [{link[::-1] for link in sentence} for sentence in links] if swapped else links
        try:
            alignment_error(links, gold)
        except InputError as error:
            raise InputError(str(error), file=name) from None
        if not swapped:
            require_words(gold, _words(lines), name)
        warn_if_misread(links, gold, name, "" if swapped or names[1:] else "--links-reversed")
        warn_if_beyond(links, gold, name)
        systems[name] = links
    return systems


def _words(lines: Iterable[str]) -> Iterator[Sequence[Sequence[str]]]:
    """Yields the words of both sides of each line of JSON that `align` has written; of others,
    nothing."""
    for line in lines:
        found: dict[str, Any] = json.loads(line) if line.lstrip().startswith("{") else {}
        sides = found.get("source_tokens"), found.get("tokens")
        source, target = (side if isinstance(side, list) else [] for side in sides)
        # matrices have a column for the end of the source
        yield (source[:-1] if "alignment" in found else source, target) if target else ()


def _statistics(systems: LinkFiles, gold: Sequence[GoldLinks]) -> dict[str, Statistics]:
    return {name: alignment_statistics(links, gold) for name, links in systems.items()}


def link_tables(systems: LinkFiles, gold: Sequence[GoldLinks]) -> list[Table]:
    """Returns the table of scores and, if there are any, that of differences."""
    found = _statistics(systems, gold)
    compared = comparisons({name: statistics[AER] for name, statistics in found.items()})
    tables = [links_table("aer", found, gold)]
    if compared:
        tables.append(difference_table(compared, list(found), "AER, %", 100.0))
    return tables


def links_as_text(systems: LinkFiles, gold: Sequence[GoldLinks]) -> str:
    """Returns tables, with the agreement of each pair of systems; for a single system, two
    lines."""
    if len(systems) == 1:
        ((name, links),) = systems.items()
        interval = percent_interval(_statistics(systems, gold)[name][AER])
        return f"{alignment_error(links, gold)}\n95 % bootstrap interval of AER: {interval}"
    agreements = [
        f"agreement {100 * _share(map(agreement, systems[one], systems[other])):.2f}: {one},"
        f" {other}"
        for one, other in combinations(systems, 2)
    ]
    scores, *differences = link_tables(systems, gold)
    parts = [as_text(scores), "\n".join([scores.notes[0], *agreements])]
    return "\n\n".join([*parts, *(f"{each.caption}\n\n{as_text(each)}" for each in differences)])


def links_as_json(systems: LinkFiles, gold: Sequence[GoldLinks], file: str) -> str:
    """Returns one JSON object: rates from 0 to 1, counts, the share of jumps that do not go back,
    and for each pair of systems their agreement and difference in AER. file: that of the gold
    links."""
    errors = {name: found[AER] for name, found in _statistics(systems, gold).items()}
    scores = {name: alignment_error(links, gold) for name, links in systems.items()}
    rows = [
        {"name": name, **asdict(score), "f_measure": score.f_measure()}
        | dict(zip(("aer_low", "aer_high"), interval(errors[name]), strict=True))
        | {"monotone": _share(map(monotone, systems[name]))}
        for name, score in scores.items()
    ]
    every = systems.values()
    agreements = [[_share(map(agreement, one, other)) for other in every] for one in every]
    differences = [asdict(found) for found in comparisons(errors)]
    whole = {"gold": file, "sentences": len(gold), "systems": rows}
    return json.dumps(
        whole | {"agreement": agreements, "differences": differences}, ensure_ascii=False
    )


def _share(counts: Iterable[tuple[int, int]]) -> float:
    part, of = np.sum([(0, 0), *counts], axis=0).tolist()
    return float(part / of) if of else 1.0
