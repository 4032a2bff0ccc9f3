"""Pictures of an alignment: the paper's Figure 3 as a file, and the same in a terminal."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.characters import display_width, graphemes, pad_left, pad_right, printable, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SUFFIXES = (".png", ".svg", ".pdf")
SHADES = " ░▒▓█"
"""Terminal shades; α is rounded to the nearest of 0, ¼, ½, ¾, 1."""

# Inches and points. A picture of up to 80 words a side has full-size cells and letters; a longer one shrinks both instead of growing.
_CELL = 0.2
_FONT = 9.0
_PAD = 0.05
_LARGEST = 16.0
_DOTS_PER_INCH = 200
# Fonts tried, where installed, for characters that the default font lacks.
_FALLBACK_FONTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "WenQuanYi Zen Hei", "Hiragino Sans", "PingFang SC", "Malgun Gothic",
    "Microsoft YaHei", "Arial Unicode MS", "Noto Sans Devanagari", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Thai",
)  # fmt: skip

_LONGEST_LABEL = 32  # of the figure
_TALLEST_LABEL = 14  # lines of a vertical label in the terminal
_NARROWEST = 8  # terminal columns: a label of two, the frame, two cells
_SKIPPED = "⋮"


def alignment_figure(
    source_tokens: Sequence[str], target_tokens: Sequence[str], weights: NDArray[np.floating], path: str | Path | None = None
) -> Figure:
    """Draws α as the paper's Figure 3: source words along the top, target words down the side, 0 black … 1 white.

    weights: (target, source), each in [0, 1] (Eq. 6). A weight that is not a number is drawn red. The figure's size follows the number of
    words; labels stay legible to about 80 words. A character that no installed font has is drawn as an empty box.
    path: where to write it, as .png, .svg or .pdf. Raises InputError for another suffix, a folder that does not exist, or
    weights whose shape is not (len(target_tokens), len(source_tokens)).
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    matrix = _matrix(source_tokens, target_tokens, weights)
    if path is not None:
        _require_writable(Path(path))
    rows, columns = max(len(target_tokens), 1), max(len(source_tokens), 1)
    scale = min(1.0, _LARGEST / (_CELL * max(rows, columns)))
    figure = Figure(dpi=_DOTS_PER_INCH)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    if matrix.size:
        grey = colormaps["gray"].with_extremes(bad="red")
        axes.imshow(matrix, cmap=grey, vmin=0.0, vmax=1.0, interpolation="nearest", aspect="auto")
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    _label(axes, source_tokens, target_tokens, _FONT * scale)
    _rule(axes, columns, rows, 0.3 * scale)
    with _empty_boxes_allowed():
        _fit(figure, axes, columns * _CELL * scale, rows * _CELL * scale)
        if path is not None:
            _save(figure, Path(path))
    return figure


def _matrix(source_tokens: Sequence[str], target_tokens: Sequence[str], weights: NDArray[np.floating]) -> NDArray[np.float64]:
    shape = (len(target_tokens), len(source_tokens))
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.size == 0 == shape[0] * shape[1]:
        return np.zeros(shape)
    if matrix.shape != shape:
        raise InputError(f"the alignment has shape {matrix.shape}, its words ask for {shape}", remedy="one row a target word")
    return matrix


def _require_writable(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot draw a {path.suffix or 'file without suffix'}", file=path, remedy=f"use one of {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError("its folder does not exist", file=path, remedy=f"make {path.parent} first")


def _label(axes: Axes, source_tokens: Sequence[str], target_tokens: Sequence[str], font_size: float) -> None:
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(source_tokens)), [shorten(printable(token), _LONGEST_LABEL) for token in source_tokens], rotation=90)
    axes.set_yticks(range(len(target_tokens)), [shorten(printable(token), _LONGEST_LABEL) for token in target_tokens])
    axes.tick_params(length=0, pad=3)
    families = _font_families()
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        _as_plain_text(text)
        text.set(fontsize=font_size, fontfamily=families)


def _rule(axes: Axes, columns: int, rows: int, width: float) -> None:
    """Hairlines between the cells: without them the eye cannot follow a dark row from its word to its weights in a long sentence."""
    axes.set_xticks([column + 0.5 for column in range(columns - 1)], minor=True)
    axes.set_yticks([row + 0.5 for row in range(rows - 1)], minor=True)
    axes.tick_params(which="minor", length=0)
    axes.grid(which="minor", color="0.27", linewidth=width)


def _as_plain_text(text: Text) -> None:
    """Words are text, whatever they hold: `$x_1$` is four characters and a blank price, never mathematics."""
    text.set_parse_math(False)
    text.set_usetex(False)


def _font_families() -> list[str]:
    from matplotlib import rcParams
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return [*rcParams["font.family"], *(font for font in _FALLBACK_FONTS if font in installed)]


@contextmanager
def _empty_boxes_allowed() -> Iterator[None]:
    """Without matplotlib's warning for every character that no font has, at every measurement: the boxes are seen well enough."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def _fit(figure: Figure, axes: Axes, width: float, height: float) -> None:
    """Gives the matrix `width` × `height` inches and the figure exactly the room that its labels need around it."""
    figure.set_size_inches(width, height)
    inner, outer = axes.get_window_extent(), axes.get_tightbbox()
    assert outer is not None
    left, right, below, above = (
        max(pixels, 0.0) / figure.dpi + _PAD
        for pixels in (inner.x0 - outer.x0, outer.x1 - inner.x1, inner.y0 - outer.y0, outer.y1 - inner.y1)
    )
    whole_width, whole_height = left + width + right, below + height + above
    figure.set_size_inches(whole_width, whole_height)
    axes.set_position((left / whole_width, below / whole_height, width / whole_width, height / whole_height))


def _save(figure: Figure, path: Path) -> None:
    from matplotlib import rc_context

    # Type 42 fonts, since many conferences refuse Type 3; no date and no random ids, so that the same alignment is the same file.
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context({"pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "rnnsearch"}):
        try:
            figure.savefig(path, metadata=dates.get(path.suffix.lower(), {}))
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=path) from None


def alignment_text(source_tokens: Sequence[str], target_tokens: Sequence[str], weights: NDArray[np.floating], width: int = 100) -> str:
    """Draws α with the shades ` ░▒▓█` (0 … 1): a row a target word, source words written downwards over their columns.

    weights: (target, source); a weight that is not a number is drawn `?`. No line is wider than `width` terminal columns: a sentence too
    long for that is cut into several pieces, one below the other, and a piece leaves out (`⋮`) the target words that have nothing
    to show in it. Raises InputError for a width below 8 or weights of another shape.
    """
    matrix = _matrix(source_tokens, target_tokens, weights)
    if width < _NARROWEST:
        raise InputError(f"an alignment cannot be drawn {width} columns wide", remedy=f"at least {_NARROWEST}")
    label_width = min(max((display_width(printable(token)) for token in target_tokens), default=0), width // 3)
    labels = [pad_left(shorten(printable(token), label_width), label_width) for token in target_tokens]
    headings = [_downwards(printable(token)) for token in source_tokens]
    # A cell is two columns wide, which makes it a square and gives a wide letter its room; two columns go to the sides of the frame.
    spans = _spans(len(headings), (width - label_width - 2) // 2)
    return "\n\n".join(
        "\n".join(_heading_lines(headings[start:end], label_width) + _rows(labels, matrix, start, end)) for start, end in spans
    )


def _downwards(token: str) -> list[str]:
    letters = graphemes(token)
    return letters if len(letters) <= _TALLEST_LABEL else [*letters[: _TALLEST_LABEL - 1], _SKIPPED]


def _spans(count: int, largest: int) -> list[tuple[int, int]]:
    """Cuts `count` columns into the fewest pieces of at most `largest`, about equally long; one empty piece for no columns."""
    pieces = max(math.ceil(count / largest), 1)
    return list(pairwise(count * piece // pieces for piece in range(pieces + 1)))


def _heading_lines(headings: Sequence[Sequence[str]], label_width: int) -> list[str]:
    height = max((len(heading) for heading in headings), default=0)
    standing = [[""] * (height - len(heading)) + list(heading) for heading in headings]
    margin = " " * (label_width + 1)
    return [(margin + "".join(pad_right(letter, 2) for letter in line)).rstrip() for line in zip(*standing, strict=True)]


def _rows(labels: Sequence[str], matrix: NDArray[np.float64], start: int, end: int) -> list[str]:
    """The rows of the columns start … end − 1 that have a shade there or their largest weight, and `⋮` for each run of the others."""
    lines: list[str] = []
    for label, row in zip(labels, matrix, strict=True):
        cells = "".join(2 * _shade(weight) for weight in row[start:end])
        if cells.strip() or not len(row) or start <= np.argmax(row) < end:
            lines.append(f"{label}│{cells}│")
        elif not lines or not lines[-1].endswith(_SKIPPED):
            lines.append(pad_left(_SKIPPED, display_width(label)))
    return lines


def _shade(weight: float) -> str:
    if math.isnan(weight):
        return "?"
    return SHADES[round(min(max(weight, 0.0), 1.0) * (len(SHADES) - 1))]
