"""Charts of several systems, as in the paper's Figure 2. matplotlib's pictures as files and as
elements of a page, with real text, colours for light and dark, and descriptions for screen
readers."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch.figure3 import SALT, drawing, shorten
from rnnsearch.lab.palette import DIM, LIGHT, RULE, SERIES, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

WIDTH, HEIGHT = 5.2, 3.6
"""In inches: the width of a telephone, where letters stay legible; a screen shows several side by
side."""
FONT = 11.0
_LONGEST_NAME = 22
STYLE: Any = {
    "font.size": FONT,
    "text.color": TEXT,
    "text.parse_math": False,
    "axes.labelcolor": DIM,
    "axes.edgecolor": DIM,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": RULE,
    **{f"axes.spines.{side}": False for side in ("top", "right", "left")},
    **{
        f"{axis}tick.{name}": value
        for axis in "xy"
        # letters are smaller, so that the labels of seven buckets do not touch
        for name, value in {
            "color": DIM,
            "major.size": 0,
            "major.pad": 5,
            "labelsize": 0.92 * FONT,
        }.items()
    },
}
"""Only horizontal hairlines and the lower axis, in the palette's colours; `$` in a name is a
letter."""


@dataclass(frozen=True)
class Curve:
    """A system's curve; y is None where it has no value. low, high: the band around it.

    place: position of the system, which decides its colour.
    """

    name: str
    place: int
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


def curve_figure(
    curves: Sequence[Curve], x_label: str, y_label: str, *, ticks: Sequence[str] = ()
) -> Figure:
    """Draws the curves. ticks: texts at x = 0, 1, …, in place of numbers."""
    with drawing(STYLE):
        from matplotlib.figure import Figure
        from matplotlib.ticker import EngFormatter

        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=72, layout="constrained")
        axes = figure.add_subplot()
        lines = [_draw(axes, curve) for curve in curves]
        axes.locator_params(axis="y", nbins=6)
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            if max(map(abs, limits)) >= 1000:
                axis.set_major_formatter(EngFormatter(sep=""))
        if ticks:
            axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlabel(x_label)
        # horizontal text is easier to read
        axes.set_title(y_label, loc="left", fontsize=FONT, color=DIM)
        _draw_legend(figure, lines, [shorten(curve.name, _LONGEST_NAME) for curve in curves])
    return figure


def _draw_legend(figure: Figure, lines: Sequence[Line2D], names: Sequence[str]) -> None:
    """Draws the legend in as many columns, at most three, as the figure is wide. What is higher
    than an inch makes the figure higher."""
    for columns in range(min(3, max(1, len(lines))), 0, -1):
        legend = figure.legend(
            lines, [""] * len(lines), loc="outside lower center", ncols=columns, frameon=False
        )
        # `_a` would be left out as a label
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_text(name)
        extent = legend.get_window_extent()
        if columns == 1 or extent.width <= figure.bbox.width:
            figure.set_figheight(HEIGHT + max(0.0, extent.height / figure.dpi - 1))
            return
        legend.remove()


def _draw(axes: Axes, curve: Curve) -> Line2D:
    """Draws and returns the line, with markers and band. A colour that recurs has another dash and
    marker."""
    again, place = divmod(curve.place, len(SERIES))
    colour, marker = SERIES[place], MARKERS[(place + again) % len(MARKERS)]
    y, low, high = (
        np.array(values, dtype=np.float64) for values in (curve.y, curve.low, curve.high)
    )
    (line,) = axes.plot(
        curve.x,
        y,
        color=colour,
        linestyle=DASHES[(place + again) % len(DASHES)],
        linewidth=1.8,
        marker=marker if len(curve.x) <= 20 else "",
        markersize=5.5,
    )
    if len(low):
        axes.fill_between(curve.x, low, high, color=colour, alpha=0.13, linewidth=0)
    return line


VARIABLES = {
    LIGHT[name]: f"--{name}"
    for name in ("text", "dim", "rule", *(f"series-{place}" for place in range(len(SERIES))))
}
"""Colour of a chart → the page's custom property."""

# A style sheet would style the whole page.
_NOT_DRAWN = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->\n?|<style.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_ATTRIBUTE = re.compile(r'((?:xlink:)?href="#|url\(#|\bid=")')
_FAMILY = re.compile(r"font(?:-family)?: *[^;\"]*(?:;|(?=\"))")
_SIZE = re.compile(r"([0-9.]+)px")


def inline_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """Draws the figure as an <svg> element of a page (see `inline`)."""
    with drawing({"svg.fonttype": "none", "svg.hashsalt": SALT}):
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True)
    return inline(file.getvalue(), name, title, description)


def inline(drawn: str, name: str, title: str, description: str) -> str:
    """Turns matplotlib's SVG file into an element of a page, with the page's colours and font.

    name: prefix of every id, because a page holds several pictures. title, description: for screen
    readers.
    """
    body = drawn[drawn.index(">", drawn.index("<svg")) + 1 :]
    box = re.search(r'viewBox="([0-9. -]+)"', drawn)
    assert box is not None
    body = _NOT_DRAWN.sub("", body)
    body = _TAG.sub(lambda tag: _ATTRIBUTE.sub(rf"\g<1>{name}-", tag[0]), body)
    for colour, variable in VARIABLES.items():
        body = body.replace(colour, f"var({variable})")
    body = re.sub(
        r'style="([^"]*)"', lambda match: f'style="{_FAMILY.sub(_only_size, match[1])}"', body
    )
    width = float(box[1].split()[2])
    opening = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' viewBox="{box[1]}" style="--width: {width:.0f}px" role="img"'
        f' aria-labelledby="{name}-title {name}-description">'
    )
    words = (
        f'<title id="{name}-title">{escape(title)}</title><desc '
        f'id="{name}-description">{escape(description)}</desc>'
    )
    return opening + words + body.strip()


def _only_size(match: re.Match[str]) -> str:
    size = _SIZE.search(match[0])
    return f"font-size: {size[1]}px;" if size else ""
