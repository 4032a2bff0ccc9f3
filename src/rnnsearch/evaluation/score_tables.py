"""Measures as text, TSV and JSON: those of a test set, which `evaluate` prints, and those of link files,
which `aer` prints."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from rich.cells import cell_len

from rnnsearch.drawing.characters import pad_left, pad_right
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import (
    AlignmentScore,
    agreement,
    alignment_error,
    alignment_statistics,
    monotone,
    read_pharaoh,
    require_same_start,
)
from rnnsearch.evaluation.measures import (
    ALL,
    KNOWN,
    LENGTH_RATIO,
    NLL_PER_SENTENCE,
    NLL_PER_WORD,
    PERPLEXITY,
    Measures,
)
from rnnsearch.evaluation.statistics import Comparison, SystemScore, comparisons, p_number, p_statement
from rnnsearch.word_links import GoldLinks, Link

COLUMNS = (
    *("table", "system", "other", "metric", "pairs", "shortest", "longest", "sentences"),
    *("value", "low", "high", "p"),
)
"""Columns of the TSV form, which has one row per number. table: scores, lengths, windows or significance."""


def as_text(measures: Measures) -> str:
    """Returns tables for a terminal; for a single system, one line per metric."""
    several = len(measures.systems) > 1
    parts = [_score_table(measures, ALL) if several else _lines(measures)]
    if measures.known is not None:
        title = (
            f"Without unknown words: {len(measures.known):,} of {len(measures.test.reference):,} "
            "pairs, on which the runs may not write UNK"
        )
        parts.append(f"{title}\n\n{_score_table(measures, KNOWN)}" if measures.known else title)
    parts += _length_tables("By source length in words", measures.by_length)
    parts += _length_tables("By source length in words, sliding window", measures.windows)
    if measures.comparisons:
        parts.append(_significance_table(measures.comparisons))
    if several:
        parts.append("\n".join(f"{metric}: {signature}" for metric, signature in _signatures(measures)))
    return "\n\n".join(parts)


def as_tsv(measures: Measures) -> str:
    """Returns COLUMNS, and a row for every number; a cell is empty where a column does not apply."""
    rows = [[_cell(row.get(column)) for column in COLUMNS] for row in number_rows(measures)]
    return "\n".join("\t".join(row) for row in (COLUMNS, *rows))


def as_json(measures: Measures, about: dict[str, Any]) -> str:
    """Returns one JSON object with all measures; values that are not finite are null. about: further keys,
    which say how it was made."""
    known = None if measures.known is None else [number + 1 for number in measures.known]
    whole = about | {
        "sentences": len(measures.test.reference),
        "systems": [
            {
                "name": system.name,
                "run": None if system.run is None else str(system.run.path),
                "candidates": system.candidates,
            }
            for system in measures.systems
        ],
        "signatures": measures.signatures,
        "lines_without_unknown_words": known,
        **{table: [] for table in ("scores", "lengths", "windows", "significance")},
    }
    for row in number_rows(measures):
        whole[row.pop("table")].append({key: _finite(value) for key, value in row.items()})
    return json.dumps(whole, ensure_ascii=False)


def number_rows(measures: Measures) -> Iterator[dict[str, Any]]:
    """Yields a row for every number: column → value."""
    tables = {"scores": measures.scores, "lengths": measures.by_length, "windows": measures.windows}
    for table, scores in tables.items():
        for score in scores:
            row = {"table": table, **{name: getattr(score, name) for name in COLUMNS if hasattr(score, name)}}
            words = score.words
            if words is not None:
                del row["pairs"]
                row |= {"shortest": words.shortest, "longest": words.longest}
            yield row
    for comparison in measures.comparisons:
        fields = asdict(comparison)
        yield {"table": "significance", "value": fields.pop("difference"), **fields}


def _signatures(measures: Measures) -> list[tuple[str, str]]:
    return [each for each in measures.signatures.items() if each[0] != LENGTH_RATIO]


def _lines(measures: Measures) -> str:
    """Returns a line per metric, with its signature: `BLEU 25.75 (nrefs:1|…)`."""
    scores = {score.metric: score for score in measures.scores if score.pairs == ALL}
    lines = [
        f"{metric} {scores[metric].value:.2f} ({signature})" for metric, signature in _signatures(measures)
    ]
    of_network = [metric for metric in (NLL_PER_SENTENCE, NLL_PER_WORD, PERPLEXITY) if metric in scores]
    return "\n".join([*lines, *(f"{metric} {_number(scores[metric])}" for metric in of_network)])


def _score_table(measures: Measures, pairs: str) -> str:
    """Returns a row per system, a column per metric."""
    metrics = list(dict.fromkeys(score.metric for score in measures.scores if score.pairs == pairs))
    rows = [
        [system.name, *(_number(measures.score(system.name, metric, pairs)) for metric in metrics)]
        for system in measures.systems
    ]
    return text_table(["", *metrics], rows)


def _length_tables(title: str, points: Sequence[SystemScore]) -> Iterator[str]:
    """Yields a table per metric: a row for each range of lengths, a column for each system."""
    for metric in dict.fromkeys(point.metric for point in points):
        columns: dict[str, list[SystemScore]] = {}
        for point in points:
            if point.metric == metric:
                columns.setdefault(point.system, []).append(point)
        rows = [
            [str(scores[0].words), f"{scores[0].sentences:,}", *map(_with_interval, scores)]
            for scores in zip(*columns.values(), strict=True)
        ]
        table = text_table(["words", "pairs", *columns], rows)
        yield f"{title}: {metric} [95 % bootstrap interval]\n\n{table}"


def _significance_table(found: Sequence[Comparison]) -> str:
    rows = [
        [
            *(each.metric, each.system, each.other, f"{each.difference:+.2f}"),
            *(f"[{each.low:+.2f}, {each.high:+.2f}]", p_number(each.p)),
        ]
        for each in found
    ]
    title = (
        "Significance: other − system [95 % bootstrap interval], and the two-sided p by approximate "
        "randomisation"
    )
    heading = ["metric", "system", "other", "difference", "interval", "p"]
    return f"{title}\n\n{text_table(heading, rows)}"


def _number(score: SystemScore | None) -> str:
    if score is None:
        return ""
    return f"{score.value:.3f}" if score.metric in (LENGTH_RATIO, NLL_PER_WORD) else f"{score.value:.2f}"


def _with_interval(score: SystemScore) -> str:
    if score.value is None:
        return "–"
    return f"{score.value:.2f}" + ("" if score.low is None else f" [{score.low:.2f}, {score.high:.2f}]")


def text_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table with two spaces between columns. Numbers are aligned right; a column whose first cell
    begins with a letter holds words."""
    columns = []
    for place, column in enumerate(zip(heading, *rows, strict=True)):
        pad = pad_right if place == 0 or rows[0][place][:1].isalpha() else pad_left
        width = max(map(cell_len, column))
        columns.append([pad(cell, width) for cell in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else " ".join(str(value).split())


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


class ScoredLinks(NamedTuple):
    """A link file: its name, its links and their score."""

    name: str
    links: list[set[Link]]
    score: AlignmentScore


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
            systems.append(ScoredLinks(name, links, alignment_error(links, gold)))
        except InputError as error:
            raise InputError(str(error), file=name) from None
    return systems


def link_differences(systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks]) -> list[Comparison]:
    """Compares the alignment error rates of each pair of systems. Returns none if there are no sure links,
    because a system may then have no error rate."""
    if not any(reference.sure for reference in gold):
        return []
    return comparisons({system.name: alignment_statistics(system.links, gold)["aer"] for system in systems})


def links_as_text(systems: Sequence[ScoredLinks], differences: Sequence[Comparison], alpha: float) -> str:
    """Returns one line for a single system; for several, a table, the agreement of each pair, and their
    differences with p-values."""
    score = systems[0].score
    if len(systems) == 1 and alpha == 0.5:
        return str(score)
    rows = []
    for name, _, each in systems:
        rates = (each.aer, each.precision, each.recall, each.f_measure(alpha))
        rows.append([name, *(f"{100 * rate:.2f}" for rate in rates), f"{each.links:,}"])
    lines = [
        text_table(["system", "AER", "precision", "recall", f"F({alpha:g})", "links"], rows),
        f"gold: {score.sure:,} sure and {score.possible:,} possible links, the sure ones among them",
    ]
    for one, other in combinations(systems, 2):
        lines.append(f"agreement {100 * _agreement(one, other):.2f}: {one.name}, {other.name}")
    for found in differences:
        lines.append(
            f"difference {100 * found.difference:+.2f} ({p_statement(found.p)}): AER of "
            f"{found.other} - {found.system}"
        )
    return "\n".join(lines)


def links_as_json(
    systems: Sequence[ScoredLinks], differences: Sequence[Comparison], gold: str, alpha: float
) -> str:
    """Returns one JSON object: rates from 0 to 1, counts, the share of jumps that do not go back, and for
    each pair of systems their agreement and difference in AER."""
    whole = {
        "gold": gold,
        "sentences": len(systems[0].links),
        "alpha": alpha,
        "systems": [
            {"name": name, **_rates(score, alpha), "monotone": round(_share(map(monotone, links)), 6)}
            for name, links, score in systems
        ],
        "agreement": [[round(_agreement(one, other), 6) for other in systems] for one in systems],
        "differences": [
            {
                "system": found.system,
                "other": found.other,
                "aer": round(found.difference, 6),
                "p": found.p,
            }
            for found in differences
        ],
    }
    return json.dumps(whole, ensure_ascii=False)


def links_by_sentence(systems: Sequence[ScoredLinks], gold: Sequence[GoldLinks]) -> Iterator[str]:
    """Yields lines of TSV, one for each sentence of each system. A rate whose denominator is 0 is 1, an error
    rate 0."""
    rows = [
        (name, number, _rates(alignment_error([found], [reference]), 0.5))
        for name, links, _ in systems
        for number, (found, reference) in enumerate(zip(links, gold, strict=True), 1)
    ]
    yield "\t".join(["system", "sentence", *rows[0][2]])
    for name, number, rates in rows:
        yield "\t".join([name, str(number), *(f"{rate:g}" for rate in rates.values())])


def _rates(score: AlignmentScore, alpha: float) -> dict[str, float]:
    rates = {
        "aer": score.aer,
        "precision": score.precision,
        "recall": score.recall,
        "f_measure": score.f_measure(alpha),
    }
    counts = {"links": score.links, "sure": score.sure, "possible": score.possible}
    return {name: round(rate, 6) for name, rate in rates.items()} | counts


def _agreement(one: ScoredLinks, other: ScoredLinks) -> float:
    return _share(map(agreement, one.links, other.links))


def _share(counts: Iterable[tuple[int, int]]) -> float:
    part, of = np.sum([(0, 0), *counts], axis=0).tolist()
    return float(part / of) if of else 1.0
