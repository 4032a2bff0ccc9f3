"""A page to browse the alignments of a test set: one HTML file with its data, its style and its script, which
works offline."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rnnsearch.drawing.alignment_figure import Panel, matrix_of
from rnnsearch.drawing.page import render
from rnnsearch.evaluation.alignment_error import LEFT_OUT, TOO_OFTEN
from rnnsearch.word_links import GoldLinks, Link


class Measure(NamedTuple):
    """A measure on the page: its name and its meaning."""

    name: str
    meaning: str


MEASURES = {
    "source_words": Measure("source words", "Words of the source sentence, without its end."),
    "target_words": Measure("target words", "Words of the target sentence, without its end."),
    "log_probability": Measure(
        "log p per word",
        "Log-probability of the target sentence per word, its end included, in nats; 0 is the best.",
    ),
    "aer": Measure(
        "AER",
        "Alignment error rate, 1 − (|A∩S| + |A∩P|) / (|A| + |S|), of the links A, sure S and possible P; 0 "
        "is the best.",
    ),
    "precision": Measure(
        "precision", "Share of the links that are possible gold links (sure ones are possible, too)."
    ),
    "recall": Measure("recall", "Share of the sure gold links that were found."),
    "entropy": Measure(
        "entropy",
        "Mean entropy of the weights of a target word, in nats; 0 if every word attends to one source word "
        "alone.",
    ),
    "under_translated": Measure(
        "under-translated", f"Share of the source words whose weights sum to less than {LEFT_OUT}."
    ),
    "over_translated": Measure(
        "over-translated", f"Share of the source words whose weights sum to more than {TOO_OFTEN}."
    ),
    "monotone": Measure(
        "monotone",
        "Share of the steps from one linked target word to the next that do not go back in the source.",
    ),
    "agreement": Measure(
        "agreement",
        "2 |A∩B| / (|A| + |B|) of the links A and B of the two directions; 1 if they are the same.",
    ),
}
"""Measures that the page shows and sorts by, if the sentences have them."""


class BrowsedRun(NamedTuple):
    """One run's alignment of a sentence. links: made from its weights. measures: key of MEASURES → value."""

    panel: Panel
    links: Sequence[Link]
    measures: Mapping[str, float]


class BrowsedSentence(NamedTuple):
    """A sentence of the page. number: that of the pair, from 1. runs: the page sorts by the first one."""

    number: int
    runs: Sequence[BrowsedRun]
    gold: GoldLinks | None = None


def alignment_page(sentences: Sequence[BrowsedSentence], title: str, note: str = "") -> str:
    """Returns the page: a list of sentences that can be sorted and searched, and the matrices of one
    sentence.

    A page of a thousand sentences of 25 words has about a megabyte.
    Raises InputError as `alignment_figure` does.
    """
    used = {name for sentence in sentences for run in sentence.runs for name in run.measures}
    names = {key: measure.name for key, measure in MEASURES.items()}
    return render(
        "alignments.html",
        title=title,
        note=note,
        gold=any(sentence.gold is not None for sentence in sentences),
        measures=[measure for key, measure in MEASURES.items() if key in used],
        data={"measures": names, "sentences": [_sentence(sentence) for sentence in sentences]},
    )


def _sentence(sentence: BrowsedSentence) -> dict[str, Any]:
    gold = sentence.gold
    known = (
        None if gold is None else {"sure": sorted(gold.sure), "possible": sorted(gold.possible - gold.sure)}
    )
    return {"number": sentence.number, "gold": known, "runs": [_run(run, gold) for run in sentence.runs]}


def _run(run: BrowsedRun, gold: GoldLinks | None) -> dict[str, Any]:
    panel = run.panel
    weights = np.nan_to_num(matrix_of(panel.source_tokens, panel.target_tokens, panel.weights, gold))
    return {
        "title": panel.title,
        "source": list(panel.source_tokens),
        "target": list(panel.target_tokens),
        "weights": b64encode(np.rint(np.clip(weights, 0.0, 1.0) * 255).astype(np.uint8).tobytes()).decode(
            "ascii"
        ),
        "links": sorted(run.links),
        "measures": {name: round(float(run.measures[name]), 4) for name in MEASURES if name in run.measures},
    }
