"""What the attention says about a translation: source words that it left out, and words that it wrote twice."""

from __future__ import annotations

import numpy as np

from rnnsearch.evaluation import alignment_behaviour as behaviour
from rnnsearch.records import Translation


def left_out(translation: Translation) -> list[int]:
    """Positions of the source words that were left out, as `evaluation/alignment_behaviour.py` defines it; punctuation is not missed."""
    words = translation.source_tokens
    return [j for j in behaviour.left_out(translation.alignment[:, :-1]) if any(letter.isalnum() for letter in words[j])]


def too_often(translation: Translation) -> list[int]:
    """Positions of the source words that were attended to too often, by the same definition."""
    return behaviour.too_often(translation.alignment[:, :-1])


def longest_gap(positions: list[int]) -> int:
    """How many of these positions follow one another without a break, at most: a phrase left out, not an article here and there."""
    longest = current = 0
    previous = -2
    for position in positions:
        current = current + 1 if position == previous + 1 else 1
        longest, previous = max(longest, current), position
    return longest


def written_again(translation: Translation) -> list[int]:
    """Positions of target words, not of punctuation, that were written before with the attention on the same source word."""
    seen: set[tuple[str, int]] = set()
    again = []
    for i, (word, row) in enumerate(zip(translation.tokens, translation.alignment, strict=True)):
        if not row.any():  # it read no context
            continue
        pair = word.lower(), int(np.argmax(row))
        if pair in seen and any(letter.isalnum() for letter in word):
            again.append(i)
        seen.add(pair)
    return again
