"""A study as a picture: for each test set the variants one below the other, a column for each metric, a dot with its spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch.studies.metrics import TEST_METRICS, Metric, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT, DIM, RULE, DOT, BASELINE = "#1c2024", "#5b6570", "#dfe3e8", "#0a5fa5", "#b3470a"
COLUMN, ROW, NAMES, MARGIN = 1.7, 0.3, 2.2, 0.9
"""Inches: a metric's column, a variant's row, the names' column, what stands above and below."""


def study_figure(test: dict[str, Any], baseline: str) -> Figure | None:
    """Of one test set as table.json has it; None if nothing was measured on it. The baseline's mean is ruled through each column."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows: dict[str, dict[str, Any]] = test["variants"] | test["systems"]
    shown = [metric for metric in TEST_METRICS if any(metric.key in values for values in rows.values())]
    if not shown:
        return None
    width, height = NAMES + COLUMN * len(shown), MARGIN + ROW * len(rows)
    with rc_context({"font.size": 9.0, "axes.edgecolor": RULE, "text.color": TEXT, "svg.fonttype": "none"}):
        figure = Figure(figsize=(width, height))
        columns = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axes, metric in zip(columns, shown, strict=True):
            _column(axes, metric, [values.get(metric.key) for values in rows.values()], rows.get(baseline, {}).get(metric.key))
        columns[0].set_yticks(range(len(rows)), list(rows))
        columns[0].set_ylim(len(rows) - 0.5, -0.5)  # the first variant on top
        figure.subplots_adjust(left=NAMES / width, right=1 - 0.1 / width, top=1 - 0.35 / height, bottom=0.35 / height, wspace=0.12)
    return figure


def _column(axes: Axes, metric: Metric, cells: Sequence[dict[str, Any] | None], baseline: dict[str, Any] | None) -> None:
    for spine in ("top", "right", "left"):
        axes.spines[spine].set_visible(False)
    axes.tick_params(colors=DIM, length=0)
    axes.tick_params(axis="y", labelcolor=TEXT)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(metric.heading, loc="left", fontsize=8.0, color=DIM)
    axes.locator_params(axis="x", nbins=4)
    if baseline is not None:
        axes.axvline(Summary(**baseline).mean * metric.factor, color=BASELINE, linewidth=0.8)
    for place, cell in enumerate(cells):
        if cell is not None:
            summary = Summary(**cell)
            spread = (summary.spread or 0.0) * metric.factor
            axes.errorbar(summary.mean * metric.factor, place, xerr=spread, fmt="o", color=DOT, markersize=4.5, linewidth=1.4)
