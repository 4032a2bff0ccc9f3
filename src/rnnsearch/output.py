"""How the commands print: one line out for one line in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rnnsearch.records import Translation, format_links

if TYPE_CHECKING:  # it would load torch
    from rnnsearch.translation.aligning import Aligned


def as_json(result: Translation) -> str:
    """One line of JSON: text, tokens, score, the alignment matrix (target × source) and what else is known."""
    return json.dumps(_fields(result) | {"alternatives": [_fields(other) for other in result.alternatives]}, ensure_ascii=False)


def as_aligned_json(aligned: Aligned, measures: Mapping[str, float]) -> str:
    """As `as_json`, without alternatives, but with the links made, the measures, and the matrix of the other direction, if any."""
    more: dict[str, Any] = {"links": aligned.links, "measures": {name: round(value, 5) for name, value in measures.items()}}
    if aligned.reverse is not None:
        more["reverse_alignment"] = _rounded(aligned.reverse)
    return json.dumps(_fields(aligned.result) | more, ensure_ascii=False)


def as_nbest(number: int, result: Translation) -> str:
    """Lines of a Moses n-best list: `id ||| text ||| rnnsearch= log p ||| score`, id counted from 0."""
    candidates = [result, *result.alternatives]
    return "\n".join(f"{number} ||| {c.text} ||| rnnsearch= {sum(c.log_probabilities):.4f} ||| {c.score:.4f}" for c in candidates)


def as_links(result: Translation) -> str:
    """Pharaoh format, source-target, 0-based."""
    return format_links(result.links())


def _fields(result: Translation) -> dict[str, Any]:
    return {
        "text": result.text,
        "tokens": result.tokens,
        "source_tokens": result.source_tokens,
        "score": round(result.score, 5),
        "log_probabilities": [round(value, 5) for value in result.log_probabilities],
        "finished": result.finished,
        "alignment": _rounded(result),
    }


def _rounded(result: Translation) -> list[list[float]]:
    return [[round(float(weight), 5) for weight in row] for row in result.alignment]
