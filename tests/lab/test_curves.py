"""Pictures that take the page's colours and letters, and have words for those who cannot see them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from rnnsearch.lab.figures import Curve, curve_figure, inline_svg
from rnnsearch.lab.palette import DIM, SERIES, TEXT

NAMES = ["A", "B & <$C$>", "D" * 40]


def svg(name: str = "name") -> str:
    curves = [
        Curve(text, place, [0.0, 1.0, 2.0], [1.0, None, 3.0 + place], [0, None, 2], [2, None, 5])
        for place, text in enumerate(NAMES)
    ]
    ticks = ["1–10\n5", "11–20\n0", "21+\n12"]
    return inline_svg(
        curve_figure(curves, "words", "BLEU", ticks=ticks), name, "A title <&>", "What it shows"
    )


def test_a_picture_is_whole_and_has_words_for_those_who_cannot_see_it() -> None:
    root = ElementTree.fromstring(svg())
    inside = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    assert root.get("aria-labelledby") == "name-title name-description"
    assert (inside["name-title"], inside["name-description"]) == ("A title <&>", "What it shows")


def test_names_and_numbers_are_text() -> None:
    texts = {
        element.text
        for element in ElementTree.fromstring(svg()).iter("{http://www.w3.org/2000/svg}text")
    }
    assert texts >= {"A", "B & <$C$>", "D" * 21 + "…", "1–10", "words", "BLEU"}


def test_colours_and_letters_are_the_page_s() -> None:
    drawn = svg()
    assert not any(colour in drawn for colour in (*SERIES, TEXT, DIM))
    assert {f"var(--series-{place})" for place in range(3)} <= set(
        re.findall(r"var\([^)]*\)", drawn)
    )
    assert "font-family" not in drawn
    assert "<style" not in drawn


def test_two_pictures_share_no_name() -> None:
    first, second = (set(re.findall(r'\bid="([^"]*)"', svg(name))) for name in ("one", "two"))
    assert first
    assert not first & second
    drawn = svg("one")
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', drawn))
    assert used <= first


def test_many_curves_differ_and_their_long_names_fit() -> None:
    count = 2 * len(SERIES)
    figure = curve_figure(
        [Curve("n" * 22, place, [0, 1], [0, place]) for place in range(count)], "x", "y"
    )
    looks = {
        (line.get_color(), line.get_linestyle(), line.get_marker()) for line in figure.axes[0].lines
    }
    assert len(looks) == count
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= legend.x0 < legend.x1 <= figure.bbox.x1
    assert figure.axes[0].bbox.height >= figure.bbox.height / 4


def test_words_that_look_like_names_stay_words() -> None:
    words = 'id="x" href="#a"'
    drawn = inline_svg(curve_figure([Curve(words, 0, [0.0], [1.0])], "", ""), "n", "", "")
    assert f">{words}</text>" in drawn
