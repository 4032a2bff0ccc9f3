"""Records: hard links from soft ones, and how they are written."""

from __future__ import annotations

import dataclasses
import math
import pickle
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from rnnsearch.records import Translation
from rnnsearch.word_links import hard_links


def weights(rows: str) -> np.ndarray:
    """A matrix whose rows a semicolon separates."""
    return np.array([row.split() for row in rows.split(";")], dtype=np.float32)


LINKS = """
0.9 0.1 0.0; 0.2 0.7 0.1 → 0-0 1-1
0.1 0.8 0.1; 0.7 0.2 0.1 → 0-1 1-0
0.6 0.4 0.0; 0.6 0.4 0.0 → 0-0 0-1
0.2 0.2 0.6; 0.1 0.8 0.1 → 1-1
0.5 0.5 0.0 → 0-0
1.0 →
"""
"""In the order of source positions. The end of sentence, the last column, has no link; of equal weights the
first wins."""


@pytest.mark.parametrize("case", LINKS.strip().split("\n"))
def test_a_target_word_is_linked_to_its_strongest_source_word(case: str) -> None:
    alpha, _, links = case.partition(" →")
    found = hard_links(weights(alpha))
    assert " ".join(f"{source}-{target}" for source, target in found) == links.strip()
    assert all(isinstance(position, int) for link in found for position in link)


@pytest.mark.parametrize("shape", [(0, 3), (0, 0), (2, 0)])
def test_no_words_have_no_links(shape: tuple[int, int]) -> None:
    assert hard_links(np.zeros(shape, np.float32)) == []


def translation(alpha: np.ndarray, tokens: list[str]) -> Translation:
    return Translation(" ".join(tokens), tokens, ["the", "man", "</s>"], -1.0, [-0.5, -0.5], alpha)


def test_a_translation_links_its_words(tmp_path: Path) -> None:
    result = translation(weights("0.1 0.9 0.0; 0.0 0.1 0.9"), ["l'", "homme"])
    assert result.links() == [(1, 0)]
    assert (result.finished, result.alternatives) == (True, [])
    figure = result.plot(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["l'", "homme"]
    assert result.plot() is not None


def test_a_score_that_was_not_asked_for_is_not_shown() -> None:
    aligned = dataclasses.replace(translation(weights("1.0 0.0"), ["l'"]), score=math.nan)
    assert repr(aligned) == '<Translation "l\'", 1 tokens, 3 source tokens>'
    assert "nan" not in aligned._repr_html_().lower()
    assert aligned.to_dict()["score"] is None
    assert aligned == dataclasses.replace(aligned)


def test_translations_are_equal_if_everything_is() -> None:
    one = translation(weights("1.0 0.0 0.0"), ["x"])
    assert one == translation(weights("1.0 0.0 0.0"), ["x"])
    for rows, word in (
        ("0.5 0.5 0.0", "x"),
        ("1.0 0.0 0.0; 1.0 0.0 0.0", "x"),
        ("1.0 0.0 0.0", "y"),
    ):
        assert one != translation(weights(rows), [word])
    assert one != dataclasses.replace(one, alternatives=[one])
    assert dataclasses.replace(one, alternatives=[one]) == dataclasses.replace(
        one, alternatives=[translation(weights("1.0 0.0 0.0"), ["x"])]
    )
    assert one != "x"
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_notebook_shows_the_alignment_with_everything_escaped() -> None:
    alpha = weights("0.25 0.75; nan 2.0")
    shown = Translation("<script>", ["<b>", "&"], ['"', "</td>"], -1.0, [], alpha)._repr_html_()
    element = ElementTree.fromstring(shown)
    assert element.tag == "div"
    cells = list(element.iter("td"))
    assert [cell.get("title") for cell in cells] == [
        '<b> – " 0.25',
        "<b> – </td> 0.75",
        '& – " 0.00',
        "& – </td> 1.00",
    ]
    assert [str(cell.get("style"))[-2:] for cell in cells] == ["40", "bf", "00", "ff"]  # how opaque
    assert [head.text for head in element.iter("th")] == [None, '"', "</td>", "<b>", "&"]
    assert next(element.iter("p")).text == "<script> (-1.000)"
    assert (
        ElementTree.fromstring(translation(np.zeros((0, 3), np.float32), [])._repr_html_())
        is not None
    )


@pytest.mark.parametrize(
    ("text", "tokens", "before"),
    [
        (
            "- L'homme dort.",
            ["-\u2060", "L'", "homme", "dort", "."],
            ["", "-", "- L'", "- L'homme"],
        ),
        ("Au 01 42 68.", ["Au", "01\u206042\u206068", "."], ["", "Au", "Au 01 42 68"]),
        ("L'e\u0301te\u0301 est", ["L'", "été", "est"], ["", "L'", "L'e\u0301te\u0301"]),
    ],
)
def test_the_text_before_a_word(text: str, tokens: list[str], before: list[str]) -> None:
    """Joiners are in tokens only; accents may stand alone."""
    one = Translation(text, tokens, ["</s>"], 0.0, [], np.ones((len(tokens), 1), np.float32))
    assert [one.before(place) for place in range(len(before))] == before
