"""The measures of a test set for a terminal, for spreadsheets and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.cells import cell_len

from rnnsearch.drawing.characters import pad_left, pad_right
from rnnsearch.evaluation.by_length import ScoreOfLength
from rnnsearch.evaluation.measures import (
    ALL,
    KNOWN,
    LENGTH_RATIO,
    NLL_PER_SENTENCE,
    NLL_PER_WORD,
    PERPLEXITY,
    Measures,
    SystemScore,
)
from rnnsearch.evaluation.significance import p_number

COLUMNS = (
    *(
        "table",
        "system",
        "other",
        "metric",
        "pairs",
        "shortest",
        "longest",
        "sentences",
        "value",
        "low",
        "high",
    ),
    *("p_bootstrap", "p_randomisation", "share_better"),
)
"""Of the TSV form: one row per number. table: scores, lengths, windows or significance."""


def as_text(measures: Measures) -> str:
    """Returns tables for a terminal. One system without anything else is a line per metric."""
    several = len(measures.systems) > 1
    parts = [_scores(measures, ALL) if several else _lines(measures)]
    if measures.known is not None:
        title = (
            f"Without unknown words: {len(measures.known):,} of {len(measures.test.reference):,} "
            "pairs, on which the runs may not write UNK"
        )
        parts.append(f"{title}\n\n{_scores(measures, KNOWN)}" if measures.known else title)
    parts += _length_tables("By source length in words", measures.by_length)
    parts += _length_tables("By source length in words, sliding window", measures.windows)
    if measures.comparisons:
        parts.append(_significance(measures))
    if several:
        parts.append("\n".join(f"{metric}: {signature}" for metric, signature in _signed(measures)))
    return "\n\n".join(parts)


def as_tsv(measures: Measures) -> str:
    """Returns COLUMNS, and a row for every number; a cell is empty where a column does not apply."""
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(_cell(row.get(column)) for column in COLUMNS) for row in number_rows(measures)]
    return "\n".join(lines)


def as_json(measures: Measures, about: dict[str, Any]) -> str:
    """Returns one object with everything; values that are no finite numbers are null. about: how it was
    made."""
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


def number_rows(measures: Measures) -> Iterable[dict[str, Any]]:
    """Yields a row for every number, with its COLUMNS."""
    for score in measures.scores:
        yield {"table": "scores", **asdict(score)}
    for table, points in (("lengths", measures.by_length), ("windows", measures.windows)):
        for point in points:
            yield {"table": table, **asdict(point)}
    for comparison in measures.comparisons:
        fields = asdict(comparison)
        yield {"table": "significance", "value": fields.pop("difference"), **fields}


def _signed(measures: Measures) -> list[tuple[str, str]]:
    return [each for each in measures.signatures.items() if each[0] != LENGTH_RATIO]


def _lines(measures: Measures) -> str:
    """Returns a line per metric, with its signature: `BLEU 25.75 (nrefs:1|…)`."""
    scores = {score.metric: score for score in measures.scores if score.pairs == ALL}
    lines = [f"{metric} {scores[metric].value:.2f} ({signature})" for metric, signature in _signed(measures)]
    of_network = [metric for metric in (NLL_PER_SENTENCE, NLL_PER_WORD, PERPLEXITY) if metric in scores]
    return "\n".join([*lines, *(f"{metric} {_number(scores[metric])}" for metric in of_network)])


def _scores(measures: Measures, pairs: str) -> str:
    """Returns a row per system, a column per metric."""
    metrics = list(dict.fromkeys(score.metric for score in measures.scores if score.pairs == pairs))
    rows = [
        [system.name, *(_number(measures.score(system.name, metric, pairs)) for metric in metrics)]
        for system in measures.systems
    ]
    return text_table(["", *metrics], rows)


def _length_tables(title: str, points: Sequence[ScoreOfLength]) -> list[str]:
    """Returns a table per metric: a row for each range of lengths, a column for each system that has it."""
    tables = []
    for metric in dict.fromkeys(point.metric for point in points):
        columns: dict[str, list[Any]] = {}
        for point in points:
            if point.metric == metric:
                columns.setdefault(point.system, []).append(point)
        rows = [
            [
                scores[0].words,
                f"{scores[0].sentences:,}",
                *(_banded(one.value, one.low, one.high) for one in scores),
            ]
            for scores in zip(*columns.values(), strict=True)
        ]
        tables.append(
            f"{title}: {metric} [95 % bootstrap interval]\n\n{text_table(['words', 'pairs', *columns], rows)}"
        )
    return tables


def _significance(measures: Measures) -> str:
    rows = [
        [
            *(comparison.metric, comparison.system, comparison.other, f"{comparison.difference:+.2f}"),
            *(p_number(comparison.p_randomisation), p_number(comparison.p_bootstrap)),
            f"{100 * comparison.share_better:.1f} %",
        ]
        for comparison in measures.comparisons
    ]
    title = (
        "Significance: two-sided p-values, and the share of bootstrap resamples in which the other "
        "system is better"
    )
    heading = ["metric", "system", "other", "difference", "p (randomisation)", "p (bootstrap)", "better"]
    return f"{title}\n\n{text_table(heading, rows)}"


def _number(score: SystemScore | None) -> str:
    if score is None:
        return ""
    return f"{score.value:.3f}" if score.metric in (LENGTH_RATIO, NLL_PER_WORD) else f"{score.value:.2f}"


def _banded(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "–"
    band = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.2f}{band}"


def text_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Writes columns two spaces apart, numbers to the right: a column of words is one whose first cell begins
    with a letter."""
    widths = [max(cell_len(row[column]) for row in (heading, *rows)) for column in range(len(heading))]
    words = [column == 0 or rows[0][column][:1].isalpha() for column in range(len(heading))]
    return "\n".join(
        "  ".join(
            (pad_right if left else pad_left)(cell, width)
            for cell, width, left in zip(row, widths, words, strict=True)
        ).rstrip()
        for row in (heading, *rows)
    )


def _cell(value: Any) -> str:
    return (
        "" if value is None else f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
