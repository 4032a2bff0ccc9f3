"""Pictures of alignments as text for a terminal, and as an HTML table for notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from rnnsearch.drawing.alignment_figure import Panel, matrix_of
from rnnsearch.drawing.characters import graphemes, pad_left, pad_right, printable, shorten
from rnnsearch.drawing.page import render
from rnnsearch.drawing.palette import SERIES
from rnnsearch.errors import InputError
from rnnsearch.word_links import GoldLinks

SHADES = " ░▒▓█"
"""α is rounded to the nearest of 0, ¼, ½, ¾, 1."""

_TALLEST_LABEL = 14  # lines of a vertical label
_NARROWEST = 8  # columns: a label of two, the frame, two cells
_GAP = 3  # columns between two pictures
_ENDLESS = 1 << 20
_SKIPPED = "⋮"


def alignment_text(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    weights: NDArray[np.floating],
    width: int = 100,
    gold: GoldLinks | None = None,
) -> str:
    """Draws α with the shades ` ░▒▓█` (0 … 1): one row per target word, source words written vertically above
    their columns.

    weights: (target, source); NaN is drawn `?`. width: of the longest line, in terminal columns. A longer
    sentence is cut into several pieces, one below the other; each piece replaces rows without a shade by `⋮`.
    gold: sure links are in `[]`, possible ones in `()`. Raises InputError for a width below 8 (with gold
    links 10), weights of another shape, and gold links outside the words.
    """
    matrix = matrix_of(source_tokens, target_tokens, weights, gold)
    cell = 2 if gold is None else 4  # columns, without and with brackets
    if width < (narrowest := cell + _NARROWEST - 2):
        raise InputError(
            f"an alignment cannot be drawn {width} columns wide", remedy=f"use at least {narrowest} columns"
        )
    label_width = min(max((cell_len(printable(token)) for token in target_tokens), default=0), width // 3)
    labels = [pad_left(shorten(printable(token), label_width), label_width) for token in target_tokens]
    headings = [_downwards(printable(token)) for token in source_tokens]
    cells = [
        [_cell(matrix[row, column], column, row, gold) for column in range(len(headings))]
        for row in range(len(labels))
    ]
    # A cell of two columns is a square and has room for a wide letter. The frame takes two columns.
    spans = _spans(len(headings), (width - label_width - 2) // cell)
    return "\n\n".join(
        "\n".join(
            _heading_lines(headings[start:end], label_width, cell) + _rows(labels, matrix, cells, start, end)
        )
        for start, end in spans
    )


def comparison_text(panels: Sequence[Panel], width: int = 100, gold: GoldLinks | None = None) -> str:
    """Draws several runs of one sentence as `alignment_text` does, each under its title: side by side where
    the width allows it, else one below the other."""
    whole = [alignment_text(*panel[1:], width=_ENDLESS, gold=gold).split("\n") for panel in panels]
    titles = [printable(panel.title) for panel in panels]
    widths = [max(map(cell_len, [title, *lines])) for title, lines in zip(titles, whole, strict=True)]
    if sum(widths) + _GAP * (len(panels) - 1) > width:
        texts = [alignment_text(*panel[1:], width=width, gold=gold) for panel in panels]
        return "\n\n".join(
            f"{shorten(title, width)}\n{text}" for title, text in zip(titles, texts, strict=True)
        )
    height = max(map(len, whole))
    columns = [
        [title, *[""] * (height - len(lines)), *lines] for title, lines in zip(titles, whole, strict=True)
    ]
    rows = zip(*columns, strict=True)
    return "\n".join(
        (" " * _GAP).join(pad_right(part, size) for part, size in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def alignment_table(
    source_tokens: Sequence[str], target_tokens: Sequence[str], weights: NDArray[np.floating], title: str
) -> str:
    """Returns α as an HTML <table>: a row for each target word, a column for each source word. A larger α is
    darker.

    weights: (target, source), each in [0, 1], shown as a tooltip. title: a line above the table. Words are
    escaped.
    """
    source, target = [printable(word) for word in source_tokens], [printable(word) for word in target_tokens]
    shades = np.clip(np.nan_to_num(weights), 0.0, 1.0)
    rows = [
        (
            word,
            [
                (f"{word} – {source[column]} {weight:.2f}", f"{SERIES[0]}{round(255 * weight):02x}")
                for column, weight in enumerate(row)
            ],
        )
        for word, row in zip(target, shades.tolist(), strict=True)
    ]
    return render("alignment_table.html", title=printable(title), source=source, rows=rows)


def _downwards(token: str) -> list[str]:
    letters = graphemes(token)
    return letters if len(letters) <= _TALLEST_LABEL else [*letters[: _TALLEST_LABEL - 1], _SKIPPED]


def _spans(count: int, largest: int) -> list[tuple[int, int]]:
    """Cuts `count` columns into the fewest pieces of at most `largest` columns, about equally long. For no
    columns it returns one empty piece."""
    pieces = max(math.ceil(count / largest), 1)
    return list(pairwise(count * piece // pieces for piece in range(pieces + 1)))


def _heading_lines(headings: Sequence[Sequence[str]], label_width: int, cell: int) -> list[str]:
    height = max((len(heading) for heading in headings), default=0)
    standing = [[""] * (height - len(heading)) + list(heading) for heading in headings]
    margin = " " * (label_width + cell // 2)
    return [
        (margin + "".join(pad_right(letter, cell) for letter in line)).rstrip()
        for line in zip(*standing, strict=True)
    ]


def _rows(
    labels: Sequence[str], matrix: NDArray[np.float64], cells: Sequence[Sequence[str]], start: int, end: int
) -> list[str]:
    """Returns the rows of one piece, the columns start … end − 1. Adjacent rows that have neither a shade nor
    their largest weight there become one `⋮`."""
    lines: list[str] = []
    for label, row, drawn in zip(labels, matrix, cells, strict=True):
        shown = "".join(drawn[start:end])
        if shown.strip() or not len(row) or start <= np.argmax(row) < end:
            lines.append(f"{label}│{shown}│")
        elif not lines or not lines[-1].endswith(_SKIPPED):
            lines.append(pad_left(_SKIPPED, cell_len(label)))
    return lines


def _cell(weight: float, source: int, target: int, gold: GoldLinks | None) -> str:
    shade = "??"
    if not math.isnan(weight):
        shade = 2 * SHADES[round(min(max(weight, 0.0), 1.0) * (len(SHADES) - 1))]
    if gold is None:
        return shade
    link = source, target
    left, right = "[]" if link in gold.sure else "()" if link in gold.possible else "  "
    return left + shade + right
