"""Gold links and several runs in the terminal's picture; test_figures.py has the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from rich.cells import cell_len

from rnnsearch.drawing.alignment_figure import Panel
from rnnsearch.drawing.alignment_text import alignment_text, comparison_text
from rnnsearch.errors import InputError
from rnnsearch.word_links import GoldLinks

WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
GOLD = GoldLinks(frozenset([(0, 0)]), frozenset([(2, 1), (0, 1)]))


def test_gold_links_stand_in_brackets() -> None:
    lines = alignment_text(["a", "b", "c"], ["x", "yz"], WEIGHTS, gold=GOLD).split("\n")
    assert lines == ["    a   b   c", " x│[██]        │", "yz│(▒▒) ▒▒ (  )│"]


def test_a_long_sentence_is_cut_with_its_gold_links() -> None:
    text = alignment_text(["a", "b", "c"], ["x", "yz"], WEIGHTS, width=12, gold=GOLD)
    assert text.split("\n") == ["    a", " x│[██]│", "yz│(▒▒)│", "", "    b   c", " ⋮", "yz│ ▒▒ (  )│"]
    with pytest.raises(InputError, match="9 columns wide"):
        alignment_text(["a", "b", "c"], ["x", "yz"], WEIGHTS, width=9, gold=GOLD)


def test_several_runs_stand_side_by_side_where_there_is_room() -> None:
    panels = [
        Panel("first", ["ab", "c"], ["x"], WEIGHTS[:1, :2]),
        Panel("second run", ["d", "e"], ["x", "y"], WEIGHTS[:, :2]),
    ]
    assert comparison_text(panels, 40).split("\n") == [
        "first     second run",
        "  a         d e",
        "  b c     x│██  │",
        "x│██  │   y│▒▒▒▒│",
    ]
    below = comparison_text(panels, 12)
    assert below.startswith("first\n")
    assert "\n\nsecond run\n" in below
    assert max(map(cell_len, below.split("\n"))) <= 12
