"""What a study came to, for people: its tables, pictures and settings, as a page (index.html) and in Markdown (table.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rnnsearch.drawing.curves import FONT
from rnnsearch.drawing.document import Block, Column, Document, Paragraph, Picture, Pictures, Section, Table, Value
from rnnsearch.drawing.figures import inline_svg
from rnnsearch.drawing.page import as_html
from rnnsearch.evaluation.significance import p_statement
from rnnsearch.studies.metrics import LEARNING_METRICS, TEST_METRICS, Metric, Summary
from rnnsearch.studies.study import LONG, Plan
from rnnsearch.studies.study_figure import study_figure
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.system.files import write_text
from rnnsearch.system.version import package_version

PAGE = "index.html"
_BESIDE = {
    "report/report.html": "the report: the paper's tables and figures for these runs",
    "table.md": "this page in Markdown",
    "table.json": "all numbers",
    "table.csv": "one number per line",
    "results.csv": "one run per line",
    "figures/": "a picture for each test set",
    "translations/": "the translations",
    "runs/": "the runs",
}


def write_page(plan: Plan, out: Path, table: dict[str, Any], command: str = "") -> Path:
    """Writes OUT/index.html and returns its path. table: as in table.json. command: shown as what made it."""
    folder = StudyFolder(out)
    document = replace(
        study_document(plan, table, drawn=True),
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        beside=[(path, what) for path, what in _BESIDE.items() if (folder / path).exists()],
    )
    write_text(folder / PAGE, as_html(document))
    return folder / PAGE


def study_document(plan: Plan, table: dict[str, Any], drawn: bool = False) -> Document:
    """table: as in table.json. drawn: with a picture for each metric, for a page; else its pictures are the files in figures/."""
    seeds = len(table["seeds"])
    sections = [_test(name, test, table, drawn) for name, test in table["tests"].items()]
    learning: list[Block] = [_summaries("training-runs", "Training", table["learning"], LEARNING_METRICS)]
    learning += [Paragraph(f"{run} failed: {error}") for run, error in table["failed"].items()]
    learning += [Paragraph(f"Not done yet: {', '.join(table['missing'])}")] if table["missing"] else []
    return Document(
        table["title"] or table["study"],
        f"Mean ± sample standard deviation over {seeds} seeds." if seeds > 1 else "One seed.",
        [*sections, Section("training", "Training", learning), Section("settings", "Settings", _settings(plan))],
        made=[("rnnsearch", package_version()), ("Study", table["study"])],
    )


def _test(name: str, test: dict[str, Any], table: dict[str, Any], drawn: bool) -> Section:
    rows = test["variants"] | test["systems"]
    signatures = [f"{metric}: {signature}" for metric, signature in test["signatures"].items()]
    sizes = f"{test['sentences']:,} sentences, {test['long_sentences']:,} of over {LONG} words"
    blocks: list[Block] = [replace(_summaries(f"scores-{name}", f"Scores on {name} ({sizes})", rows, TEST_METRICS), made=signatures)]
    if any(metric.key in values for values in rows.values() for metric in TEST_METRICS):
        note = f"The line is the mean of {table['baseline']}. A triangle at the edge is a variant far from the others."
        pictures = _pictures(name, test, table["baseline"]) if drawn else []
        blocks.append(Pictures(f"figure-{name}", f"Scores of every variant on {name}", pictures, notes=[note], file=f"{name}.svg"))
    blocks += _differences(name, table["comparisons"].get(name, []))
    return Section(f"test-{name}", f"Results on {name}", blocks)


def _pictures(name: str, test: dict[str, Any], baseline: str) -> list[Picture]:
    """One for each metric, so that they stand below each other on a narrow screen."""
    found = []
    rows = test["variants"] | test["systems"]
    for metric in TEST_METRICS:
        figure = study_figure(test, baseline, [metric], size=FONT, column=2.0)
        if figure is not None:
            values = {row: Summary(**summaries[metric.key]).text(metric) for row, summaries in rows.items() if metric.key in summaries}
            alt = f"{metric.heading} on {name}. {'; '.join(f'{row}: {value}' for row, value in values.items())}."
            picture = f"{name}-{metric.key}"
            found.append(Picture(picture, metric.heading, alt, inline_svg(figure, picture, metric.heading, alt)))
    return found


def _summaries(name: str, caption: str, rows: dict[str, dict[str, Any]], metrics: Sequence[Metric]) -> Table:
    shown = [metric for metric in metrics if any(metric.key in values for values in rows.values())]
    cells: list[list[Value]] = [
        [row, *(Summary(**values[metric.key]).text(metric) if metric.key in values else None for metric in shown)]
        for row, values in rows.items()
    ]
    return Table(name, caption, [Column("Variant"), *(Column(metric.heading, numeric=True) for metric in shown)], cells)


def _differences(name: str, entries: Sequence[dict[str, Any]]) -> list[Block]:
    """A row for each two variants, a column for each metric: the difference, and how easily chance makes one as large."""
    metrics = {metric.key: metric for metric in TEST_METRICS}
    found: dict[str, dict[str, str]] = {}
    for entry in entries:
        metric, p = metrics[entry["metric"]], entry["p_randomisation"]
        difference = f"{entry['difference'] * metric.factor:+.{metric.digits}f}".replace("-", "−")
        found.setdefault(f"{entry['other']} − {entry['system']}", {})[metric.key] = f"{difference} ({p_statement(p)})"
    if not found:
        return []
    shown = [metric for metric in TEST_METRICS if any(metric.key in values for values in found.values())]
    rows: list[list[Value]] = [[pair, *(values.get(metric.key) for metric in shown)] for pair, values in found.items()]
    columns = [Column("Difference"), *(Column(metric.heading, numeric=True) for metric in shown)]
    note = "p by approximate randomisation: paired by sentence, two-sided, of the mean over the seeds."
    return [Table(f"differences-{name}", "Differences between variants", columns, rows, notes=[note])]


def _settings(plan: Plan) -> list[Block]:
    """What the study file says: of each variant, and of all."""
    said = plan.study.model_dump(mode="json", exclude_defaults=True, exclude={"title"})
    own = said.pop("variants")
    variants: list[list[Value]] = [[name, "; ".join(f"{key} = {value}" for key, value in _flat(own[name])) or None] for name in own]
    common: list[list[Value]] = [[key, value] for key, value in _flat(said)]
    return [
        Table("variants", "What each variant changes", (Column("Variant"), Column("Settings")), variants),
        Table("study", "Settings of the study", (Column("Setting"), Column("Value")), common),
    ]


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted key and value, as TOML has them."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False)
