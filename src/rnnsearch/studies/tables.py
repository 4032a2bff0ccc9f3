"""The tables that a study ends in: per variant mean and spread over its seeds, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rnnsearch.files import write_text
from rnnsearch.studies.folder import StudyFolder
from rnnsearch.studies.results import Results, Row
from rnnsearch.studies.scoring import translation_scores
from rnnsearch.studies.study import LONG, Plan
from rnnsearch.studies.test_sets import SetFiles


class Metric(NamedTuple):
    """A column. factor: what the number is multiplied by where it is shown."""

    key: str
    heading: str
    factor: float = 1.0
    digits: int = 2


TEST_METRICS = (
    Metric("bleu", "BLEU"),
    Metric("chrf", "chrF2"),
    Metric("bleu_long", f"BLEU, over {LONG} words"),
    Metric("nll_per_word", "NLL/word", digits=3),
    Metric("aer", "AER %", 100.0),
    Metric("aer_symmetrised", "AER %, both directions", 100.0),
)
LEARNING_METRICS = (
    Metric("parameters", "million parameters", 1e-6),
    Metric("updates", "updates", digits=0),
    Metric("epochs", "epochs", digits=1),
    Metric("hours", "hours"),
    Metric("dev_nll", "dev NLL/sentence"),
    Metric("dev_bleu", "dev BLEU"),
)


class Summary(NamedTuple):
    """Of a metric over the seeds. spread: the sample standard deviation (n − 1), None for one run."""

    mean: float
    spread: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        return cls(math.fsum(values) / len(values), statistics.stdev(values) if len(values) > 1 else None, len(values))

    def text(self, metric: Metric) -> str:
        """As a cell of a table."""
        shown = f"{self.mean * metric.factor:,.{metric.digits}f}"
        return shown if self.spread is None else f"{shown} ± {self.spread * metric.factor:,.{metric.digits}f}"


@dataclass(frozen=True)
class Tables:
    """markdown: for reading. table: everything, as it is written to table.json."""

    markdown: str
    table: dict[str, Any]


def make_tables(plan: Plan, folder: StudyFolder, tests: dict[str, SetFiles], results: Results) -> Tables:
    """From the rows of all runs that are done; written to table.md, table.json, table.csv and results.csv as well."""
    runs = folder.runs(plan)
    rows = results.done([run.name for run in runs if not run.reverse])
    by_variant = {name: [row for row in rows if row["variant"] == name] for name in plan.study.variants}
    by_variant = {name: found for name, found in by_variant.items() if found}
    failed = {run.name: results.rows[run.name]["error"] for run in runs if results.rows.get(run.name, {}).get("status") == "failed"}
    table: dict[str, Any] = {
        "title": plan.study.title,
        "study": plan.name,
        "seeds": plan.study.seeds,
        "baseline": plan.study.reference_variant,
        "learning": {name: _summaries(found, LEARNING_METRICS) for name, found in by_variant.items()},
        "tests": {name: _test(name, test, by_variant, plan) for name, test in tests.items()},
        "failed": failed,
        "missing": [run.name for run in runs if run.name not in results.rows],
    }
    tables = Tables(_markdown(table), table)
    write_text(folder / "table.md", tables.markdown)
    write_text(folder / "table.json", json.dumps(table, indent=2, ensure_ascii=False) + "\n")
    write_text(folder / "table.csv", _csv(_long_rows(table)))
    write_text(folder / "results.csv", _csv([_flat(row) for row in rows]))
    return tables


def _test(name: str, test: SetFiles, by_variant: dict[str, list[Row]], plan: Plan) -> dict[str, Any]:
    scores = {variant: [row["tests"].get(name, {}) for row in rows] for variant, rows in by_variant.items()}
    first: dict[str, Any] = next(iter(scores.values()), [{}])[0]
    return {
        "sentences": first.get("sentences"),
        "long_sentences": first.get("long_sentences"),
        "signatures": {key.removesuffix("_signature"): value for key, value in first.items() if key.endswith("_signature")},
        "variants": {variant: _summaries(found, TEST_METRICS) for variant, found in scores.items()},
        "systems": {system: translation_scores(test, path, plan.data) for system, path in test.systems.items()},
    }


def _summaries(rows: Sequence[Row], metrics: Sequence[Metric]) -> dict[str, dict[str, Any]]:
    found = {}
    for metric in metrics:
        values = [row[metric.key] for row in rows if row.get(metric.key) is not None]
        if values:
            found[metric.key] = Summary.of(values)._asdict()
    return found


def _markdown(table: dict[str, Any]) -> str:
    lines = [f"# {table['title'] or table['study']}", ""]
    seeds = len(table["seeds"])
    if seeds > 1:
        lines += [f"Mean ± sample standard deviation over {seeds} seeds.", ""]
    for name, test in table["tests"].items():
        sizes = "" if test["sentences"] is None else f" ({test['sentences']:,} sentences, {test['long_sentences']:,} of over {LONG} words)"
        lines += [f"## {name}{sizes}", ""]
        systems = {
            system: {key: {"mean": value, "spread": None, "runs": 1} for key, value in scores.items() if isinstance(value, float)}
            for system, scores in test["systems"].items()
        }
        lines += _rows("variant", test["variants"] | systems, TEST_METRICS)
        lines += [f"{signature}  " for signature in (f"{key}: `{value}`" for key, value in test["signatures"].items())] + [""]
    lines += ["## Training", "", *_rows("variant", table["learning"], LEARNING_METRICS)]
    for run, error in table["failed"].items():
        lines.append(f"- {run} failed: {error}")
    if table["missing"]:
        lines.append(f"- not done yet: {', '.join(table['missing'])}")
    return "\n".join(lines).rstrip() + "\n"


def _rows(corner: str, rows: dict[str, dict[str, Any]], metrics: Sequence[Metric]) -> list[str]:
    shown = [metric for metric in metrics if any(metric.key in values for values in rows.values())]
    lines = [f"| {' | '.join([corner, *(metric.heading for metric in shown)])} |", "|" + "---|" * (len(shown) + 1)]
    for name, values in rows.items():
        cells = [Summary(**values[metric.key]).text(metric) if metric.key in values else "" for metric in shown]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return [*lines, ""]


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
