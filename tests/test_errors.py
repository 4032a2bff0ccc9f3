"""A message is one line that does nothing to the terminal, whatever the names in it hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnnsearch.errors import InputError, escaped


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain é 中 a\u0301", "plain é 中 a\u0301"),
        ("tab\tand\nline", r"tab\tand\nline"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("not UTF-8 \udcff", r"not UTF-8 \udcff"),
    ],
)
def test_what_no_terminal_shows_is_escaped(name: str, shown: str) -> None:
    assert escaped(name) == shown
    assert str(InputError("is odd", file=name)) == f"{shown}: is odd"
    assert escaped(name).encode("utf-8")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("is wrong"), "is wrong"),
        (InputError("is wrong", remedy="mend it"), "is wrong (mend it)"),
        (InputError("is wrong", file="a.txt"), "a.txt: is wrong"),
        (InputError("is wrong", file=Path("a/b"), line=3, remedy="mend it"), "a/b:3: is wrong (mend it)"),
        (
            InputError("is\r\nwrong\x1b[2J", file="a\nb", remedy="mend\nit"),
            r"a\nb: is wrong\x1b[2J (mend it)",
        ),
    ],
)
def test_an_error_is_one_line(error: InputError, line: str) -> None:
    assert str(error) == line
