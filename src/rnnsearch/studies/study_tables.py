"""The results of a study: table.json, table.csv and results.csv for programs, a page and table.md for
people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rnnsearch.drawing.document import (
    Block,
    Column,
    Document,
    Paragraph,
    Pictures,
    Section,
    Table,
    Value,
    csv_text,
)
from rnnsearch.drawing.figures import Album
from rnnsearch.drawing.page import as_html, as_markdown
from rnnsearch.evaluation.measures import system_statistics
from rnnsearch.evaluation.significance import p_statement
from rnnsearch.evaluation.test_set import System, read_hypotheses
from rnnsearch.studies.scores import (
    LEARNING_METRICS,
    TEST_METRICS,
    Metric,
    ResultRows,
    Row,
    Scorer,
    Summary,
    comparisons,
    done_runs,
)
from rnnsearch.studies.study import LONG, Plan
from rnnsearch.studies.study_figure import study_figure
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import write_text

PAGE = "index.html"
BESIDE = {
    "report/index.html": "the report: the paper's tables and figures for these runs",
    "table.md": "this page in Markdown",
    "table.json": "all numbers",
    "table.csv": "one number per line",
    "results.csv": "one run per line",
    "figures/": "a picture for each test set",
    "translations/": "the translations",
    "runs/": "the runs",
}
Summaries = dict[str, dict[str, dict[str, Any]]]
"""Variant or system → metric → its `Summary` as JSON."""


def study_table(scorer: Scorer, results: ResultRows) -> dict[str, Any]:
    """Returns all numbers of the study, from the rows of the runs that are done: what table.json holds."""
    folder, plan = scorer.folder, scorer.folder.plan
    done = done_runs(folder, results)
    rows = {name: [run.row for run in done[name].values()] for name in plan.study.variants if name in done}
    try:
        before = json.loads((folder / "table.json").read_text(encoding="utf-8"))["comparisons"]
    except (OSError, ValueError, KeyError):
        before = {}
    status = {run.name: results.status(run.name) for run in folder.runs}
    return {
        "title": plan.study.title,
        "study": Path(plan.name).name,
        "seeds": plan.study.seeds,
        "baseline": plan.study.reference_variant,
        "symmetrisation": plan.study.symmetrisation,
        "learning": {variant: _summaries(found, LEARNING_METRICS) for variant, found in rows.items()},
        "tests": {name: _test(name, scorer, rows) for name in folder.tests},
        "comparisons": comparisons(scorer, done, before),
        "failed": {name: results.rows[name]["error"] for name in status if status[name] == "failed"},
        "missing": [name for name in status if not status[name]],
    }


def write_tables(folder: StudyFolder, table: dict[str, Any], results: ResultRows) -> None:
    """Writes the numbers for programs."""
    write_text(folder / "table.json", json.dumps(table, indent=2, ensure_ascii=False) + "\n")
    write_text(folder / "table.csv", _csv(list(_numbers(table))))
    rows = [found.row for runs in done_runs(folder, results).values() for found in runs.values()]
    write_text(folder / "results.csv", _csv([_columns(row) for row in rows]))


def write_pages(folder: StudyFolder, table: dict[str, Any], command: str = "") -> tuple[str, Path]:
    """Writes the page, its Markdown and its pictures. Returns the Markdown and the path of the page.

    table: as in table.json. command: shown as what made the page.
    """
    document = study_document(folder.plan, table, Album(folder / "figures"))
    markdown = as_markdown(document)
    write_text(folder / "table.md", markdown)
    document = replace(
        document,
        command=command,
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        beside=[(path, what) for path, what in BESIDE.items() if (folder / path).exists()],
    )
    write_text(folder / PAGE, as_html(document))
    return markdown, folder / PAGE


def _test(name: str, scorer: Scorer, rows: dict[str, list[Row]]) -> dict[str, Any]:
    files = scorer.folder.tests[name]
    test = files.read()
    scores = {variant: [row["tests"].get(name, {}) for row in found] for variant, found in rows.items()}
    first: dict[str, Any] = next(iter(scores.values()), [{}])[0]
    systems: Summaries = {}
    for system, path in files.systems.items():
        texts = read_hypotheses(path, len(test.source)).texts
        found = scorer.named(test, system_statistics(test, System(system, texts)))
        values = {metric: measured.score().value for metric, measured in found.items()}
        systems[system] = _summaries([values], TEST_METRICS)
    signatures = {key: value for key, value in first.items() if key.endswith("_signature")}
    return {
        "sentences": len(test.source),
        "long_sentences": len(scorer.long_sentences(test)),
        "signatures": {key.removesuffix("_signature"): value for key, value in signatures.items()},
        "variants": {variant: _summaries(found, TEST_METRICS) for variant, found in scores.items()},
        "systems": systems,
    }


def _summaries(rows: Sequence[Row], metrics: Sequence[Metric]) -> dict[str, dict[str, Any]]:
    values = {
        metric.key: [row[metric.key] for row in rows if row.get(metric.key) is not None] for metric in metrics
    }
    return {key: Summary.of(found)._asdict() for key, found in values.items() if found}


def _numbers(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields one row for each variant, test set and metric."""
    for test, content in (*table["tests"].items(), ("", {"variants": table["learning"]})):
        for variant, metrics in content["variants"].items():
            for metric, summary in metrics.items():
                yield {"test": test, "variant": variant, "metric": metric, **summary}


def _columns(row: Row) -> dict[str, Any]:
    """Returns a row of the results with one column for each number."""
    scores = {f"{test}.{key}": value for test, found in row["tests"].items() for key, value in found.items()}
    return {key: value for key, value in row.items() if key not in ("tests", "fingerprint")} | scores


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return csv_text([columns, *([row.get(column) for column in columns] for row in rows)])


def study_document(plan: Plan, table: dict[str, Any], album: Album) -> Document:
    """Returns the page as data. table: as in table.json. album: gets a picture of each test set."""
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
            Section("settings", "Settings", _settings(plan)),
        ],
        made=[("rnnsearch", package_version()), ("Study", table["study"])],
    )


def _results(name: str, test: dict[str, Any], table: dict[str, Any], album: Album) -> Section:
    rows: Summaries = test["variants"] | test["systems"]
    signatures = [f"{metric}: {signature}" for metric, signature in test["signatures"].items()]
    sizes = f"{test['sentences']:,} sentences, {test['long_sentences']:,} of over {LONG} words"
    scores = _summary_table(f"scores-{name}", f"Scores on {name} ({sizes})", rows, TEST_METRICS)
    blocks: list[Block] = [replace(scores, made=signatures)]
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


def _summary_table(name: str, caption: str, rows: Summaries, metrics: Sequence[Metric]) -> Table:
    shown = [metric for metric in metrics if any(metric.key in values for values in rows.values())]
    cells: list[list[Value]] = [
        [row, *(_cell(values, metric) for metric in shown)] for row, values in rows.items()
    ]
    columns = [Column("Variant"), *(Column(metric.heading, numeric=True) for metric in shown)]
    return Table(name, caption, columns, cells)


def _cell(values: dict[str, dict[str, Any]], metric: Metric) -> str | None:
    return Summary(**values[metric.key]).text(metric) if metric.key in values else None


def _differences(name: str, entries: Sequence[dict[str, Any]]) -> list[Block]:
    """Returns a row for each two variants, a column for each metric: the difference, and how easily chance
    makes one as large."""
    metrics = {metric.key: metric for metric in TEST_METRICS}
    found: dict[str, dict[str, str]] = {}
    for entry in entries:
        metric, p = metrics[entry["metric"]], p_statement(entry["p_randomisation"])
        difference = f"{entry['difference'] * metric.factor:+.{metric.digits}f}".replace("-", "−")
        found.setdefault(f"{entry['other']} − {entry['system']}", {})[metric.key] = f"{difference} ({p})"
    if not found:
        return []
    shown = [metric for metric in TEST_METRICS if any(metric.key in values for values in found.values())]
    rows: list[list[Value]] = [
        [pair, *(values.get(metric.key) for metric in shown)] for pair, values in found.items()
    ]
    columns = [Column("Difference"), *(Column(metric.heading, numeric=True) for metric in shown)]
    note = "p by approximate randomisation: paired by sentence, two-sided, of the mean over the seeds."
    return [Table(f"differences-{name}", "Differences between variants", columns, rows, notes=[note])]


def _settings(plan: Plan) -> list[Block]:
    """Returns what the study file says: of each variant, and of all."""
    said = plan.study.model_dump(mode="json", exclude_defaults=True, exclude={"title"})
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
