"""A message is one line that does nothing to the terminal, whatever the names in it hold."""

from __future__ import annotations

import pytest

from rnnsearch.errors import LONGEST, InputError, printed


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
    assert printed(name) == shown
    assert str(InputError("is odd", file=name)) == f"{shown}: is odd"
    assert printed(name).encode("utf-8")


def test_a_message_of_several_lines_becomes_one() -> None:
    assert str(InputError("first\r\nsecond\nthird\x1b[2J", file="f", line=3, remedy="do\nthis")) == (
        r"f:3: first second third\x1b[2J (do this)"
    )


def test_a_number_of_thousands_of_digits_is_shortened() -> None:
    message = str(InputError(f"--set training.seed={'9' * 5000} is too large", remedy="name a smaller one"))
    assert len(message) < LONGEST + 10
    assert message.startswith("--set training.seed=999")
    assert message.endswith("is too large (name a smaller one)")
