"""Alignments as pictures (the paper's Figure 3, with gold links as boxes), as text for a terminal,
and as an HTML table for notebooks; of one run or of several."""

from __future__ import annotations

import io
import math
import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from html import escape
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from rnnsearch.errors import InputError, InputWarning
from rnnsearch.system.files import writing, written_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rnnsearch.word_links import GoldLinks

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$&])")
SALT = "rnnsearch"
"""A fixed salt: without one the ids in an SVG file are random."""
SUFFIXES = (".png", ".svg", ".pdf")
GOLD, SHADE = "#e66100", "#0a5fa5"
"""Colours of gold links, and of α in an HTML table."""

# Inches and points. Up to 80 words per side, cells and letters have full size; for more words both
# shrink.
_CELL = 0.2
_FONT = 9.0
_PAD = 0.05
_LARGEST = 16.0
_DOTS_PER_INCH = 200
_CJK_LETTERS = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)

_LONGEST_LABEL = 32
_BETWEEN = 0.25  # inches between two pictures
SHADES = " ░▒▓█"
"""α is rounded to the nearest of 0, ¼, ½, ¾, 1."""

_TALLEST_LABEL = 14  # lines of a vertical label
_NARROWEST = 8  # columns: a label of two, the frame, two cells
_SKIPPED = "⋮"


Tokens = Sequence[str]
AlphaMatrix = NDArray[np.floating]
"""α of one sentence, (target, source)."""


class Panel(NamedTuple):
    """One alignment of a picture. weights: (target, source)."""

    title: str
    source_tokens: Tokens
    target_tokens: Tokens
    weights: AlphaMatrix


def alignment_figure(
    source_tokens: Tokens,
    target_tokens: Tokens,
    weights: AlphaMatrix,
    path: str | Path | None = None,
    gold: GoldLinks | None = None,
) -> Figure:
    """Draws α as the paper's Figure 3: source words along the top, target words down the side, 0
    black … 1 white.

    weights: (target, source), each in [0, 1] (Eq. 6). NaN is drawn red. The figure's size follows
    the number of words; labels are legible up to about 80 words. A character that no installed font
    has is drawn as an empty box, with an InputWarning. gold: a solid box marks a sure link, a
    dashed one a possible link. path: of the file to write, .png, .svg or .pdf. Raises InputError
    for another suffix, a folder that does not exist, gold links outside the words, or weights whose
    shape is not (len(target_tokens), len(source_tokens)).
    """
    return comparison_figure([Panel("", source_tokens, target_tokens, weights)], path, gold)


def comparison_figure(
    panels: Sequence[Panel], path: str | Path | None = None, gold: GoldLinks | None = None
) -> Figure:
    """Draws several runs of one sentence side by side, each as in `alignment_figure`, under its
    title."""
    matrices = [matrix_of(*panel[1:], gold) for panel in panels]
    # `$x_1$` is five characters
    with drawing({"text.parse_math": False}):
        from matplotlib import rcParams
        from matplotlib.figure import Figure

        words = chain.from_iterable(
            (*one.source_tokens, *one.target_tokens, one.title) for one in panels
        )
        rcParams["font.family"] += _fonts_with(_beyond_default("".join(words)))
        figure = Figure(dpi=_DOTS_PER_INCH)
        sizes = []
        for number, (panel, matrix) in enumerate(zip(panels, matrices, strict=True)):
            axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), label=str(number))
            sizes.append(_draw_matrix(axes, panel, matrix, gold))
        _fit_figure(figure, sizes)
        if path is not None:
            save_figure(figure, Path(path))
    return figure


def _beyond_default(text: str) -> frozenset[int]:
    """Returns the code points that the default font lacks."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    shown = {ord(one) for one in text if one.isprintable() and not one.isspace()}
    return frozenset(shown - get_font(findfont(FontProperties())).get_charmap().keys())


@cache
def _fonts_with(codes: frozenset[int]) -> list[str]:
    """Returns the names of installed fonts that have the code points: few fonts, upright ones of
    normal weight first."""
    from matplotlib.font_manager import findSystemFonts, fontManager, get_font

    missing, found = set(codes), list[str]()
    if missing:
        # installed since matplotlib has listed the fonts
        for path in set(findSystemFonts()) - {font.fname for font in fontManager.ttflist}:
            with suppress(OSError, RuntimeError):
                fontManager.addfont(path)
        for font in sorted(
            fontManager.ttflist, key=lambda font: (font.style, font.weight) != ("normal", 400)
        ):
            with suppress(OSError, RuntimeError):  # a damaged font
                new = missing & get_font(font.fname).get_charmap().keys()
                if new and not font.name.startswith("Last Resort"):  # boxes
                    found.append(font.name)
                    missing -= new
    return found


@contextmanager
def _missing_glyphs() -> Iterator[None]:
    """Turns matplotlib's warnings of missing characters into one InputWarning, which names a
    package."""
    codes = set()
    with warnings.catch_warnings(record=True) as noted:
        warnings.filterwarnings("always", message="Glyph .* missing from font")
        yield
    for one in noted:
        if found := re.match(r"Glyph (\d+) ", str(one.message)):
            codes.add(int(found[1]))
        else:
            warnings.warn(one.message, one.category, stacklevel=3)
    for package in sorted({"cjk" if _CJK_LETTERS.match(chr(code)) else "core" for code in codes}):
        _warn_of_font(f"fonts-noto-{package}")


@cache
def _warn_of_font(package: str) -> None:
    """Issues an InputWarning, once in a process."""
    what = "no installed font has some letters of these words: figures show boxes instead"
    hint = f"install fonts, for example the package {package}"
    warnings.warn(f"{what} ({hint})", InputWarning, stacklevel=2)


def _draw_matrix(
    axes: Axes, panel: Panel, matrix: NDArray[np.float64], gold: GoldLinks | None
) -> tuple[float, float]:
    """Draws one matrix. Returns its width and height in inches."""
    from matplotlib import colormaps

    rows, columns = max(len(panel.target_tokens), 1), max(len(panel.source_tokens), 1)
    scale = min(1.0, _LARGEST / (_CELL * max(rows, columns)))
    if matrix.size:
        grey = colormaps["gray"].with_extremes(bad="red")
        axes.imshow(matrix, cmap=grey, vmin=0.0, vmax=1.0, interpolation="nearest", aspect="auto")
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.xaxis.tick_top()
    source, target = (
        [shorten(printable(token), _LONGEST_LABEL) for token in tokens] for tokens in panel[1:3]
    )
    axes.set_xticks(range(len(source)), source, rotation=90, fontsize=_FONT * scale)
    axes.set_yticks(range(len(target)), target, fontsize=_FONT * scale)
    # Hairlines between the cells, so that the eye can follow a dark row from its word.
    axes.set_xticks([column + 0.5 for column in range(columns - 1)], minor=True)
    axes.set_yticks([row + 0.5 for row in range(rows - 1)], minor=True)
    axes.tick_params(which="both", length=0, pad=3)
    axes.grid(which="minor", color="0.27", linewidth=0.3 * scale)
    if gold is not None:
        _box(axes, gold, scale)
    if panel.title:
        axes.set_title(printable(panel.title), fontsize=_FONT, loc="left")
    return columns * _CELL * scale, rows * _CELL * scale


def _box(axes: Axes, gold: GoldLinks, scale: float) -> None:
    """Draws the boxes of gold links, a little smaller than their cells, so that neighbours do not
    touch."""
    from matplotlib.patches import Rectangle

    for source, target in sorted(gold.possible):
        dashes = "-" if (source, target) in gold.sure else (0, (2.0, 1.5))
        box = (source - 0.4, target - 0.4), 0.8, 0.8
        style: dict[str, Any] = {"edgecolor": GOLD, "linewidth": 1.2 * scale, "linestyle": dashes}
        axes.add_patch(Rectangle(*box, fill=False, **style))


def matrix_of(
    source_tokens: Tokens,
    target_tokens: Tokens,
    weights: AlphaMatrix,
    gold: GoldLinks | None = None,
) -> NDArray[np.float64]:
    """Returns the weights of a picture.

    Raises InputError if their shape is not (target, source), or gold links lie outside it.
    """
    shape = (len(target_tokens), len(source_tokens))
    for source, target in gold.possible if gold else ():
        if source >= shape[1] or target >= shape[0]:
            what = f"the gold link {source}-{target} (source-target) is outside the sentence"
            raise InputError(
                f"{what} of {shape[1]} by {shape[0]} words",
                "gold links count the words of the picture from 0",
            )
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.size == 0 == shape[0] * shape[1]:
        return np.zeros(shape)
    if matrix.shape != shape:
        raise InputError(
            f"the alignment has shape {matrix.shape}, but its words need {shape}",
            "give one row per target word",
        )
    return matrix


def _fit_figure(figure: Figure, sizes: Sequence[tuple[float, float]]) -> None:
    """Gives every matrix its size in inches, and the figure the room for all labels; the matrices'
    tops are level."""
    boxes = []  # around a matrix and its labels, in inches from the lower left corner of the matrix
    for axes, size in zip(figure.axes, sizes, strict=True):
        figure.set_size_inches(size)
        box = axes.get_tightbbox()
        assert box is not None
        boxes.append(box.transformed(figure.dpi_scale_trans.inverted()).padded(_PAD))
    top = max(box.y1 - height for box, (_, height) in zip(boxes, sizes, strict=True))
    bottom = max(height - box.y0 for box, (_, height) in zip(boxes, sizes, strict=True))
    whole_width, whole_height = sum(box.width + _BETWEEN for box in boxes) - _BETWEEN, top + bottom
    figure.set_size_inches(whole_width, whole_height)
    left = 0.0
    for axes, box, (width, height) in zip(figure.axes, boxes, sizes, strict=True):
        x, y = (left - box.x0) / whole_width, (bottom - height) / whole_height
        axes.set_position((x, y, width / whole_width, height / whole_height))
        left += box.width + _BETWEEN


@contextmanager
def drawing(style: Mapping[str, Any]) -> Iterator[None]:
    """Draws in matplotlib's default style with these changes, whatever a matplotlibrc or
    $MPLBACKEND says: pictures are files. Letters that no installed font has become boxes, with an
    InputWarning."""
    if "matplotlib" not in sys.modules and (backend := os.environ.pop("MPLBACKEND", None)):
        from matplotlib import rcParams

        os.environ["MPLBACKEND"] = backend
        # it may not be installed here, as that of a notebook, and its import would fail
        with suppress(ValueError):
            rcParams["backend"] = backend
    from matplotlib.style import context

    with context(["default", dict(style)]), _missing_glyphs():
        yield


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a picture in the format of its suffix. The same figure gives the same bytes: no date,
    no random ids.

    Raises InputError for another suffix than those of SUFFIXES, and if the file cannot be written.
    """
    # matplotlib's writer of PDF hides errors of the disk
    suffix, drawn = path.suffix.lower(), io.BytesIO()
    if suffix not in SUFFIXES:
        what = f"cannot draw a {suffix or 'file without suffix'}"
        raise InputError(what, f"use one of {', '.join(SUFFIXES)}", file=path)

    # SVG embeds no fonts, so letters are outlines. PDF has Type 42 fonts: many conferences refuse
    # Type 3.
    dates = {".svg": {"Date": None, "Creator": None}, ".pdf": {"CreationDate": None}}
    with drawing({"svg.fonttype": "path", "pdf.fonttype": 42, "svg.hashsalt": SALT}):
        figure.savefig(drawn, format=suffix[1:], metadata=dates.get(suffix, {}))
    with writing(path), written_whole(path) as temporary:
        temporary.write_bytes(drawn.getvalue())


def alignment_text(
    source_tokens: Tokens,
    target_tokens: Tokens,
    weights: AlphaMatrix,
    width: int = 100,
    gold: GoldLinks | None = None,
) -> str:
    """Draws α with the shades ` ░▒▓█` (0 … 1): one row per target word, source words written
    vertically above their columns.

    weights: (target, source); NaN is drawn `?`. width: of the longest line, in terminal columns. A
    longer sentence is cut into several pieces, one below the other; each piece replaces rows
    without a shade by `⋮`.
    gold: sure links are in `[]`, possible ones in `()`. Raises InputError for a width below 8 (with
    gold links 10), weights of another shape, and gold links outside the words.
    """
    matrix = matrix_of(source_tokens, target_tokens, weights, gold)
    cell = 2 if gold is None else 4  # columns, without and with brackets
    if width < (narrowest := cell + _NARROWEST - 2):
        raise InputError(
            f"an alignment cannot be drawn {width} columns wide",
            f"use at least {narrowest} columns",
        )
    words = [printable(token) for token in target_tokens]
    label_width = min(max(map(cell_len, words), default=0), width // 3)
    labels = [pad_left(shorten(word, label_width), label_width) for word in words]
    headings = [_downwards(printable(token)) for token in source_tokens]
    cells = [
        [_cell(weight, j, i, gold) for j, weight in enumerate(row)] for i, row in enumerate(matrix)
    ]
    # A cell of two columns is a square and has room for a wide letter. The frame takes two columns.
    pieces = max(math.ceil(len(headings) / ((width - label_width - 2) // cell)), 1)
    bounds = [len(headings) * piece // pieces for piece in range(pieces + 1)]
    margin = " " * (label_width + cell // 2)
    texts = []
    for start, end in pairwise(bounds):
        standing = zip_longest(*(heading[::-1] for heading in headings[start:end]), fillvalue="")
        top = [
            margin + "".join(set_cell_size(letter, cell) for letter in line) for line in standing
        ]
        rows = _text_rows(labels, matrix, cells, start, end)
        texts.append("\n".join([*(line.rstrip() for line in top[::-1]), *rows]))
    return "\n\n".join(texts)


def comparison_text(panels: Sequence[Panel], width: int) -> str:
    """Draws several runs of one sentence as `alignment_text` does, one below the other, each under
    its title."""
    return "\n\n".join(
        f"{shorten(printable(panel.title), width)}\n{alignment_text(*panel[1:], width=width)}"
        for panel in panels
    )


def alignment_table(
    source_tokens: Tokens, target_tokens: Tokens, weights: AlphaMatrix, title: str
) -> str:
    """Returns α as an HTML <table>: a row for each target word, a column for each source word. A
    larger α is darker.

    weights: (target, source), each in [0, 1], shown as a tooltip. title: a line above the table.
    Words are escaped.
    """
    source = [escape(printable(word)) for word in source_tokens]
    shades = np.clip(np.nan_to_num(weights), 0.0, 1.0).tolist()
    down = "writing-mode: vertical-rl; transform: rotate(180deg); font-weight: normal"
    heads = "".join(
        f'<th scope="col" style="{down}; padding: 4px 2px">{word}</th>' for word in source
    )
    rows = [f"<tr><th></th>{heads}</tr>"]
    beside = "text-align: right; font-weight: normal; padding: 0 6px; white-space: nowrap"
    size = "min-width: 1.4em; height: 1.4em; padding: 0; border: 1px solid rgba(128, 128, 128, 0.3)"
    for token, row in zip(target_tokens, shades, strict=True):
        word = escape(printable(token))
        cells = "".join(
            f'<td title="{word} – {other} {alpha:.2f}" style="{size}; '
            f'background: {SHADE}{round(255 * alpha):02x}"></td>'
            for other, alpha in zip(source, row, strict=False)
        )
        rows.append(f'<tr><th scope="row" style="{beside}">{word}</th>{cells}</tr>')
    opening = '<div class="tex2jax_ignore mathjax_ignore" style="overflow-x: auto">'
    heading = f"<p>{escape(printable(title))}</p>"
    table = '<table style="border-collapse: collapse; width: auto">'
    return "\n".join([opening, heading, table, *rows, "</table>", "</div>", ""])


def _downwards(token: str) -> list[str]:
    letters = graphemes(token)
    return letters if len(letters) <= _TALLEST_LABEL else [*letters[: _TALLEST_LABEL - 1], _SKIPPED]


def _text_rows(
    labels: Sequence[str],
    matrix: NDArray[np.float64],
    cells: Sequence[Sequence[str]],
    start: int,
    end: int,
) -> list[str]:
    """Returns the rows of one piece, the columns start … end − 1. Adjacent rows that have neither a
    shade nor their largest weight there become one `⋮`."""
    lines = list[str]()
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


MOST_MARKS = 30
"""Combining marks shown on one letter, as in Unicode's stream-safe text format: normalising n marks
takes n² steps."""


def printable(text: str) -> str:
    """Composes the text (NFC) and makes it safe for a terminal: control characters become �, format
    characters are removed.

    A combining mark at the beginning is put on a dotted circle. A letter keeps at most MOST_MARKS
    marks.
    """
    shown = "".join(
        _printable(character) for character in unicodedata.normalize("NFC", _limit_marks(text))
    )
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
    if category == "Zs" or character == "\u2060":  # a space inside of a copied word
        return " "
    if category == "Cf":  # zero-width joiners, soft hyphens, changes of direction
        return ""
    return "\N{REPLACEMENT CHARACTER}" if category[0] in "CZ" else character


def escape_markdown(text: str) -> str:
    """Escapes Markdown's characters, and joins the lines."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))
