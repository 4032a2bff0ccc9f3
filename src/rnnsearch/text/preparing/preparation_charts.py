"""The charts of a preparation: sentence lengths, their ratios, growth of the vocabulary, and how much of the text its words cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from rnnsearch.drawing.curves import Curve, curve_figure
from rnnsearch.drawing.document import Picture, Pictures
from rnnsearch.drawing.figures import inline_svg
from rnnsearch.text.preparing.preparation_report import PreparationReport, SideReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 0.999
"""Share of the sentences whose lengths are drawn: a few very long ones would hide all others."""
_TICKS = [(0.125, "1/8", ""), (0.25, "1/4", ""), (0.5, "1/2", ""), (1.0, "1", ""), (2.0, "2", ""), (4.0, "4", ""), (8.0, "8", "")]

Sides = Sequence[tuple[str, SideReport]]


def charts(report: PreparationReport) -> Pictures:
    """Drawn by matplotlib, as all charts are; it is imported here, after the work."""
    sides: Sides = (("source", report.source), ("target", report.target))
    pictures = [_lengths(sides), _ratios(report.ratios), _growth(sides), _coverage(sides)]
    return Pictures("charts", "Lengths and vocabulary", pictures)


def _lengths(sides: Sides) -> Picture:
    longest = max(side.longest for _, side in sides)
    usual = max(next(place for place, sum_ in enumerate(accumulate(side.lengths)) if sum_ >= SHOWN * side.sentences) for _, side in sides)
    longest = longest if longest < 1.5 * usual else usual
    curves = []
    for place, (name, side) in enumerate(sides):
        heights = [*map(float, side.lengths[: longest + 1]), 0.0]
        curves.append(Curve(name, place, range(len(heights)), heights, stepped=True))
    hidden = sum(sum(side.lengths[longest + 1 :]) for _, side in sides)
    label = f"words; longer, not shown: {hidden:,} sentence{'s' * (hidden != 1)}" if hidden else "words"
    said = (f"{name}: {side.words / max(side.sentences, 1):.1f} words on average, at most {side.longest}" for name, side in sides)
    return _picture("lengths", "Sentence lengths", said, curve_figure(curves, label, "sentences"))


def _ratios(ratios: Sequence[tuple[float, int]]) -> Picture:
    width = ratios[2][0] / ratios[1][0]  # of a bar; the first and the last are given an end
    x = [ratios[1][0] / width, *(bound for bound, _ in ratios[1:]), ratios[-1][0] * width]
    curve = Curve("pairs", 0, x, [*(pairs for _, pairs in ratios), 0], stepped=True)
    peak = max(range(len(ratios)), key=lambda place: ratios[place][1])
    figure = curve_figure([curve], "target words / source words", "pairs", ticks=_TICKS, logarithmic=True)
    return _picture("ratios", "Ratio of lengths", [f"most pairs from {x[peak]:.2f} to {x[peak + 1]:.2f}"], figure)


def _growth(sides: Sides) -> Picture:
    curves = [Curve(name, place, *_columns([(0, 0), *side.growth])) for place, (name, side) in enumerate(sides)]
    said = (f"{name}: {side.distinct_words:,} different words in {side.words:,}" for name, side in sides)
    return _picture("growth", "Growth of the vocabulary", said, curve_figure(curves, "words read", "different words"))


def _coverage(sides: Sides) -> Picture:
    shares = [[(size, 100 * covered) for size, covered in side.coverage] for _, side in sides]
    curves = [Curve(name, place, *_columns(points)) for place, ((name, _), points) in enumerate(zip(sides, shares, strict=True))]
    figure = curve_figure(curves, "most frequent words", "% of all words", logarithmic=True)
    halves = [next((size for size, share in points if share >= 50), 0) for points in shares]
    said = (f"{name}: half of the text is the {half:,} most frequent words" for (name, _), half in zip(sides, halves, strict=True))
    return _picture("coverage", "Coverage", said, figure)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _picture(name: str, caption: str, said: Iterable[str], figure: Figure) -> Picture:
    alt = f"{caption}. {'; '.join(said)}."
    return Picture(name, caption, alt, inline_svg(figure, name, caption, alt))
