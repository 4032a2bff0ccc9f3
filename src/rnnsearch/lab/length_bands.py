"""Bands of sentence lengths, for scores by length, and the tokenisation by which words are counted
if no language is named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rnnsearch.evaluation.bleu import tokenisation_of

LENGTH_BOUNDS = (0, 10, 20, 30, 40, 50, 60)
"""Bounds of the bands: 1–10, 11–20, …, 51–60, and longer."""
_UNSPACED = {
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff",
    "ja": "\u3041-\u30ff",
    "ko": "\u1100-\u11ff\uac00-\ud7a3",
    "th": "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff",
}


@dataclass(frozen=True, slots=True)
class LengthBand:
    """The sentences in a range of lengths. shortest, longest: in words, both included; None for no
    limit.
    chosen: one boolean per sentence."""

    shortest: int
    longest: int | None
    chosen: NDArray[np.bool_] = field(compare=False)

    @property
    def sentences(self) -> int:
        return int(self.chosen.sum())

    def __str__(self) -> str:
        return f"{self.shortest}+" if self.longest is None else f"{self.shortest}–{self.longest}"


def buckets(lengths: Sequence[int], bounds: Sequence[int] = LENGTH_BOUNDS) -> list[LengthBand]:
    """Returns adjacent bands: from above one bound to the next one, and above the last. A length of
    0 counts as 1.

    lengths: of every source sentence, in words.
    """
    words = np.maximum(np.asarray(lengths, np.int64), 1)
    bands = []
    for low, high in pairwise([*bounds, None]):
        assert low is not None
        chosen = words > low if high is None else (words > low) & (words <= high)
        bands.append(LengthBand(low + 1, high, chosen))
    return bands


def length_tokenisation(lines: Sequence[str]) -> str:
    """Returns the tokenisation by which words of these lines are counted."""
    return unspaced_tokenisation(lines) or "13a"


def unspaced_tokenisation(lines: Sequence[str]) -> str:
    """Returns the tokenisation for text in Chinese, Japanese, Korean, Thai, Lao, Tibetan, Burmese
    or Khmer letters, on which 13a counts whole phrases as words; empty for other text."""
    text = "".join(lines[:1000])
    counts = {
        language: len(re.findall(f"[{letters}]", text)) for language, letters in _UNSPACED.items()
    }
    if 2 * sum(counts.values()) <= sum(map(str.isalpha, text)):
        return ""
    # Japanese has kana in every sentence
    kana = counts["ja"] * 10 > counts["zh"] + counts["ja"] > 0
    return tokenisation_of("ja" if kana else max(counts, key=counts.__getitem__))
