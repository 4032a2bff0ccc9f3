"""Curves of several systems, as in the paper's Figure 2, with bands, and each system's name at the end of its curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT, DIM, RULE = "#1c2024", "#5b6570", "#dfe3e8"
COLOURS = ("#0a5fa5", "#b3470a", "#0b7a57", "#9c3a79", "#6a5400", "#4b4fc4", "#a32626", "#3f6a1e")
"""Of the systems, in their order. Okabe & Ito's hues, told apart by the colour-blind, dark enough for text on white."""
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# Inches and points. A picture is as wide as a telephone, so that its letters stay legible there; side by side on a screen.
WIDTH, HEIGHT = 5.2, 3.6
FONT = 11.0


@dataclass(frozen=True)
class Curve:
    """A system's values; None where it has none. low, high: the band around them. place: of the system, which decides its colour."""

    name: str
    place: int
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


def curve_figure(
    curves: Sequence[Curve], x_label: str, y_label: str, *, ticks: Sequence[tuple[float, str, str]] = (), level: float | None = None
) -> Figure:
    """Draws the curves. ticks: (x, what is written there, what below it), if not numbers. level: a value to compare with, ruled across."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.size": FONT, "axes.edgecolor": DIM, "text.color": TEXT, "axes.labelcolor": DIM}):
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=72)
        axes = figure.add_subplot()
        for spine in ("top", "right", "left"):
            axes.spines[spine].set_visible(False)
        axes.tick_params(colors=DIM, length=0, pad=5)
        axes.grid(axis="y", color=RULE, linewidth=0.8)
        axes.set_axisbelow(True)
        if level is not None:
            axes.axhline(level, color=DIM, linewidth=1.0)
        for curve in curves:
            _draw(axes, curve)
        if ticks:
            axes.set_xticks([x for x, _, _ in ticks], [text for _, text, _ in ticks])
        for x, _, below in ticks:
            where = axes.get_xaxis_transform()
            axes.annotate(
                below, (x, 0), (0, -21), where, "offset points", ha="center", va="top", fontsize=FONT - 2, color=DIM, annotation_clip=False
            )
        axes.set_xlabel(x_label, labelpad=18 if ticks else 4)
        axes.set_title(y_label, loc="left", fontsize=FONT, color=DIM)  # above the axis: read without turning the head
        _name_curves(figure, axes, curves, bool(ticks))
    return figure


def _draw(axes: Axes, curve: Curve) -> None:
    colour = COLOURS[curve.place % len(COLOURS)]
    dash = DASHES[curve.place % len(DASHES)]
    marker = MARKERS[curve.place % len(MARKERS)]
    y = [math.nan if value is None else value for value in curve.y]
    dense = len(curve.x) > 20
    style = {"color": colour, "linestyle": dash, "linewidth": 1.8}
    axes.plot(curve.x, y, marker="" if dense else marker, markersize=5.5, **style)  # type: ignore[arg-type]
    if curve.low:
        low = [math.nan if value is None else value for value in curve.low]
        high = [math.nan if value is None else value for value in curve.high]
        axes.fill_between(curve.x, low, high, color=colour, alpha=0.13, linewidth=0)


def _name_curves(figure: Figure, axes: Axes, curves: Sequence[Curve], ticks: bool) -> None:
    """Writes each name at the right of its curve's end, moved apart where they would touch."""
    ends = []
    for curve in curves:
        there = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None and not math.isnan(y)]
        if there:
            ends.append((there[-1][1], curve))
    longest = max((len(curve.name) for _, curve in ends), default=0)
    right = min(0.04 + 0.0165 * min(longest, 22), 0.42)
    figure.subplots_adjust(left=0.095, right=1 - right, top=0.9, bottom=0.24 if ticks else 0.17)
    bottom, top = axes.get_ylim()
    step = (top - bottom) * FONT * 1.25 / (HEIGHT * 72 * 0.66)
    for height, (_, curve) in zip(spread([end for end, _ in ends], step, bottom, top), ends, strict=True):
        axes.annotate(
            _shortened(curve.name),
            (1.015, (height - bottom) / (top - bottom)),
            xycoords="axes fraction",
            color=COLOURS[curve.place % len(COLOURS)],
            va="center",
            annotation_clip=False,
        )
    axes.set_ylim(bottom, top)


def _shortened(name: str) -> str:
    return name if len(name) <= 22 else name[:21] + "…"


def spread(heights: Sequence[float], step: float, bottom: float, top: float) -> list[float]:
    """Heights at least `step` apart, as near to those given as a pass upwards and one downwards find, in the same order."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    placed = [heights[index] for index in order]
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + step)
    limit = top
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - step
    shift = max(bottom - placed[0], 0.0) if placed else 0.0
    result = [0.0] * len(heights)
    for index, height in zip(order, placed, strict=True):
        result[index] = height + shift
    return result
