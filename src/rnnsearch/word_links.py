"""Word links as plain data: made from alignments, written in Pharaoh format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError

Link = tuple[int, int]
"""A word link (source position, target position), both 0-based: the order of a Pharaoh `i-j`
pair."""


@dataclass(frozen=True, slots=True)
class GoldLinks:
    """One sentence's reference links (Och & Ney 2003): sure links S, and possible links P, which
    include S."""

    sure: frozenset[Link]
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        sides = given_links(self.sure, "sure"), given_links(self.possible, "possible")
        object.__setattr__(self, "sure", frozenset(sides[0]))
        object.__setattr__(self, "possible", frozenset.union(*map(frozenset, sides)))


def given_links(links: Iterable[Link], name: str) -> set[Link]:
    """Returns the links of an argument with this name. Raises InputError for a text, and for what
    has no pairs of positions from 0."""
    try:
        pairs = list(links)
        if any(isinstance(pair, (str, bytes)) for pair in pairs):
            raise TypeError
        found = {(index(source), index(target)) for source, target in pairs}
        if negative := [link for link in found if min(link) < 0]:
            raise InputError(f"{name}: {negative[0]} is no link", "count words from 0")
        return found
    except (TypeError, ValueError):
        remedy = "give pairs (source, target); read_pharaoh reads them from a file"
        raise InputError(f"{name}: {type(links).__name__} was given, not links", remedy) from None


def format_links(links: Sequence[Link]) -> str:
    """Writes links in Pharaoh format: `0-0 1-2`, source-target, 0-based."""
    return " ".join(f"{j}-{i}" for j, i in links)


def hard_links(weights: NDArray[np.float32]) -> list[Link]:
    """Links each target word to its strongest source word; returns (source, target) pairs, sorted.

    weights: (target, source), with the end of sentence `</s>` as the last column: a row with its
    maximum there has no link. A row of zeros has none either: its word read no context.
    """
    if weights.size == 0:
        return []
    end = weights.shape[1] - 1
    return sorted(
        (int(j), i)
        for i, j in enumerate(np.argmax(weights, axis=1))
        if j < end and weights[i, j] > 0
    )


def threshold_links(weights: NDArray[np.float32], threshold: float) -> list[Link]:
    """Returns the (source, target) pairs whose weight is at least the threshold, sorted; a word may
    have any number of links.

    weights: (target, source), without the end of sentence, which is no word. A row of zeros has no
    link, whatever the threshold: its word read no context.
    """
    reached = (weights >= threshold) & weights.any(axis=1, keepdims=True)
    return sorted((int(source), int(target)) for target, source in np.argwhere(reached))


def merge_subwords(
    weights: NDArray[np.float32],
    source_word_of: Sequence[int],
    target_word_of: Sequence[int],
    target_words: int,
) -> NDArray[np.float32]:
    """Returns the alignment of words: sums over the subwords of a source word, means over those of
    a target word.

    weights: (target ids, source ids). source_word_of: the end of sentence counts as a last word.
    Result: (target_words, source words). Rows sum to 1; the row of a word whose ids all read no
    context is 0.
    """
    summed = np.zeros((len(weights), source_word_of[-1] + 1), dtype=np.float64)
    np.add.at(summed.T, np.asarray(source_word_of), weights[:, : len(source_word_of)].T)
    result = np.zeros((target_words, summed.shape[1]), dtype=np.float64)
    np.add.at(result, np.asarray(target_word_of, dtype=np.intp), summed)
    result /= np.maximum(result.sum(1, keepdims=True), np.finfo(np.float64).tiny)
    return result.astype(np.float32)
