"""What clients of `/v1` get: translations as plain lists and numbers to five decimals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rnnsearch.records import Translation
from rnnsearch.serving.paragraphs import Paragraphs
from rnnsearch.word_links import format_links


def hypothesis(result: Translation, *, alignment: bool, links: bool) -> dict[str, Any]:
    """One translation of a sentence."""
    fields = result.to_dict() if alignment else _without_alignment(result)
    made = {key: fields[key] for key in ("text", "tokens", "score", "log_probabilities", "finished")}
    if alignment:
        made["alignment"] = fields["alignment"]
    if links:
        made["links"] = format_links(result.links())
    return made


def sentence(source: str, result: Translation, *, alignment: bool, links: bool) -> dict[str, Any]:
    """A sentence and its translations, best first. The last source token is the end of sentence."""
    every = [result, *result.alternatives]
    return {
        "source": source,
        "source_tokens": result.source_tokens,
        "hypotheses": [hypothesis(one, alignment=alignment, links=links) for one in every],
    }


def text(paragraphs: Paragraphs, results: Sequence[Translation], sentences: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A text and its sentences."""
    return {"text": paragraphs.joined([result.text for result in results]), "sentences": list(sentences)}


def words_so_far(result: Translation) -> dict[str, Any]:
    """What greedy search has written of a sentence; one row of the alignment for each token."""
    return {"source_tokens": result.source_tokens, "tokens": result.tokens, "alignment": result.to_dict()["alignment"]}


def aligned(result: Translation, *, alignment: bool) -> dict[str, Any]:
    made = {"source_tokens": result.source_tokens, "tokens": result.tokens, "links": format_links(result.links())}
    return made | ({"alignment": result.to_dict()["alignment"]} if alignment else {})


def scored(result: Translation) -> dict[str, Any]:
    fields = _without_alignment(result)
    return {key: fields[key] for key in ("score", "log_probabilities", "tokens")}


def _without_alignment(result: Translation) -> dict[str, Any]:
    """`to_dict` would round every weight of the alignment, for nobody."""
    values = [round(value, 5) for value in result.log_probabilities]
    return {
        "text": result.text,
        "tokens": result.tokens,
        "score": round(result.score, 5),
        "log_probabilities": values,
        "finished": result.finished,
    }
