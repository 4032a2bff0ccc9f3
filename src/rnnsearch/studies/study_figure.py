"""A study as a picture: for each test set the variants one below the other, a column for each metric, a dot with its spread."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch.drawing.curves import drawn_plainly, plain_axes
from rnnsearch.drawing.palette import DIM, SERIES, TEXT
from rnnsearch.studies.metrics import TEST_METRICS, Metric, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOT, BASELINE = SERIES[0], SERIES[1]
GAP, ABOVE, BELOW = 0.25, 0.5, 0.35
"""Inches: between two columns, and above and below the rows; a single column has no heading."""
FENCE = 1.5
"""Of the distance between the quartiles: a mean that is farther from them may be an outlier (Tukey 1977)."""


def study_figure(
    test: dict[str, Any], baseline: str, metrics: Sequence[Metric] = TEST_METRICS, *, size: float = 9.0, column: float = 1.45
) -> Figure | None:
    """Of one test set as table.json has it; None if none of the metrics was measured. The baseline's mean is ruled through each column.

    A variant far from all others would press these together: it is an arrow at the edge of its column, with its value.
    With one metric there is no heading: its caption will say it. size: of the letters, in points. column: its width, in inches.
    """
    from matplotlib.figure import Figure

    rows: dict[str, dict[str, Any]] = test["variants"] | test["systems"]
    shown = [metric for metric in metrics if any(metric.key in values for values in rows.values())]
    if not shown:
        return None
    names = 0.15 + 0.6 * size / 72 * max(map(len, rows))
    width = names + (column + GAP) * len(shown)
    above = ABOVE if len(metrics) > 1 else 0.1
    height = above + BELOW + 2.4 * size / 72 * len(rows)
    with drawn_plainly(size):
        figure = Figure(figsize=(width, height))
        columns = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axes, metric in zip(columns, shown, strict=True):
            plain_axes(axes)
            if len(metrics) > 1:
                axes.set_title(textwrap.fill(metric.heading, int(column * 72 / size / 0.56)), loc="left", fontsize=size - 1, color=DIM)
            if metric.key in rows.get(baseline, {}):
                axes.axvline(Summary(**rows[baseline][metric.key]).mean * metric.factor, color=BASELINE, linewidth=0.8)
            _dots(axes, metric, [values.get(metric.key) for values in rows.values()], column)
        columns[0].set_yticks(range(len(rows)), list(rows))
        columns[0].tick_params(axis="y", labelcolor=TEXT)
        columns[0].set_ylim(len(rows) - 0.5, -0.5)  # the first variant on top
        edges = {"left": names / width, "right": 1 - GAP / width, "top": 1 - above / height, "bottom": BELOW / height}
        figure.subplots_adjust(**edges, wspace=GAP / column)
    return figure


def _dots(axes: Axes, metric: Metric, cells: Sequence[dict[str, Any] | None], column: float) -> None:
    """column: its width in inches, which decides how many numbers have room below it."""
    summaries = [None if cell is None else Summary(**cell) for cell in cells]
    found = [(place, one.mean * metric.factor, (one.spread or 0.0) * metric.factor) for place, one in enumerate(summaries) if one]
    low, high = usual([mean for _, mean, _ in found])
    inside = [(place, mean, spread) for place, mean, spread in found if low <= mean <= high]
    for place, mean, spread in inside:
        axes.errorbar(mean, place, xerr=spread, fmt="o", color=DOT, markersize=4.5, linewidth=1.4)
    left, right = min(mean - spread for _, mean, spread in inside), max(mean + spread for _, mean, spread in inside)
    margin = 0.1 * (right - left) or 0.1 * abs(right) or 1.0
    axes.set_xlim(left - margin, right + margin)
    axes.locator_params(axis="x", nbins=max(2, round(2 * column)))
    for place, mean, _ in found:
        if not low <= mean <= high:
            edge, marker, beside, side = (right + margin, ">", -7, "right") if mean > high else (left - margin, "<", 7, "left")
            axes.plot([edge], [place], marker, color=DOT, markersize=4.5, markerfacecolor="none", clip_on=False)
            text = f"{mean:.{metric.digits}f}"
            axes.annotate(text, (edge, place), (beside, 0), textcoords="offset points", ha=side, va="center", fontsize="small", color=DIM)


def usual(means: Sequence[float]) -> tuple[float, float]:
    """The ends of what is drawn to scale: all means, or, if a third of that would be taken by outliers, the others."""
    first, third = np.percentile(means, [25, 75])
    reach = FENCE * (third - first)
    inside = [mean for mean in means if first - reach <= mean <= third + reach]
    low, high = min(means), max(means)
    if max(inside) - min(inside) < 2 / 3 * (high - low):
        low, high = min(inside), max(inside)
    return low, high
