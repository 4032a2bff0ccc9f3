"""Small charts as SVG, for pages that need nothing else: colours come from the page's style sheet, so they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 28, 44
_TICKS = 5

Points = Sequence[tuple[float, float]]


class Series(NamedTuple):
    """name: in the legend. kind: the class of its colour. points: (x, y), x rising."""

    name: str
    kind: str
    points: Points


class _Axis(NamedTuple):
    low: float
    high: float
    logarithmic: bool

    def share(self, value: float) -> float:
        """Where the value lies between the ends, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.0

    def ticks(self) -> list[float]:
        if self.logarithmic:
            base = 10.0 if self.high / self.low > 100 else 2.0
            return [
                base**power for power in range(math.ceil(math.log(self.low, base) - 1e-9), math.floor(math.log(self.high, base) + 1e-9) + 1)
            ]
        step = 10 ** math.floor(math.log10(max(self.high - self.low, 1e-9) / _TICKS))
        step *= next(factor for factor in (1, 2, 5, 10) if (self.high - self.low) / (step * factor) <= _TICKS)
        first = math.ceil(self.low / step)
        return [step * number for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def lines(title: str, x_label: str, y_label: str, series: Sequence[Series], *, logarithmic: bool = False) -> str:
    """A curve for each series. logarithmic: the x axis."""

    def drawn(points: list[tuple[float, float]], kind: str) -> str:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return f'<polyline class="line {kind}" points="{joined}"/>'

    return _chart(title, x_label, y_label, series, logarithmic, drawn)


def steps(title: str, x_label: str, y_label: str, series: Sequence[Series], *, logarithmic: bool = False) -> str:
    """A filled histogram for each series: a point is the height from its x to that of the next."""

    def drawn(points: list[tuple[float, float]], kind: str) -> str:
        ground = float(HEIGHT - _BOTTOM)
        corners = [(points[0][0], ground)]
        for (x, y), (following, _) in zip(points, [*points[1:], points[-1]], strict=True):
            corners += [(x, y), (following, y)]
        corners.append((points[-1][0], ground))
        return f'<polygon class="area {kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}"/>'

    return _chart(title, x_label, y_label, series, logarithmic, drawn)


def number(value: float) -> str:
    """Short, for an axis: 1.5M, 20k, 0.25."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _chart(
    title: str,
    x_label: str,
    y_label: str,
    series: Sequence[Series],
    logarithmic: bool,
    drawn: Callable[[list[tuple[float, float]], str], str],
) -> str:
    every = [point for one in series for point in one.points]
    if not every:
        return ""
    across = _Axis(min(x for x, _ in every), max(x for x, _ in every), logarithmic)
    up = _Axis(0.0, max(y for _, y in every) * 1.05 or 1.0, False)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for value in across.ticks():
        x = _x(across, value)
        parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle">{number(value)}</text>')
    for value in up.ticks():
        y = _y(up, value)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    parts += [drawn([(_x(across, x), _y(up, y)) for x, y in one.points], one.kind) for one in series if one.points]
    place = _LEFT
    for one in series:
        parts.append(f'<rect class="key {one.kind}" x="{place}" y="8" width="10" height="10"/>')
        parts.append(f'<text class="tick" x="{place + 15}" y="17">{escape(one.name)}</text>')
        place += 30 + 7 * len(one.name)
    parts.append(f'<text class="label" x="{(_LEFT + WIDTH - _RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>')
    middle = (_TOP + HEIGHT - _BOTTOM) / 2
    parts.append(f'<text class="label" transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text></svg>')
    return f"<figure><figcaption>{escape(title)}</figcaption>{''.join(parts)}</figure>"


def _x(axis: _Axis, value: float) -> float:
    return _LEFT + axis.share(value) * (WIDTH - _LEFT - _RIGHT)


def _y(axis: _Axis, value: float) -> float:
    return HEIGHT - _BOTTOM - axis.share(value) * (HEIGHT - _TOP - _BOTTOM)
