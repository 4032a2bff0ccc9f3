"""An evaluation for reading, for spreadsheets and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rnnsearch.drawing.characters import display_width, pad_left, pad_right
from rnnsearch.evaluation.evaluation import ALL, WITHOUT_UNKNOWN, Evaluation, LengthScore, SystemScore
from rnnsearch.evaluation.significance import p_number

COLUMNS = (
    *("table", "system", "other", "metric", "pairs", "shortest", "longest", "sentences", "value", "low", "high"),
    *("p_bootstrap", "p_randomisation", "share_better"),
)
"""Of the TSV form: one row per number. table: scores, lengths, windows or significance."""

_NLL = ("NLL per sentence", "NLL per word", "perplexity")


def as_text(evaluation: Evaluation) -> str:
    """Tables for a terminal. One system without anything else is a line per metric."""
    names = [system.name for system in evaluation.systems]
    parts = [_scores(evaluation, ALL) if len(names) > 1 else _lines(evaluation)]
    if evaluation.known is not None:
        title = f"Without unknown words: {len(evaluation.known):,} of {evaluation.sentences:,} pairs, on which the runs may not write UNK"
        parts.append(f"{title}\n\n{_scores(evaluation, WITHOUT_UNKNOWN)}" if evaluation.known else title)
    parts += _length_tables("By source length in words", evaluation.lengths, names)
    parts += _length_tables("By source length in words, sliding window", evaluation.windows, names)
    if evaluation.significance:
        parts.append(_significance(evaluation))
    if len(names) > 1:
        parts.append("\n".join(f"{metric}: {signature}" for metric, signature in _signed(evaluation)))
    return "\n\n".join(parts)


def as_tsv(evaluation: Evaluation) -> str:
    """COLUMNS, and a row for every number; a cell is empty where a column does not apply."""
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(_cell(row.get(column)) for column in COLUMNS) for row in _rows(evaluation)]
    return "\n".join(lines)


def as_json(evaluation: Evaluation, about: dict[str, Any]) -> str:
    """One object with everything; values that are no finite numbers are null. about: how it was made."""
    whole = about | {
        "sentences": evaluation.sentences,
        "systems": [
            {
                "name": system.name,
                "run": None if system.run is None else str(system.run),
                "candidates": None if system.nbest is None else sum(map(len, system.nbest)),
            }
            for system in evaluation.systems
        ],
        "signatures": evaluation.signatures,
        "lines_without_unknown_words": evaluation.known,
        **{table: [] for table in ("scores", "lengths", "windows", "significance")},
    }
    for row in _rows(evaluation):
        whole[row.pop("table")].append({key: _finite(value) for key, value in row.items()})
    return json.dumps(whole, ensure_ascii=False)


def _rows(evaluation: Evaluation) -> Iterable[dict[str, Any]]:
    for score in evaluation.scores:
        yield {"table": "scores", **asdict(score)}
    for table, points in (("lengths", evaluation.lengths), ("windows", evaluation.windows)):
        for point in points:
            yield {"table": table, "system": point.system, "metric": point.metric, **asdict(point.score)}
    for comparison in evaluation.significance:
        fields = asdict(comparison)
        yield {"table": "significance", "value": fields.pop("difference"), **fields}


def _signed(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [(metric, signature) for metric, signature in evaluation.signatures.items() if metric != "length ratio"]


def _lines(evaluation: Evaluation) -> str:
    """A line per metric, with its signature: `BLEU 25.75 (nrefs:1|…)`."""
    scores = {score.metric: score for score in evaluation.scores if score.pairs == ALL}
    lines = [f"{metric} {scores[metric].value:.2f} ({signature})" for metric, signature in _signed(evaluation)]
    return "\n".join([*lines, *(f"{metric} {_number(scores[metric])}" for metric in _NLL if metric in scores)])


def _scores(evaluation: Evaluation, pairs: str) -> str:
    """One row per system, one column per metric."""
    scores = {(score.system, score.metric): score for score in evaluation.scores if score.pairs == pairs}
    metrics = list(dict.fromkeys(metric for _, metric in scores))
    rows = [[system.name, *(_number(scores.get((system.name, metric))) for metric in metrics)] for system in evaluation.systems]
    return _table(["", *metrics], rows)


def _length_tables(title: str, points: Sequence[LengthScore], names: Sequence[str]) -> list[str]:
    """For every metric a table: a row for each range of lengths, a column for each system that has it."""
    tables = []
    for metric in dict.fromkeys(point.metric for point in points):
        mine = [point for point in points if point.metric == metric]
        columns = {name: [point.score for point in mine if point.system == name] for name in names}
        columns = {name: scores for name, scores in columns.items() if scores}
        rows = []
        for scores in zip(*columns.values(), strict=True):
            first = scores[0]
            words = f"{first.shortest}+" if first.longest is None else f"{first.shortest}–{first.longest}"
            rows.append([words, f"{first.sentences:,}", *(_banded(score.value, score.low, score.high) for score in scores)])
        tables.append(f"{title}: {metric} [95 % bootstrap interval]\n\n{_table(['words', 'pairs', *columns], rows)}")
    return tables


def _significance(evaluation: Evaluation) -> str:
    rows = [
        [
            *(comparison.metric, comparison.system, comparison.other, f"{comparison.difference:+.2f}"),
            *(p_number(comparison.p_randomisation), p_number(comparison.p_bootstrap), f"{100 * comparison.share_better:.1f} %"),
        ]
        for comparison in evaluation.significance
    ]
    title = "Significance: two-sided p-values, and the share of bootstrap resamples in which the other system is better"
    return f"{title}\n\n{_table(['metric', 'system', 'other', 'difference', 'p (randomisation)', 'p (bootstrap)', 'better'], rows)}"


def _number(score: SystemScore | None) -> str:
    if score is None:
        return ""
    return f"{score.value:.3f}" if score.metric in ("length ratio", "NLL per word") else f"{score.value:.2f}"


def _banded(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "–"
    band = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.2f}{band}"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, numbers to the right: a column of words is one whose first cell begins with a letter."""
    widths = [max(display_width(row[column]) for row in (heading, *rows)) for column in range(len(heading))]
    words = [column == 0 or rows[0][column][:1].isalpha() for column in range(len(heading))]
    return "\n".join(
        "  ".join((pad_right if left else pad_left)(cell, width) for cell, width, left in zip(row, widths, words, strict=True)).rstrip()
        for row in (heading, *rows)
    )


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
