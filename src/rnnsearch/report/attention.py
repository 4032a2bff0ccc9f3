"""What the attention says about a translation: source words that it left out, and words that it wrote twice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rnnsearch.records import Translation

LEFT_OUT = 0.2
"""A source word with less coverage was hardly looked at."""
TOO_OFTEN = 2.5
"""A source word with more coverage was looked at again and again."""


def coverage(translation: Translation) -> NDArray[np.float64]:
    """Σ_i α_ij for every source word j, without the end of sentence: about 1 for a word that was translated by one word."""
    weights = translation.alignment.astype(np.float64)
    summed: NDArray[np.float64] = weights[:, :-1].sum(axis=0)
    return summed


def left_out(translation: Translation) -> list[int]:
    """Positions of source words, not of punctuation, whose coverage is below LEFT_OUT."""
    return [
        int(j) for j in np.flatnonzero(coverage(translation) < LEFT_OUT) if any(letter.isalnum() for letter in translation.source_tokens[j])
    ]


def too_often(translation: Translation) -> list[int]:
    """Positions of source words whose coverage is above TOO_OFTEN."""
    return [int(j) for j in np.flatnonzero(coverage(translation) > TOO_OFTEN)]


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
        pair = word.lower(), int(np.argmax(row))
        if pair in seen and any(letter.isalnum() for letter in word):
            again.append(i)
        seen.add(pair)
    return again
