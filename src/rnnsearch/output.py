"""How the commands print: one line out for one line in."""

from __future__ import annotations

import json
from typing import Any

from rnnsearch.records import Translation, format_links


def as_json(result: Translation) -> str:
    """One line of JSON: text, tokens, score, the alignment matrix (target × source) and what else is known."""
    return json.dumps(_fields(result) | {"alternatives": [_fields(other) for other in result.alternatives]}, ensure_ascii=False)


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
        "alignment": [[round(float(weight), 5) for weight in row] for row in result.alignment],
    }
