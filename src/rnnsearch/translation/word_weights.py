"""From the alignment of ids to that of words, which may have several subwords each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def in_words(
    weights: NDArray[np.float32], source_word_of: Sequence[int], target_word_of: Sequence[int], target_words: int
) -> NDArray[np.float32]:
    """The alignment of words from that of ids: sums over the subwords of a source word, means over those of a target word.

    weights: (target ids, source ids); source_word_of: the end of sentence counts as a last word. Returns (target_words, source words);
    rows sum to 1, but a word none of whose ids read a context has a row of zeros.
    """
    source_words = source_word_of[-1] + 1
    summed = np.zeros((len(weights), source_words), dtype=np.float64)
    np.add.at(summed.T, np.asarray(source_word_of), weights[:, : len(source_word_of)].T)
    result = np.zeros((target_words, source_words), dtype=np.float64)
    np.add.at(result, np.asarray(target_word_of, dtype=np.intp), summed)
    result /= np.maximum(result.sum(1, keepdims=True), np.finfo(np.float64).tiny)
    return result.astype(np.float32)
