"""The page to browse holds its data as given; what holds for all pages is tested in tests/test_pages.py."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

import numpy as np
from html_elements import Elements

from rnnsearch.figure3 import Panel
from rnnsearch.lab.alignment_report import alignment_page, browsed_run
from rnnsearch.lab.metrics import OF_PAIRS
from rnnsearch.word_links import GoldLinks

NASTY = "</script><script>alert('1')</script><!-- &amp; \u2028 \u0000 \"'"
WEIGHTS = np.array([[1.0, 0.0], [0.25, 0.75]])


def page(
    title: str = "title", word: str = "a", gold: GoldLinks | None = None, **measures: float
) -> str:
    counts = {name: (value, 1) for name, value in measures.items()}
    run = browsed_run(Panel("run", [word, "</s>"], ["x", word], WEIGHTS), [(0, 0)], counts, gold)
    known = gold and {"sure": sorted(gold.sure), "possible": sorted(gold.possible - gold.sure)}
    return alignment_page([{"number": 1, "runs": [run], "gold": known}], title, word)


def data(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Elements(text).scripts[0])
    return found


def test_words_weights_links_gold_and_measures_are_in_the_page() -> None:
    found = data(
        page(gold=GoldLinks(frozenset([(0, 0)]), frozenset([(1, 1)])), aer=0.25, entropy=1.23456)
    )
    (sentence,) = found["sentences"]
    assert (sentence["number"], sentence["gold"]) == (1, {"sure": [[0, 0]], "possible": [[1, 1]]})
    (run,) = sentence["runs"]
    assert (run["title"], run["source"], run["target"], run["links"]) == (
        "run",
        ["a", "</s>"],
        ["x", "a"],
        [[0, 0]],
    )
    assert list(base64.b64decode(run["weights"])) == [255, 0, 64, 191]  # row by row, in 255ths
    assert run["measures"] == {"aer": 0.25, "entropy": 1.2346}
    assert found["measures"] == {key: one.heading for key, one in OF_PAIRS.items()}


def test_the_measures_that_are_shown_are_explained() -> None:
    text = html.unescape(page(aer=0.25, entropy=1.0))
    for key, metric in OF_PAIRS.items():
        assert (metric.meaning in text) == (key in ("aer", "entropy"))


def test_the_script_builds_text_and_never_markup() -> None:
    script = Elements(page()).scripts[1]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|fetch\(|XMLHttp|import\(",
        script,
    )


def test_no_sentences_and_empty_ones() -> None:
    assert data(alignment_page([], "title"))["sentences"] == []
    assert browsed_run(Panel("run", ["</s>"], [], np.zeros((0, 1))), [], {})["weights"] == ""
