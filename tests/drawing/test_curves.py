"""Names that do not touch, and pictures that take the page's colours and letters."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.drawing.curves import COLOURS, DIM, TEXT, Curve, curve_figure, spread
from rnnsearch.drawing.inline_svg import inline_svg, write_figure

NAMES = ["A", "B & <C>", "D" * 40]


def svg(name: str = "name") -> str:
    curves = [Curve(text, place, [0.0, 1.0, 2.0], [1.0, None, 3.0 + place], [0, None, 2], [2, None, 5]) for place, text in enumerate(NAMES)]
    ticks = [(0.0, "1–10", "5"), (1.0, "11–20", "0"), (2.0, "21+", "12")]
    return inline_svg(curve_figure(curves, "words", "BLEU", ticks=ticks, level=1.0), name, "A title <&>", "What it shows")


@given(st.lists(st.floats(-50, 50), max_size=8), st.floats(0.5, 5))
def test_names_keep_apart_and_in_order(heights: list[float], step: float) -> None:
    placed = spread(heights, step, -50, 50)
    assert sorted(placed) == pytest.approx([placed[index] for index in sorted(range(len(heights)), key=lambda index: heights[index])])
    assert all(later - earlier >= step - 1e-6 for earlier, later in pairwise(sorted(placed)))
    assert all(-50 - 1e-6 <= height <= 50 + 1e-6 for height in placed)


def test_names_that_have_room_stay_where_their_curves_end() -> None:
    assert spread([3.0, 1.0, 2.0], 0.5, 0, 10) == [3.0, 1.0, 2.0]


def test_a_picture_is_whole_and_has_words_for_those_who_cannot_see_it() -> None:
    root = ElementTree.fromstring(svg())
    inside = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    assert root.get("aria-labelledby") == "name-title name-description"
    assert (inside["name-title"], inside["name-description"]) == ("A title <&>", "What it shows")


def test_names_and_numbers_are_text() -> None:
    texts = {element.text for element in ElementTree.fromstring(svg()).iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {"A", "B & <C>", "D" * 21 + "…", "1–10", "11–20", "12", "words", "BLEU"}


def test_colours_and_letters_are_the_page_s() -> None:
    drawn = svg()
    assert not any(colour in drawn for colour in (*COLOURS, TEXT, DIM))
    assert {f"var(--system-{place})" for place in range(3)} <= set(re.findall(r"var\([^)]*\)", drawn))
    assert "font-family" not in drawn
    assert "<style" not in drawn


def test_two_pictures_share_no_name() -> None:
    first, second = (set(re.findall(r'\bid="([^"]*)"', svg(name))) for name in ("one", "two"))
    assert first
    assert not first & second
    drawn = svg("one")
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', drawn))
    assert used <= first


def test_the_same_numbers_are_the_same_files(tmp_path: Path) -> None:
    contents = []
    for _ in range(2):
        write_figure(curve_figure([Curve("A", 0, [0, 1], [0, 1])], "x", "y"), tmp_path, "f")
        contents.append([(tmp_path / name).read_bytes() for name in ("f.svg", "f.pdf")])
    assert contents[0] == contents[1]
