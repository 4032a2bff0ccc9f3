"""BLEU's tokenisation for a text whose language is not named."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rnnsearch.evaluation.bleu import tokenisation_of

_SCRIPTS = {
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff",
    "ja": "\u3041-\u30ff",
    "ko": "\u1100-\u11ff\uac00-\ud7a3",
    "th": "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff",
}


def length_tokenisation(lines: Sequence[str]) -> str:
    """Returns the tokenisation by which words of these lines are counted."""
    return unspaced_tokenisation(lines) or "13a"


def unspaced_tokenisation(lines: Sequence[str]) -> str:
    """Returns the tokenisation for text in Chinese, Japanese, Korean, Thai, Lao, Tibetan, Burmese
    or Khmer letters, on which 13a counts whole phrases as words; empty for other text."""
    text = "".join(lines[:1000])
    counts = {
        language: len(re.findall(f"[{letters}]", text)) for language, letters in _SCRIPTS.items()
    }
    if 2 * sum(counts.values()) <= sum(map(str.isalpha, text)):
        return ""
    # Japanese has kana in every sentence
    kana = counts["ja"] * 10 > counts["zh"] + counts["ja"] > 0
    return tokenisation_of("ja" if kana else max(counts, key=counts.__getitem__))
