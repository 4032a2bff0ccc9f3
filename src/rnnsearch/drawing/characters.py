"""How wide text is in a terminal: wide East Asian characters take two columns, combining marks none."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

ELLIPSIS = "…"
MOST_MARKS = 30
"""Combining marks of one letter that are shown, as in Unicode's stream-safe text: to order n of them takes a time that grows as n²."""


def printable(text: str) -> str:
    """The text, composed (NFC), without anything that moves a cursor: control characters become �, format characters vanish.

    A combining mark at its beginning gets a dotted circle to stand on: alone it would join whatever is written before it. Of more than
    MOST_MARKS marks on a letter only so many are left.
    """
    shown = "".join(_printable(character) for character in unicodedata.normalize("NFC", _few_marks(text)))
    return "◌" + shown if shown and _columns(shown[0]) == 0 else shown


def graphemes(text: str) -> list[str]:
    """The letters of printable text as a reader counts them: each with the marks that combine with it."""
    starts = [place for place, character in enumerate(text) if place == 0 or _columns(character)]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def display_width(text: str) -> int:
    """Terminal columns of printable text."""
    return sum(_columns(character) for character in text)


def shorten(text: str, width: int) -> str:
    """The text if it fits into `width` ≥ 1 columns, else its beginning and an ellipsis."""
    if display_width(text) <= width:
        return text
    kept, used = "", 1
    for grapheme in graphemes(text):
        used += display_width(grapheme)
        if used > width:
            break
        kept += grapheme
    return kept + ELLIPSIS


def pad_left(text: str, width: int) -> str:
    """The text moved right to end at column `width`."""
    return " " * (width - display_width(text)) + text


def pad_right(text: str, width: int) -> str:
    """The text followed by spaces up to column `width`."""
    return text + " " * (width - display_width(text))


def _few_marks(text: str) -> str:
    if len(text) <= MOST_MARKS or text.isascii():
        return text
    kept, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _printable(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":  # zero-width joiners, soft hyphens, changes of direction
        return ""
    if category == "Zs":
        return " "
    return "\N{REPLACEMENT CHARACTER}" if category[0] == "C" or category in ("Zl", "Zp") else character


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
