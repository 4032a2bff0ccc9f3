"""A page to browse the alignments of a test set: one HTML file with its data, its style and its script, which works offline."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from rnnsearch.drawing.alignment_figure import Panel, matrix_of
from rnnsearch.word_links import GoldLinks, Link

MEASURES = {
    "source_words": "source words",
    "target_words": "target words",
    "log_probability": "log p per word",
    "aer": "AER",
    "precision": "precision",
    "recall": "recall",
    "entropy": "entropy",
    "under_translated": "under-translated",
    "over_translated": "over-translated",
    "monotone": "monotone",
    "agreement": "agreement",
}
"""What the page shows and sorts by, if a sentence has it, and what it calls it."""


class BrowsedRun(NamedTuple):
    """One run's alignment of a sentence. links: those made of it. measures: values of MEASURES, by their names there."""

    panel: Panel
    links: Sequence[Link]
    measures: Mapping[str, float]


class BrowsedSentence(NamedTuple):
    """number: of the pair, from 1. runs: the first is the one that sorting goes by."""

    number: int
    runs: Sequence[BrowsedRun]
    gold: GoldLinks | None = None


def alignment_page(sentences: Sequence[BrowsedSentence], title: str, note: str = "") -> str:
    """The page: a list of the sentences, to sort and to search, and the pictures of one of them.

    A weight takes one byte, so a thousand sentences of 25 words make a page of about a megabyte. Raises InputError as `alignment_figure`
    does.
    """
    data = {"title": title, "note": note, "measures": MEASURES, "sentences": [_sentence(sentence) for sentence in sentences]}
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Inside a script element only these could end it or begin something else; in JSON the escapes mean the same.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    template = (resources.files("rnnsearch.drawing") / "alignment_page.html").read_text(encoding="utf-8")
    before, after = template.split("__DATA__")
    return before + text + after


def _sentence(sentence: BrowsedSentence) -> dict[str, Any]:
    gold = sentence.gold
    known = None if gold is None else {"sure": sorted(gold.sure), "possible": sorted(gold.possible - gold.sure)}
    return {"number": sentence.number, "gold": known, "runs": [_run(run, gold) for run in sentence.runs]}


def _run(run: BrowsedRun, gold: GoldLinks | None) -> dict[str, Any]:
    panel = run.panel
    weights = np.nan_to_num(matrix_of(panel.source_tokens, panel.target_tokens, panel.weights, gold))
    return {
        "title": panel.title,
        "source": list(panel.source_tokens),
        "target": list(panel.target_tokens),
        "weights": b64encode(np.rint(np.clip(weights, 0.0, 1.0) * 255).astype(np.uint8).tobytes()).decode("ascii"),
        "links": sorted(run.links),
        "measures": {name: round(float(run.measures[name]), 4) for name in MEASURES if name in run.measures},
    }
