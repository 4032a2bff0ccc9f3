"""How an alignment behaves, whatever the truth: entropy, coverage, monotone jumps, agreement of two
directions; no gold links needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rnnsearch.evaluation.alignment_error import entropy
from rnnsearch.word_links import Link

LEFT_OUT, TOO_OFTEN = 0.2, 2.5
"""A source word whose `coverage` is below the first counts as left out (under-translated): hardly any target
word looked at it. One whose coverage is above the second was attended to too often (over-translated). Two
words that became one have 0.5 each, and one that became two has 2: neither is a fault."""

Behaviour = dict[str, tuple[float, float]]
"""Measure → what was counted, and among how many; in one sentence or the sums over many."""


def coverage(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns how much each source word was attended to in all, Σ_i α_ij (Tu et al. 2016; GNMT's penalty):
    about 1 if it was translated once.

    weights: (target, source), rows sum to 1 (Eq. 6). Returns (source,); the end of sentence counts as the
    word that it is here.
    """
    total: NDArray[np.float64] = np.asarray(weights, dtype=np.float64).sum(axis=0)
    return total


def left_out(weights: NDArray[np.floating]) -> list[int]:
    """Returns the positions of the source words that were left out. weights: as in `coverage`."""
    return [int(j) for j in np.flatnonzero(coverage(weights) < LEFT_OUT)]


def too_often(weights: NDArray[np.floating]) -> list[int]:
    """Returns the positions of the source words that were attended to too often. weights: as in
    `coverage`."""
    return [int(j) for j in np.flatnonzero(coverage(weights) > TOO_OFTEN)]


def jumps(links: Collection[Link]) -> list[float]:
    """Returns how far the source position moves from each linked target word to the next one; several links
    of a word stand at their mean."""
    sources: dict[int, list[int]] = {}
    for source, target in set(links):
        sources.setdefault(target, []).append(source)
    places = [sum(sources[target]) / len(sources[target]) for target in sorted(sources)]
    return [later - earlier for earlier, later in pairwise(places)]


def monotone(links: Collection[Link]) -> tuple[int, int]:
    """Counts the jumps that do not go back, and all of them."""
    moves = jumps(links)
    return sum(move >= 0 for move in moves), len(moves)


def agreement(one: Collection[Link], other: Collection[Link]) -> tuple[int, int]:
    """Counts the links that both have, twice, and all links."""
    return 2 * len(set(one) & set(other)), len(set(one)) + len(set(other))


def behaviour(
    weights: NDArray[np.floating], links: Collection[Link], reverse: Collection[Link] | None = None
) -> Behaviour:
    """Counts one sentence: the entropy of its target words, in nats; source words under- and over-translated;
    monotone jumps; links that two directions share.

    weights: (target, source) with the end of the source sentence as the last column. links: made of them.
    reverse: the links (source, target) of the other direction.
    """
    of_words = weights[:, :-1]
    counts: Behaviour = {
        "entropy": (entropy(weights) * len(weights), len(weights)),
        "under_translated": (len(left_out(of_words)), of_words.shape[1]),
        "over_translated": (len(too_often(of_words)), of_words.shape[1]),
        "monotone": monotone(links),
    }
    return counts if reverse is None else counts | {"agreement": agreement(links, reverse)}


def whole(sentences: Sequence[Behaviour]) -> Behaviour:
    """Adds all sentences up: a long one weighs more than a short one."""
    total: Behaviour = {}
    for sentence in sentences:
        for name, (part, of) in sentence.items():
            before = total.get(name, (0.0, 0.0))
            total[name] = before[0] + part, before[1] + of
    return total


def shares(counts: Behaviour) -> dict[str, float]:
    """Returns what was counted as shares. Where there was nothing to count: a share of monotone jumps is 1,
    the others are 0, and there is no agreement."""
    return {
        name: part / of if of else float(name == "monotone")
        for name, (part, of) in counts.items()
        if of or name != "agreement"
    }
