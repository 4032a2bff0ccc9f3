"""The tables that a study ends in: per variant mean and spread over its seeds, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnsearch.drawing.figures import save_figure
from rnnsearch.drawing.page import as_markdown
from rnnsearch.studies.comparing import RunsBySeed, comparisons
from rnnsearch.studies.metrics import LEARNING_METRICS, TEST_METRICS, Metric, Summary
from rnnsearch.studies.result_rows import ResultRows, Row
from rnnsearch.studies.scoring import Scorer, long_sentences, translation_statistics
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_document import study_document
from rnnsearch.studies.study_figure import study_figure
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.system.files import write_text
from rnnsearch.text.formats.lines import read_lines


@dataclass(frozen=True)
class Tables:
    """markdown: for reading. table: everything, as it is written to table.json."""

    markdown: str
    table: dict[str, Any]


def make_tables(plan: Plan, folder: StudyFolder, scorer: Scorer, results: ResultRows) -> Tables:
    """From the rows of all runs that are done; written to table.md, table.json, table.csv and results.csv as well."""
    runs = folder.runs(plan)
    runs_by_seed = _runs_by_seed(plan, folder, results)
    rows = {variant: [row for *_, row in found.values()] for variant, found in runs_by_seed.items()}
    table: dict[str, Any] = {
        "title": plan.study.title,
        "study": Path(plan.name).name,
        "seeds": plan.study.seeds,
        "baseline": plan.study.reference_variant,
        "symmetrisation": plan.study.symmetrisation,
        "learning": {variant: _summaries(found, LEARNING_METRICS) for variant, found in rows.items()},
        "tests": {name: _test(name, scorer, rows) for name in scorer.tests},
        "comparisons": comparisons(plan, scorer, runs_by_seed, _before(folder).get("comparisons", {})),
        "failed": {run.name: results.rows[run.name]["error"] for run in runs if results.status(run.name) == "failed"},
        "missing": [run.name for run in runs if not results.status(run.name)],
    }
    _draw(folder, table)
    tables = Tables(as_markdown(study_document(plan, table)), table)
    write_text(folder / "table.md", tables.markdown)
    write_text(folder / "table.json", json.dumps(table, indent=2, ensure_ascii=False) + "\n")
    write_text(folder / "table.csv", _csv(_long_rows(table)))
    write_text(folder / "results.csv", _csv([_flat(row) for found in rows.values() for row in found]))
    return tables


def _draw(folder: StudyFolder, table: dict[str, Any]) -> None:
    """Writes a picture for each test set that has numbers."""
    for name, test in table["tests"].items():
        figure = study_figure(test, table["baseline"])
        if figure is not None:
            (folder / "figures").mkdir(exist_ok=True)
            save_figure(figure, folder / "figures" / f"{name}.svg")


def _runs_by_seed(plan: Plan, folder: StudyFolder, results: ResultRows) -> dict[str, RunsBySeed]:
    """Of each variant that has any, the runs that are done."""
    runs = [run for run in folder.runs(plan) if results.status(run.name) == "done"]
    reverse = {(run.variant, run.seed): run for run in runs if run.reverse}
    runs_by_seed: dict[str, RunsBySeed] = {name: {} for name in plan.study.variants}
    for run in runs:
        if not run.reverse:
            runs_by_seed[run.variant][run.seed] = run, reverse.get((run.variant, run.seed)), results.rows[run.name]
    return {name: found for name, found in runs_by_seed.items() if found}


def _before(folder: StudyFolder) -> dict[str, Any]:
    """The tables of an earlier call."""
    try:
        table: dict[str, Any] = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table


def _test(name: str, scorer: Scorer, by_variant: dict[str, list[Row]]) -> dict[str, Any]:
    files = scorer.tests[name]
    test = files.read()
    scores = {variant: [row["tests"].get(name, {}) for row in rows] for variant, rows in by_variant.items()}
    first: dict[str, Any] = next(iter(scores.values()), [{}])[0]
    systems = {}
    for system, path in files.systems.items():
        found = translation_statistics(test, list(read_lines(path)), scorer.data)
        systems[system] = {metric: Summary.of([statistics.score().value])._asdict() for metric, statistics in found.items()}
    return {
        "sentences": len(test.source),
        "long_sentences": len(long_sentences(test, scorer.data)),
        "signatures": {key.removesuffix("_signature"): value for key, value in first.items() if key.endswith("_signature")},
        "variants": {variant: _summaries(found, TEST_METRICS) for variant, found in scores.items()},
        "systems": systems,
    }


def _summaries(rows: Sequence[Row], metrics: Sequence[Metric]) -> dict[str, dict[str, Any]]:
    found = {}
    for metric in metrics:
        values = [row[metric.key] for row in rows if row.get(metric.key) is not None]
        if values:
            found[metric.key] = Summary.of(values)._asdict()
    return found


def _long_rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each variant, test set and metric."""
    rows = []
    for test, content in (*table["tests"].items(), ("", {"variants": table["learning"]})):
        for variant, metrics in content["variants"].items():
            rows += [{"test": test, "variant": variant, "metric": metric, **summary} for metric, summary in metrics.items()]
    return rows


def _flat(row: Row) -> dict[str, Any]:
    """A row of the results with one column for each number."""
    scores = {f"{test}.{key}": value for test, found in row["tests"].items() for key, value in found.items()}
    return {key: value for key, value in row.items() if key not in ("tests", "fingerprint")} | scores


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
