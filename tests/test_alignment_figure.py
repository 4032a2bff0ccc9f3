"""Figures are written, with their words as they are; the terminal picture is exact."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from refusals import refusal
from rich.cells import cell_len

from rnnsearch import figure3 as alignments
from rnnsearch.errors import InputWarning
from rnnsearch.figure3 import Panel, alignment_figure, alignment_text, comparison_text
from rnnsearch.word_links import GoldLinks

SOURCE = ["the", "European", "Economic", "Area", "</s>"]
TARGET = ["la", "zone", "économique", "européenne"]
WEIGHTS = np.array(
    [[0.9, 0, 0, 0.1, 0], [0, 0, 0.1, 0.9, 0], [0, 0.3, 0.7, 0, 0], [0, 0.5, 0.5, 0, 0]]
)


def uniform(rows: int, columns: int) -> NDArray[np.float64]:
    return np.full((rows, columns), 1 / max(columns, 1))


def pixels(figure: Figure) -> NDArray[np.uint8]:
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def labels(figure: Figure) -> list[str]:
    (axes,) = figure.axes
    return [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".png", b"\x89PNG"), (".PNG", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")],
)
def test_a_file_of_the_suffixs_kind_is_written_and_twice_the_same(
    tmp_path: Path, suffix: str, start: bytes
) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        alignment_figure(SOURCE, TARGET, WEIGHTS, path)
    assert paths[0].read_bytes().startswith(start)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert not any(date in paths[0].read_bytes() for date in (b"CreationDate", b"dc:date"))


def test_no_setting_of_matplotlib_for_windows_or_documents_matters(tmp_path: Path) -> None:
    """Those of the process from which a notebook calls, without the packages of the notebook."""
    alignment_figure(["a"], ["b_c"], np.ones((1, 1)), tmp_path / "here.png")
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nsavefig.facecolor: red\n")
    code = (
        "import numpy, sys; from rnnsearch.figure3 import alignment_figure as figure; "
        "figure(['a'], ['b_c'], numpy.ones((1, 1)), 'there.png')"
    )
    own = os.environ | {"MPLBACKEND": "module://nosuch.backend", "MATPLOTLIBRC": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=own, check=True)
    assert (tmp_path / "there.png").read_bytes() == (tmp_path / "here.png").read_bytes()


def test_pdf_fonts_are_not_type_3(tmp_path: Path) -> None:
    alignment_figure(SOURCE, TARGET, WEIGHTS, tmp_path / "a.pdf")
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()


def test_cells_have_the_grey_of_their_weights_and_the_place_of_their_words() -> None:
    figure = alignment_figure(SOURCE, TARGET, WEIGHTS)
    image = pixels(figure)
    (axes,) = figure.axes
    for row in range(len(TARGET)):
        for column in range(len(SOURCE)):
            x, y = axes.transData.transform((column, row))
            assert image[image.shape[0] - 1 - int(y), int(x), 0] == pytest.approx(
                255 * WEIGHTS[row, column], abs=1.5
            )
    across = [label.get_window_extent() for label in axes.get_xticklabels()]
    down = [label.get_window_extent() for label in axes.get_yticklabels()]
    box = axes.get_window_extent()
    assert all(label.y0 > box.y1 for label in across), "source words stand above the matrix"
    assert all(label.x1 < box.x0 for label in down), "target words stand left of the matrix"
    assert [label.x0 for label in across] == sorted(label.x0 for label in across)
    assert [label.y0 for label in down] == sorted((label.y0 for label in down), reverse=True)


def test_a_letter_is_drawn_in_any_installed_font_that_has_it() -> None:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    charmaps = [
        get_font(findfont(FontProperties(name))).get_charmap() for name in ("STIXGeneral", None)
    ]
    letters = [chr(code) for code in set(charmaps[0]) - set(charmaps[1]) if chr(code).isalpha()]
    (font, *_) = alignments._fonts_with(frozenset([ord(letters[0])]))
    assert ord(letters[0]) in get_font(findfont(FontProperties(font))).get_charmap()


@pytest.mark.parametrize(
    ("word", "package"), [("\U00031340", "fonts-noto-cjk"), ("\U0001e7e0", "fonts-noto-core")]
)
def test_letters_that_no_font_has_are_said_once(tmp_path: Path, word: str, package: str) -> None:
    alignments._warn_of_font.cache_clear()
    with pytest.warns(InputWarning, match=package) as warned:
        alignment_figure([word], [word], uniform(1, 1), tmp_path / "a.png")
    assert len(warned) == 1
    alignment_figure([word], [word], uniform(1, 1), tmp_path / "a.png")


@pytest.mark.filterwarnings("ignore:no installed font")
@pytest.mark.parametrize(
    "word", ["$x_1$", "\\alpha", "{", "%d", "&lt;", "日本語", "e\u0301", "שלום", "_label", ""]
)
def test_any_word_is_drawn_as_it_is(tmp_path: Path, word: str) -> None:
    figure = alignment_figure([word, "</s>"], [word], uniform(1, 2), tmp_path / "a.svg")
    assert labels(figure) == [word.replace("e\u0301", "é"), "</s>", word.replace("e\u0301", "é")]


def test_no_words_give_an_empty_figure(tmp_path: Path) -> None:
    for source, target in ([], []), (["</s>"], []), ([], ["x"]):
        alignment_figure(source, target, np.zeros((len(target), len(source))), tmp_path / "a.png")
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "a.png").unlink()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.jpeg", r"\.jpeg.*one of \.png, \.svg, \.pdf"),
        ("a", "without suffix"),
        ("none/a.png", "cannot be written: No such file"),
    ],
)
def test_a_path_that_cannot_be_drawn_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with refusal(message):
        alignment_figure(SOURCE, TARGET, WEIGHTS, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_weights_of_another_shape_are_refused() -> None:
    for draw in (alignment_figure, alignment_text):
        with refusal(r"shape \(5, 4\).*\(4, 5\)"):
            draw(SOURCE, TARGET, WEIGHTS.T)


PICTURE = """\
             E E
             u c
             r o
             o n
             p o A <
           t e m r /
           h a i e s
           e n c a >
        la│██        │
      zone│      ██  │
économique│  ░░▓▓    │
européenne│  ▒▒▒▒    │"""


def test_the_text_picture_is_exact() -> None:
    assert alignment_text(SOURCE, TARGET, WEIGHTS) == PICTURE


def test_wide_and_combining_characters_keep_the_columns() -> None:
    expected = """\
        経ę
      日済t
 東京│██    │
x\u0301étés│  ██  │"""
    weights = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    assert (
        alignment_text(["日", "経済", "e\u0328t"], ["東京", "x\u0301e\u0301te\u0301s"], weights)
        == expected
    )


def test_a_long_sentence_is_cut_into_pieces_with_the_rows_that_show_something() -> None:
    source, target = list("abcdef"), ["one", "two", "three", "four"]
    weights = np.zeros((4, 6))
    weights[[0, 1, 2, 3], [0, 5, 2, 4]] = 1
    assert alignment_text(source, target, weights, width=16) == "\n".join(
        [
            "      a b c",
            "  one│██    │",
            "    ⋮",
            "three│    ██│",
            "    ⋮",
            "",
            "      d e f",
            "    ⋮",
            "  two│    ██│",
            "    ⋮",
            " four│  ██  │",
        ]
    )


@pytest.mark.parametrize(
    ("weight", "shade"),
    [(0.12, " "), (0.13, "░"), (0.38, "▒"), (0.63, "▓"), (1.01, "█"), (-0.01, " "), (np.nan, "?")],
)
def test_shades(weight: float, shade: str) -> None:
    assert alignment_text(["a"], ["b"], np.array([[weight]])) == f"  a\nb│{shade * 2}│"


def test_no_words_give_an_empty_picture() -> None:
    assert alignment_text([], [], np.zeros((0, 0))) == ""
    assert alignment_text(["a"], [], np.zeros((0, 1))) == " a"
    assert alignment_text([], ["b"], np.zeros((1, 0))) == "b││"


def test_a_width_without_room_is_refused() -> None:
    with refusal(r"7 columns wide.*at least 8"):
        alignment_text(SOURCE, TARGET, WEIGHTS, width=7)


@given(
    st.lists(st.text(max_size=30), max_size=70),
    st.lists(st.text(max_size=30), max_size=5),
    st.integers(8, 120),
    st.integers(0, 2**32 - 1),
)
def test_no_line_is_wider_than_asked_and_every_row_and_column_is_drawn(
    source: list[str], target: list[str], width: int, seed: int
) -> None:
    weights = np.random.default_rng(seed).random((len(target), len(source)))
    lines = alignment_text(source, target, weights, width).split("\n")
    assert all(cell_len(line) <= width for line in lines)
    rows = [line for line in lines if line.endswith("│")]
    assert len(rows) >= len(target)
    if target:
        per_piece = {cell_len(line.split("│")[-2]) // 2 for line in rows}
        assert max(per_piece) <= max(len(source), 1)


GOLD = GoldLinks(frozenset([(0, 0), (3, 1)]), frozenset([(1, 2)]))


def test_gold_links_are_boxes_around_their_cells_solid_where_sure() -> None:
    figure = alignment_figure(SOURCE, TARGET, WEIGHTS, gold=GOLD)
    (axes,) = figure.axes
    boxes = {
        (round(box.get_x() + 0.4), round(box.get_y() + 0.4)): box
        for box in axes.patches
        if isinstance(box, Rectangle)
    }
    assert boxes.keys() == GOLD.possible
    assert {
        place for place, box in boxes.items() if box.get_linestyle() in ("-", "solid")
    } == GOLD.sure
    assert not any(box.get_fill() for box in boxes.values())


def test_gold_links_outside_the_words_are_refused() -> None:
    with refusal(r"gold link 0-4 \(source-target\) is outside the sentence of 5 by 4 words"):
        alignment_figure(SOURCE, TARGET, WEIGHTS, gold=GoldLinks(frozenset([(0, 4)])))


HALVES = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
LINKS = GoldLinks(frozenset([(0, 0)]), frozenset([(2, 1), (0, 1)]))


def test_gold_links_stand_in_brackets() -> None:
    lines = alignment_text(["a", "b", "c"], ["x", "yz"], HALVES, gold=LINKS).split("\n")
    assert lines == ["    a   b   c", " x│[██]        │", "yz│(▒▒) ▒▒ (  )│"]


def test_several_runs_stand_below_each_other() -> None:
    panels = [
        Panel("first", ["ab", "c"], ["x"], HALVES[:1, :2]),
        Panel("second run", ["d", "e"], ["x", "y"], HALVES[:, :2]),
    ]
    below = comparison_text(panels, 12)
    assert below.startswith("first\n")
    assert "\n\nsecond run\n" in below
    assert max(map(cell_len, below.split("\n"))) <= 12
