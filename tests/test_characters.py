"""Columns in a terminal, and text that cannot move its cursor."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rnnsearch.figure3 import MOST_MARKS, graphemes, pad_left, printable, shorten


@pytest.mark.parametrize(
    ("text", "shown", "width"),
    [
        ("été", "été", 3),
        ("e\u0301te\u0301", "été", 3),
        ("x\u0301", "x\u0301", 1),
        ("\u0301x", "◌\u0301x", 2),
        ("東京", "東京", 4),
        ("ﾃｷｽﾄ", "ﾃｷｽﾄ", 4),
        ("ＡＢ", "ＡＢ", 4),
        ("한\u1100\u1161", "한가", 4),
        ("10\u00a0000", "10 000", 6),
        ("a\u200bb\u202ec", "abc", 3),
        ("two\u2060hundred", "two hundred", 11),
        ("\x1b[31m", "�[31m", 5),
        ("a\u2028b\nc", "a�b�c", 5),
        ("", "", 0),
    ],
)
def test_what_is_shown_and_how_wide(text: str, shown: str, width: int) -> None:
    assert printable(text) == shown
    assert cell_len(shown) == width


@pytest.mark.parametrize("marks", ["\u0301", "\u0301\u0316", "\u20dd"])
def test_a_letter_with_more_marks_than_can_be_shown(marks: str) -> None:
    """To compose all of them would take minutes."""
    shown = printable(f"b{marks * 50_000}c")
    assert len(shown) == 2 + MOST_MARKS
    assert graphemes(shown) == [shown[:-1], "c"]
    assert graphemes("b" + marks * 50_000) == ["b" + marks * 50_000]


def test_marks_stay_with_their_letter() -> None:
    assert graphemes("ax\u0301\u0323東") == ["a", "x\u0301\u0323", "東"]


@pytest.mark.parametrize(
    ("width", "expected"), [(6, "東京都"), (5, "東京…"), (4, "東…"), (3, "東…"), (2, "…"), (1, "…")]
)
def test_shortened_text_keeps_whole_letters(width: int, expected: str) -> None:
    assert shorten("東京都", width) == expected


@given(st.text(), st.integers(1, 20))
def test_text_fits_where_it_is_put(text: str, width: int) -> None:
    shown = shorten(printable(text), width)
    assert all(unicodedata.category(character)[0] != "C" for character in shown)
    assert cell_len(pad_left(shown, width)) == width
    assert "".join(graphemes(shown)) == shown
