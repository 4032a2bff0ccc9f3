"""The tables as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rnnsearch.evaluation.significance import p_statement
from rnnsearch.studies.metrics import LEARNING_METRICS, TEST_METRICS, Metric, Summary
from rnnsearch.studies.study import LONG


def markdown(table: dict[str, Any], drawn: dict[str, str]) -> str:
    """The content of table.json as Markdown. drawn: test set → its picture."""
    lines = [f"# {table['title'] or table['study']}", ""]
    if len(table["seeds"]) > 1:
        lines += [f"Mean ± sample standard deviation over {len(table['seeds'])} seeds.", ""]
    for name, test in table["tests"].items():
        lines += [f"## {name} ({test['sentences']:,} sentences, {test['long_sentences']:,} of over {LONG} words)", ""]
        lines += _summaries(test["variants"] | test["systems"], TEST_METRICS)
        if name in drawn:
            lines += [f"![{name}: every variant's scores as dots with their spread](<{drawn[name]}>)", ""]
        lines += [f"{metric}: `{signature}`  " for metric, signature in test["signatures"].items()] + [""] * bool(test["signatures"])
        lines += _comparisons(table["comparisons"].get(name, []))
    lines += ["## Training", "", *_summaries(table["learning"], LEARNING_METRICS)]
    lines += [f"- {run} failed: {error}" for run, error in table["failed"].items()]
    lines += [f"- not done yet: {', '.join(table['missing'])}"] if table["missing"] else []
    return "\n".join(lines).rstrip() + "\n"


def _summaries(rows: dict[str, dict[str, Any]], metrics: Sequence[Metric]) -> list[str]:
    shown = [metric for metric in metrics if any(metric.key in values for values in rows.values())]
    cells = [[name, *(_cell(values.get(metric.key), metric) for metric in shown)] for name, values in rows.items()]
    return [*_table(["variant", *(metric.heading for metric in shown)], cells), ""]


def _cell(summary: dict[str, Any] | None, metric: Metric) -> str:
    return "" if summary is None else Summary(**summary).text(metric)


def _comparisons(entries: Sequence[dict[str, Any]]) -> list[str]:
    """A row for each two variants, a column for each metric: the difference, and how easily chance makes one as large."""
    metrics = {metric.key: metric for metric in TEST_METRICS}
    found: dict[tuple[str, str], dict[str, str]] = {}
    for entry in entries:
        difference = f"{entry['difference'] * metrics[entry['metric']].factor:+.{metrics[entry['metric']].digits}f}"
        found.setdefault((entry["other"], entry["system"]), {})[entry["metric"]] = f"{difference} ({p_statement(entry['p_randomisation'])})"
    if not found:
        return []
    shown = [metric for metric in TEST_METRICS if any(metric.key in values for values in found.values())]
    cells = [[f"{other} − {baseline}", *(values.get(metric.key, "") for metric in shown)] for (other, baseline), values in found.items()]
    note = "Difference, and p by approximate randomisation: paired by sentence, two-sided, of the mean over the seeds."
    return [*_table(["difference", *(metric.heading for metric in shown)], cells), "", note, ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"
