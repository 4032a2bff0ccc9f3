"""Text for a terminal: without characters that move the cursor, and measured in columns (`rich.cells`)."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from rich.cells import cell_len, set_cell_size

MOST_MARKS = 30
"""Combining marks shown on one letter, as in Unicode's stream-safe text format: normalising n marks takes n²
steps."""


def printable(text: str) -> str:
    """Composes the text (NFC) and makes it safe for a terminal: control characters become �, format
    characters are removed.

    A combining mark at the beginning is put on a dotted circle. A letter keeps at most MOST_MARKS marks.
    """
    shown = "".join(_printable(character) for character in unicodedata.normalize("NFC", _limit_marks(text)))
    return "◌" + shown if shown and not cell_len(shown[0]) else shown


def graphemes(text: str) -> list[str]:
    """Splits printable text into letters, each with its combining marks."""
    starts = [place for place, character in enumerate(text) if place == 0 or cell_len(character)]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def shorten(text: str, width: int) -> str:
    """Returns the text if it fits into `width` ≥ 1 columns, else its beginning and an ellipsis."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def pad_left(text: str, width: int) -> str:
    """Puts spaces before the text, up to `width` columns."""
    return " " * (width - cell_len(text)) + text


def _limit_marks(text: str) -> str:
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
