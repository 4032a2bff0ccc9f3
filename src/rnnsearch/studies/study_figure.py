"""A study as a picture: for each test set the variants one below the other, a column for each metric, a dot
with its spread."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch.drawing.curves import drawn_plainly, plain_axes
from rnnsearch.drawing.palette import DIM, SERIES, TEXT
from rnnsearch.studies.scores import TEST_METRICS, Metric, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOT, BASELINE = SERIES[0], SERIES[1]
FONT = 9.0
FENCE = 1.5
"""Of the distance between the quartiles: a mean that is farther from them may be an outlier (Tukey 1977)."""


def study_figure(test: dict[str, Any], baseline: str) -> Figure | None:
    """Draws one test set as table.json has it; None if nothing was measured.

    The baseline's mean is ruled through each column. A variant far from all others would press these
    together: it is an arrow at the edge of its column, with its value.
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
    """Draws one column."""
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
    """Returns the ends of what is drawn to scale: all means, or, if a third of that would be taken by
    outliers, the others."""
    first, third = np.percentile(means, [25, 75])
    reach = FENCE * (third - first)
    inside = [mean for mean in means if first - reach <= mean <= third + reach]
    low, high = min(means), max(means)
    if max(inside) - min(inside) < 2 / 3 * (high - low):
        low, high = min(inside), max(inside)
    return low, high
