"""The results of a study: table.json, table.csv and results.csv for programs; a page with pictures and
table.md for people."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch.drawing.figures import Album, drawn_plainly, plain_axes
from rnnsearch.drawing.page import (
    LATEX,
    Block,
    Document,
    Paragraph,
    Pictures,
    Section,
    as_html,
    as_markdown,
    every_table,
)
from rnnsearch.drawing.palette import DIM, SERIES, TEXT
from rnnsearch.drawing.tables import Column, Table, Value, as_latex, csv_text
from rnnsearch.evaluation.statistics import p_statement
from rnnsearch.studies.scores import LEARNING_METRICS, TEST_METRICS, Metric, Results, Row, Summary
from rnnsearch.studies.study import LONG, StudyFolder
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = "index.html"
BESIDE = {
    "report/index.html": "the report: the paper's tables and figures for these runs",
    "table.md": "this page in Markdown",
    LATEX: "the scores and differences in LaTeX",
    "table.json": "all numbers",
    "table.csv": "one number per line",
    "results.csv": "one run per line",
    "figures/": "a picture for each test set",
    "translations/": "the translations",
    "runs/": "the runs",
}
DOT, BASELINE = SERIES[0], SERIES[1]
FONT = 9.0
FENCE = 1.5
"""A mean farther from the quartiles than this multiple of their distance may be an outlier (Tukey 1977)."""
Summaries = dict[str, dict[str, dict[str, Any]]]
"""Variant or system → metric → its `Summary` as JSON."""


def study_table(results: Results) -> dict[str, Any]:
    """Returns the content of table.json: all numbers of the study, from the rows of finished runs."""
    folder, study, done = results.folder, results.folder.study, results.done()
    rows = {variant: [results.rows[run.name] for run in runs.values()] for variant, runs in done.items()}
    try:
        before = json.loads((folder / "table.json").read_text(encoding="utf-8"))["comparisons"]
    except (OSError, ValueError, KeyError):
        before = {}
    return {
        "title": study.title,
        "study": Path(folder.name).name,
        "seeds": study.seeds,
        "baseline": folder.baseline,
        "symmetrisation": study.symmetrisation,
        "learning": {variant: _summaries(found, LEARNING_METRICS) for variant, found in rows.items()},
        "tests": {name: _test(name, results, rows) for name in folder.tests},
        "comparisons": results.comparisons(before),
        "failed": {
            run.name: results.rows[run.name]["error"]
            for run in folder.runs
            if results.status(run) == "failed"
        },
        "missing": [run.name for run in folder.runs if not results.status(run)],
    }


def write_tables(table: dict[str, Any], results: Results) -> None:
    """Writes table.json, table.csv and results.csv."""
    folder = results.folder
    write_text(folder / "table.json", json.dumps(table, indent=2, ensure_ascii=False) + "\n")
    numbers = [
        {"test": test, "variant": variant, "metric": metric, **summary}
        for test, content in (*table["tests"].items(), ("", {"variants": table["learning"]}))
        for variant, metrics in content["variants"].items()
        for metric, summary in metrics.items()
    ]
    write_text(folder / "table.csv", _csv(numbers))
    rows = [results.rows[run.name] for runs in results.done().values() for run in runs.values()]
    write_text(folder / "results.csv", _csv([_columns(row) for row in rows]))


def write_pages(folder: StudyFolder, table: dict[str, Any], command: str = "") -> tuple[str, Path]:
    """Writes the page, its Markdown and its pictures. Returns the Markdown and the path of the page.

    table: as in table.json. command: the command line shown on the page.
    """
    document = study_document(folder, table, Album(folder / "figures"))
    markdown = as_markdown(document)
    write_text(folder / "table.md", markdown)
    shown = (each for each in every_table(document) if each.name.startswith(("scores-", "differences-")))
    write_text(folder / LATEX, as_latex(shown))
    document = replace(
        document,
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        beside=[(path, what) for path, what in BESIDE.items() if (folder / path).exists()],
    )
    write_text(folder / PAGE, as_html(document))
    return markdown, folder / PAGE


def _test(name: str, results: Results, rows: dict[str, list[Row]]) -> dict[str, Any]:
    test, others, long = results.folder.test_sets[name]
    scores = {variant: [row["tests"].get(name, {}) for row in found] for variant, found in rows.items()}
    first: dict[str, Any] = next(iter(scores.values()), [{}])[0]
    systems: Summaries = {}
    for system in others:
        found = results.measured(name, system)
        values = {metric: measured.score().value for metric, measured in found.items()}
        systems[system.name] = _summaries([values], TEST_METRICS)
    signed = [key for key in first if key.endswith("_signature")]
    return {
        "sentences": len(test.source),
        "long_sentences": len(long),
        "signatures": {key.removesuffix("_signature"): first[key] for key in signed},
        "variants": {variant: _summaries(found, TEST_METRICS) for variant, found in scores.items()},
        "systems": systems,
    }


def _summaries(rows: Sequence[Row], metrics: Sequence[Metric]) -> dict[str, dict[str, Any]]:
    values = {
        metric.key: [row[metric.key] for row in rows if row.get(metric.key) is not None] for metric in metrics
    }
    return {key: Summary.of(found)._asdict() for key, found in values.items() if found}


def _columns(row: Row) -> dict[str, Any]:
    """Returns a row of the results with one column for each number."""
    scores = {f"{test}.{key}": value for test, found in row["tests"].items() for key, value in found.items()}
    return {key: value for key, value in row.items() if key not in ("tests", "fingerprint")} | scores


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return csv_text([columns, *([row.get(column) for column in columns] for row in rows)])


def study_document(folder: StudyFolder, table: dict[str, Any], album: Album) -> Document:
    """Returns the page as data. table: as in table.json. album: receives a picture of each test set."""
    seeds = len(table["seeds"])
    learning: list[Block] = [_summary_table("training-runs", "Training", table["learning"], LEARNING_METRICS)]
    learning += [Paragraph(f"{run} failed: {error}") for run, error in table["failed"].items()]
    learning += [Paragraph(f"Not done yet: {', '.join(table['missing'])}")] if table["missing"] else []
    return Document(
        table["title"] or table["study"],
        f"Mean ± sample standard deviation over {seeds} seeds." if seeds > 1 else "One seed.",
        [
            *(_results(name, test, table, album) for name, test in table["tests"].items()),
            Section("training", "Training", learning),
            Section("settings", "Settings", _settings(folder)),
        ],
        made=[("rnnsearch", package_version()), ("Study", table["study"])],
    )


def _results(name: str, test: dict[str, Any], table: dict[str, Any], album: Album) -> Section:
    rows: Summaries = test["variants"] | test["systems"]
    signatures = [f"{metric}: {signature}" for metric, signature in test["signatures"].items()]
    sizes = f"{test['sentences']:,} sentences, {test['long_sentences']:,} of over {LONG} words"
    caption = f"Scores on {name} ({sizes})"
    blocks: list[Block] = [_summary_table(f"scores-{name}", caption, rows, TEST_METRICS, signatures)]
    figure = study_figure(test, table["baseline"])
    if figure is not None:
        note = (
            f"The line is the mean of {table['baseline']}. A triangle at the edge is a variant far from "
            "the others."
        )
        caption = f"Scores of every variant on {name}"
        picture = album.add(figure, name, caption, f"{caption}: the numbers of the table above")
        blocks.append(Pictures(f"figure-{name}", caption, [picture], notes=[note], wide=True))
    blocks += _differences(name, table["comparisons"].get(name, []))
    return Section(f"test-{name}", f"Results on {name}", blocks)


def _summary_table(
    name: str, caption: str, rows: Summaries, metrics: Sequence[Metric], made: Sequence[str] = ()
) -> Table:
    cells = {
        row: {
            metric.key: Summary(**values[metric.key]).text(metric)
            for metric in metrics
            if metric.key in values
        }
        for row, values in rows.items()
    }
    return _metric_table(name, caption, "Variant", cells, metrics, made=made)


def _metric_table(
    name: str,
    caption: str,
    heading: str,
    cells: dict[str, dict[str, str]],
    metrics: Sequence[Metric],
    **below: Sequence[str],
) -> Table:
    """Returns a table with a column for each metric that a row has."""
    shown = [metric for metric in metrics if any(metric.key in row for row in cells.values())]
    rows: list[list[Value]] = [
        [row, *(values.get(metric.key) for metric in shown)] for row, values in cells.items()
    ]
    columns = [Column(heading), *(Column(metric.heading, numeric=True) for metric in shown)]
    return Table(name, caption, columns, rows, **below)


def _differences(name: str, entries: Sequence[dict[str, Any]]) -> list[Block]:
    """Returns a table of differences with p-values: a row for each pair of variants, a column for each
    metric."""
    metrics = {metric.key: metric for metric in TEST_METRICS}
    found: dict[str, dict[str, str]] = {}
    for entry in entries:
        metric, p = metrics[entry["metric"]], p_statement(entry["p"])
        difference = f"{entry['difference'] * metric.factor:+.{metric.digits}f}".replace("-", "−")
        found.setdefault(f"{entry['other']} − {entry['system']}", {})[metric.key] = f"{difference} ({p})"
    if not found:
        return []
    note = "p is from approximate randomisation of the mean over the seeds, paired by sentence and two-sided."
    caption = "Differences between variants"
    return [_metric_table(f"differences-{name}", caption, "Difference", found, TEST_METRICS, notes=[note])]


def _settings(folder: StudyFolder) -> list[Block]:
    """Returns tables of the settings in the study file: those of each variant, and common ones."""
    said = folder.study.model_dump(mode="json", exclude_defaults=True, exclude={"title"})
    own = said.pop("variants")
    variants: list[list[Value]] = [
        [name, "; ".join(f"{key} = {value}" for key, value in _dotted(own[name])) or None] for name in own
    ]
    common: list[list[Value]] = [[key, value] for key, value in _dotted(said)]
    return [
        Table("variants", "What each variant changes", (Column("Variant"), Column("Settings")), variants),
        Table("study", "Settings of the study", (Column("Setting"), Column("Value")), common),
    ]


def _dotted(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yields dotted key and value, as TOML has them."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False)


def study_figure(test: dict[str, Any], baseline: str) -> Figure | None:
    """Draws the scores of one test set, given as in table.json; None if there are none.

    A line marks the baseline's mean in each column. A variant far from all others is an arrow at the edge of
    its column, with its value, so that the scale suits the others.
    """
    from matplotlib.figure import Figure

    rows: dict[str, dict[str, Any]] = test["variants"] | test["systems"]
    shown = [metric for metric in TEST_METRICS if any(metric.key in values for values in rows.values())]
    if not shown:
        return None
    with drawn_plainly(FONT):
        size = (0.07 * max(map(len, rows)) + 1.7 * len(shown), 0.9 + 0.3 * len(rows))
        figure = Figure(figsize=size, layout="constrained")
        columns = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axes, metric in zip(columns, shown, strict=True):
            plain_axes(axes)
            heading = textwrap.fill(metric.heading, 20)
            axes.set_title(heading, loc="left", fontsize=FONT - 1, color=DIM)
            cells = [values.get(metric.key) for values in rows.values()]
            _dots(axes, metric, [None if cell is None else Summary(**cell) for cell in cells])
            if metric.key in rows.get(baseline, {}):
                mean = Summary(**rows[baseline][metric.key]).mean * metric.factor
                axes.axvline(mean, color=BASELINE, linewidth=0.8)
        columns[0].set_yticks(range(len(rows)), list(rows))
        columns[0].tick_params(axis="y", labelcolor=TEXT)
        columns[0].set_ylim(len(rows) - 0.5, -0.5)  # the first variant on top
    return figure


def _dots(axes: Axes, metric: Metric, summaries: Sequence[Summary | None]) -> None:
    """Draws the column of one metric."""
    found = [(place, one.mean * metric.factor, one.spread) for place, one in enumerate(summaries) if one]
    low, high = usual([mean for _, mean, _ in found])
    for place, mean, spread in found:
        if low <= mean <= high:
            error = (spread or 0.0) * metric.factor
            axes.errorbar(mean, place, xerr=error, fmt="o", color=DOT, markersize=4.5, linewidth=1.4)
    axes.margins(x=0.1)
    axes.locator_params(axis="x", nbins=3)
    left, right = axes.get_xlim()
    for place, mean, _ in found:
        if not low <= mean <= high:
            edge, marker, beside, side = (right, ">", -7, "right") if mean > high else (left, "<", 7, "left")
            axes.plot([edge], [place], marker, color=DOT, markersize=4.5, mfc="none", clip_on=False)
            text, where = f"{mean:.{metric.digits}f}", (edge, place)
            axes.annotate(
                text, where, (beside, 0), textcoords="offset points", ha=side, va="center", color=DIM
            )
    axes.set_xlim(left, right)


def usual(means: Sequence[float]) -> tuple[float, float]:
    """Returns the range that is drawn to scale: that of all means, or without outliers if these would take
    more than a third of it."""
    first, third = np.percentile(means, [25, 75])
    reach = FENCE * (third - first)
    inside = [mean for mean in means if first - reach <= mean <= third + reach]
    low, high = min(means), max(means)
    if max(inside) - min(inside) < 2 / 3 * (high - low):
        low, high = min(inside), max(inside)
    return low, high
