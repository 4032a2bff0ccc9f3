"""Names that do not touch, and pictures that take the page's colours and letters."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg

from rnnsearch.drawing.figures import Curve, curve_figure, inline_svg, save_figure
from rnnsearch.drawing.palette import DIM, SERIES, TEXT
from rnnsearch.errors import InputError

NAMES = ["A", "B & <$C$>", "D" * 40]


def svg(name: str = "name") -> str:
    curves = [
        Curve(text, place, [0.0, 1.0, 2.0], [1.0, None, 3.0 + place], [0, None, 2], [2, None, 5])
        for place, text in enumerate(NAMES)
    ]
    ticks = [(0.0, "1–10", "5"), (1.0, "11–20", "0"), (2.0, "21+", "12")]
    return inline_svg(
        curve_figure(curves, "words", "BLEU", ticks=ticks, level=1.0), name, "A title <&>", "What it shows"
    )


def test_a_picture_is_whole_and_has_words_for_those_who_cannot_see_it() -> None:
    root = ElementTree.fromstring(svg())
    inside = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    assert root.get("aria-labelledby") == "name-title name-description"
    assert (inside["name-title"], inside["name-description"]) == ("A title <&>", "What it shows")


def test_names_and_numbers_are_text() -> None:
    texts = {
        element.text for element in ElementTree.fromstring(svg()).iter("{http://www.w3.org/2000/svg}text")
    }
    assert texts >= {"A", "B & <$C$>", "D" * 21 + "…", "1–10", "words", "BLEU"}


def test_colours_and_letters_are_the_page_s() -> None:
    drawn = svg()
    assert not any(colour in drawn for colour in (*SERIES, TEXT, DIM))
    assert {f"var(--series-{place})" for place in range(3)} <= set(re.findall(r"var\([^)]*\)", drawn))
    assert "font-family" not in drawn
    assert "<style" not in drawn


@pytest.mark.parametrize("suffix", [".pdf", ".svg"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_is_one_line(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"figure{suffix}").symlink_to("/dev/full")
    figure = curve_figure([Curve("A", 0, [0.0, 1.0], [1.0, 2.0])], "x", "y")
    with pytest.raises(InputError, match="No space left"):
        save_figure(figure, tmp_path / f"figure{suffix}")


def test_two_pictures_share_no_name() -> None:
    first, second = (set(re.findall(r'\bid="([^"]*)"', svg(name))) for name in ("one", "two"))
    assert first
    assert not first & second
    drawn = svg("one")
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', drawn))
    assert used <= first


def drawn(*curves: Curve) -> Axes:
    """The chart, whose curves are bands, then lines."""
    return curve_figure(curves, "x", "y").axes[0]


def markers(axes: Axes) -> list[tuple[str, float, float]]:
    """(marker, x, y) of the hollow points."""
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    return [
        (str(line.get_marker()), float(x), float(y))
        for line in hollow
        for x, y in line.get_xydata()
        if not math.isnan(y)
    ]


def test_points_that_rest_on_few_are_hollow_and_outside_line_and_band() -> None:
    y, few = [20.0, 22.0, 21.0, 23.0], [False, True, False, False]
    axes = drawn(Curve("A", 0, range(4), y, [value - 2 for value in y], [value + 2 for value in y], few))
    line, *_ = axes.lines
    assert [math.isnan(value) for value in line.get_ydata()] == few  # type: ignore[union-attr]
    (band,) = axes.collections
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    assert 1.0 not in corners[:, 0]
    assert markers(axes) == [("o", 1.0, 22.0)]


def test_a_hollow_point_far_away_does_not_press_the_others_together() -> None:
    """Two sentences with BLEU 78 beside thousands between 20 and 24: an arrow at the edge, with the value in
    words."""
    axes = drawn(Curve("A", 0, range(3), [20.0, 24.0, 78.0], few=[False, False, True]))
    bottom, top = axes.get_ylim()
    assert (bottom, top) == (pytest.approx(20, abs=0.5), pytest.approx(24, abs=0.5))
    assert markers(axes) == [("^", 2.0, top)]
    assert "78" in [text.get_text() for text in axes.texts]


def test_where_all_points_rest_on_few_none_is_joined() -> None:
    axes = drawn(Curve("A", 0, range(2), [20.0, 78.0], [10, 70], [30, 90], [True, True]))
    assert markers(axes) == [("o", 0.0, 20.0), ("o", 1.0, 78.0)]
    assert not axes.collections
    assert all(line.get_linestyle() == "None" for line in axes.lines)
    assert axes.get_ylim()[1] > 78


def test_thousands_are_written_short() -> None:
    axes = drawn(Curve("A", 0, [0.0, 1.0], [0.0, 20_000.0]))
    FigureCanvasAgg(axes.figure).draw()  # type: ignore[arg-type]
    assert {"0", "20k"} <= {label.get_text() for label in axes.get_yticklabels()}


def test_the_labels_of_seven_buckets_do_not_touch() -> None:
    names = ["1–10", "11–20", "21–30", "31–40", "41–50", "51–60", "61+"]
    ticks = [(float(place), name, "1,234") for place, name in enumerate(names)]
    figure = curve_figure([Curve("RNNsearch-50", 0, range(7), [1.0] * 7)], "words", "BLEU", ticks=ticks)
    FigureCanvasAgg(figure).draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert all(left.x1 + 2 < right.x0 for left, right in pairwise(boxes))
