"""Charts of several systems, as in the paper's Figure 2: curves with bands, or steps, each named beside its end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rnnsearch.drawing.palette import DIM, RULE, SERIES, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# Inches and points. A picture is as wide as a telephone, so that its letters stay legible there; side by side on a screen.
WIDTH, HEIGHT = 5.2, 3.6
FONT = 11.0
_LONGEST_NAME = 22


@dataclass(frozen=True)
class Curve:
    """A system's values; None where it has none. low, high: the band around them. place: of the system, which decides its colour.

    few: of each point, whether it rests on so little that it is drawn hollow, outside the line and the band. stepped: a filled histogram,
    in which a point is the height from its x to that of the next.
    """

    name: str
    place: int
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    few: Sequence[bool] = ()
    stepped: bool = False

    @property
    def colour(self) -> str:
        return SERIES[self.place % len(SERIES)]

    @property
    def points(self) -> list[tuple[float, float, bool]]:
        """(x, y, whether it rests on few) where there is a value."""
        few = self.few or [False] * len(self.x)
        return [(x, y, one) for x, y, one in zip(self.x, self.y, few, strict=True) if y is not None and not math.isnan(y)]


def curve_figure(
    curves: Sequence[Curve],
    x_label: str,
    y_label: str,
    *,
    ticks: Sequence[tuple[float, str, str]] = (),
    level: float | None = None,
    logarithmic: bool = False,
) -> Figure:
    """Draws the curves. ticks: (x, what is written there, what below it), if not numbers. level: a value to compare with, ruled across.

    logarithmic: the x axis. The y axis fits the points that rest on enough; a hollow one beyond it is an arrow at the edge, with its value.
    """
    from matplotlib.figure import Figure

    with drawn_plainly(FONT):
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=72)
        axes = figure.add_subplot()
        plain_axes(axes)
        if logarithmic:
            axes.set_xscale("log")
        if level is not None:
            axes.axhline(level, color=DIM, linewidth=1.0)
        every_few = all(few for curve in curves for *_, few in curve.points)
        for curve in curves:
            _draw(axes, curve, every_few)
        if any(curve.stepped for curve in curves):
            axes.set_ylim(bottom=0)
        axes.set_ylim(_limits(axes, curves))
        for curve in curves if not every_few else ():
            _draw_few(axes, curve)
        below = any(text for *_, text in ticks)
        _label(axes, x_label, y_label, ticks, below)
        _name_curves(figure, axes, curves, below)
    return figure


@contextmanager
def drawn_plainly(size: float) -> Iterator[None]:
    """Letters of this size, in points, and the palette's colours."""
    from matplotlib import rc_context

    with rc_context({"font.size": size, "axes.edgecolor": DIM, "text.color": TEXT, "axes.labelcolor": DIM}):
        yield


def plain_axes(axes: Axes) -> None:
    """Hairlines across and an axis below; nothing else."""
    from matplotlib import rcParams

    for spine in ("top", "right", "left"):
        axes.spines[spine].set_visible(False)
    axes.tick_params(which="both", colors=DIM, length=0, pad=5, labelsize=0.92 * rcParams["font.size"])  # else those of seven buckets touch
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)


def short_number(value: float, _: object = None) -> str:
    """For an axis: 1.5M, 20k, 0.25."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _draw(axes: Axes, curve: Curve, every_few: bool) -> None:
    """The line, its markers and its band, or the steps; without the points that rest on few, unless all do."""
    left_out = [False] * len(curve.x) if every_few or not curve.few else curve.few
    y, low, high = (
        [math.nan if value is None or few else value for value, few in zip(values, left_out, strict=True)] if values else []
        for values in (curve.y, curve.low, curve.high)
    )
    if curve.stepped:
        axes.fill_between(curve.x, y, step="post", color=curve.colour, alpha=0.25, linewidth=0)
        axes.step(curve.x, y, where="post", color=curve.colour, linewidth=1.2)
        return
    marker = "" if len(curve.x) > 20 else MARKERS[curve.place % len(MARKERS)]
    line = "" if every_few and marker else DASHES[curve.place % len(DASHES)]
    face = "none" if every_few else curve.colour
    axes.plot(curve.x, y, linestyle=line, color=curve.colour, linewidth=1.8, marker=marker, markersize=5.5, markerfacecolor=face)
    if low and not every_few:
        axes.fill_between(curve.x, low, high, color=curve.colour, alpha=0.13, linewidth=0)


def _limits(axes: Axes, curves: Sequence[Curve]) -> tuple[float, float]:
    """Of the y axis: as what is drawn asks for, and at most half as much again for the points that rest on few."""
    bottom, top = axes.get_ylim()
    room = (top - bottom) / 2
    few = [y for curve in curves for _, y, one in curve.points if one]
    lowest, highest = min([bottom, *few]), max([top, *few])
    margin = 0.05 * (highest - lowest)
    return (max(lowest - margin, bottom - room) if lowest < bottom else bottom, min(highest + margin, top + room) if highest > top else top)


def _draw_few(axes: Axes, curve: Curve) -> None:
    bottom, top = axes.get_ylim()
    for x, y, few in curve.points:
        if few:
            inside = min(max(y, bottom), top)
            marker = MARKERS[curve.place % len(MARKERS)] if inside == y else "^" if y > top else "v"
            axes.plot([x], [inside], color=curve.colour, marker=marker, markersize=5.5, mfc="none", clip_on=False)
            if inside != y:
                beside: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": FONT - 3}
                axes.annotate(f"{y:.3g}", (x, inside), color=curve.colour, **beside)


def _label(axes: Axes, x_label: str, y_label: str, ticks: Sequence[tuple[float, str, str]], below: bool) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if max(map(abs, limits)) >= 1000 or axis.get_scale() == "log":
            axis.set_major_formatter(FuncFormatter(short_number))
    axes.locator_params(axis="y", nbins=6)
    if axes.get_xscale() == "log":
        axes.xaxis.set_minor_locator(NullLocator())
    if ticks:
        axes.set_xticks([x for x, _, _ in ticks], [text for _, text, _ in ticks])
    for x, _, text in ticks:
        where = axes.get_xaxis_transform()
        axes.annotate(
            text, (x, 0), (0, -21), where, "offset points", ha="center", va="top", fontsize=FONT - 2, color=DIM, annotation_clip=False
        )
    axes.set_xlabel(x_label, labelpad=18 if below else 4)
    axes.set_title(y_label, loc="left", fontsize=FONT, color=DIM)  # above the axis: read without turning the head


def _name_curves(figure: Figure, axes: Axes, curves: Sequence[Curve], below: bool) -> None:
    """Writes each name at the right of its curve's end, moved apart where they would touch; of histograms at the top."""
    bottom, top = axes.get_ylim()
    ends = []
    for curve in reversed(curves):  # of several at one height the first stands on top
        if curve.points:
            solid = [y for _, y, few in curve.points if not few] or [y for _, y, _ in curve.points]
            ends.append((top if curve.stepped else solid[-1], curve))
    longest = max((len(curve.name) for _, curve in ends), default=0)
    right = min(0.04 + 0.0165 * min(longest, _LONGEST_NAME), 0.42)
    figure.subplots_adjust(left=0.095, right=1 - right, top=0.9, bottom=0.24 if below else 0.17)
    step = (top - bottom) * FONT * 1.25 / (HEIGHT * 72 * 0.66)
    for height, (_, curve) in zip(spread([end for end, _ in ends], step, bottom, top), ends, strict=True):
        axes.annotate(
            curve.name if len(curve.name) <= _LONGEST_NAME else curve.name[: _LONGEST_NAME - 1] + "…",
            (1.015, (height - bottom) / (top - bottom)),
            xycoords="axes fraction",
            color=curve.colour,
            va="center",
            annotation_clip=False,
            parse_math=False,  # `$` in a name is a letter
        )


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
