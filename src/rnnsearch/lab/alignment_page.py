"""Measures of the alignments of given pairs, as a table, and a page to browse the alignments (one
HTML file that works offline)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rnnsearch.figure3 import Panel, matrix_of
from rnnsearch.lab.link_measures import Behaviour, behaviour, link_errors, shares, summed
from rnnsearch.lab.metrics import OF_PAIRS
from rnnsearch.lab.page import Browser, Document, as_html
from rnnsearch.translation.aligner import AlignedPair
from rnnsearch.word_links import GoldLinks, Link


def measure_pair(aligned: AlignedPair, gold: GoldLinks | None) -> Behaviour:
    """Returns the counts behind the measures of one pair, by their keys in OF_PAIRS. `shares` makes
    the measures of them, and `summed` those of several pairs: long pairs weigh more, and numbers of
    words are means.

    The log-probability is per target word, its end included. The agreement compares the links of
    the two directions.
    """
    result = aligned.result
    counts = behaviour(result.alignment, aligned.forward_links, aligned.reverse_links)
    source_words, target_words = len(result.source_tokens) - 1, len(result.tokens)
    counts |= {"source_words": (source_words, 1), "target_words": (target_words, 1)}
    counts["log_probability"] = result.score, target_words + 1
    return counts | (link_errors(aligned.links, gold) if gold else {})


def measures_of_pairs(pairs: Sequence[Behaviour]) -> Iterator[str]:
    """Yields lines of TSV: the columns' names, a line for each pair, and `all`. A measure that a
    pair lacks is left empty."""
    yield "\t".join(["pair", *OF_PAIRS])
    rows = [(str(number), pair) for number, pair in enumerate(pairs, 1)]
    for name, pair in [*rows, ("all", summed(pairs))] if pairs else []:
        values = shares(pair)
        cells = (
            f"{values[one]:.5f}".rstrip("0").rstrip(".") if one in values else ""
            for one in OF_PAIRS
        )
        yield "\t".join([name, *cells])


def browsed(
    number: int, runs: Sequence[tuple[str, AlignedPair]], gold: GoldLinks | None
) -> dict[str, Any]:
    """Returns a pair as the page shows it. runs: names and alignments. The page sorts by the
    first run. A run shows the combined links, its reverse run its own."""
    shown = []
    for name, aligned in runs:
        panel, *back = aligned.panels(name)
        shown.append(browsed_run(panel, aligned.links, measure_pair(aligned, gold), gold))
        for other in back:
            links = aligned.reverse_links or []
            shown.append(browsed_run(other, links, link_errors(links, gold) if gold else {}, gold))
    known = gold and {"sure": sorted(gold.sure), "possible": sorted(gold.possible - gold.sure)}
    return {"number": number, "gold": known, "runs": shown}


def browsed_run(
    panel: Panel, links: Sequence[Link], counts: Behaviour, gold: GoldLinks | None = None
) -> dict[str, Any]:
    """Returns one run's alignment of a sentence as the page shows it. links: made from its weights.
    Raises InputError as `alignment_figure` does."""
    weights = np.nan_to_num(matrix_of(*panel[1:], gold))
    shades = np.rint(np.clip(weights, 0.0, 1.0) * 255).astype(np.uint8)
    measures = shares(counts)
    return {
        "title": panel.title,
        "source": list(panel.source_tokens),
        "target": list(panel.target_tokens),
        "weights": b64encode(shades.tobytes()).decode("ascii"),
        "links": sorted(links),
        "measures": {
            name: round(float(measures[name]), 4) for name in OF_PAIRS if name in measures
        },
    }


def alignment_page(sentences: Sequence[dict[str, Any]], title: str, note: str = "") -> str:
    """Returns the page: a list of sentences, as `browsed` returns them, that can be sorted and
    searched, and the matrices of one sentence.

    A page of a thousand sentences of 25 words has about a megabyte.
    """
    used = {name for sentence in sentences for run in sentence["runs"] for name in run["measures"]}
    names = {key: metric.heading for key, metric in OF_PAIRS.items()}
    measures = [metric[:2] for key, metric in OF_PAIRS.items() if key in used]
    data = {"measures": names, "sentences": list(sentences)}
    gold = any(sentence["gold"] for sentence in sentences)
    return as_html(Document(title, note, browser=Browser(data, measures, gold)))
