"""Measures of an alignment that need no gold links: entropy, coverage, monotone jumps, agreement of two
directions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rnnsearch.evaluation.alignment_error import entropy
from rnnsearch.word_links import Link

LEFT_OUT, TOO_OFTEN = 0.2, 2.5
"""A source word with `coverage` below the first is left out (under-translated); one with coverage above the
second is attended to too often (over-translated). If two words are translated by one, each has 0.5; if one is
translated by two, it has 2: neither is a fault."""

Behaviour = dict[str, tuple[float, float]]
"""Measure → (count, total), of one sentence or summed over several."""


def coverage(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns the sum of the attention on each source word, Σ_i α_ij (Tu et al. 2016; GNMT's penalty): about
    1 if it was translated once.

    weights: (target, source), rows sum to 1 (Eq. 6). Returns (source,). The end of sentence is a word if
    `weights` has its column.
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
    """Returns how far the source position moves from each linked target word to the next. A word with several
    links has their mean position."""
    sources: dict[int, list[int]] = {}
    for source, target in set(links):
        sources.setdefault(target, []).append(source)
    places = [sum(sources[target]) / len(sources[target]) for target in sorted(sources)]
    return [later - earlier for earlier, later in pairwise(places)]


def monotone(links: Collection[Link]) -> tuple[int, int]:
    """Returns (number of jumps that do not go back, number of all jumps)."""
    moves = jumps(links)
    return sum(move >= 0 for move in moves), len(moves)


def agreement(one: Collection[Link], other: Collection[Link]) -> tuple[int, int]:
    """Returns (2 |A∩B|, |A| + |B|) of the links A of one direction and B of the other."""
    return 2 * len(set(one) & set(other)), len(set(one)) + len(set(other))


def behaviour(
    weights: NDArray[np.floating], links: Collection[Link], reverse: Collection[Link] | None = None
) -> Behaviour:
    """Returns the counts of one sentence: entropy of target words in nats, under- and over-translated source
    words, monotone jumps, links that both directions share.

    weights: (target, source) with the end of the source sentence as the last column. links: those made from
    the weights. reverse: links (source, target) of the reverse run.
    """
    of_words = weights[:, :-1]
    counts: Behaviour = {
        "entropy": (entropy(weights) * len(weights), len(weights)),
        "under_translated": (len(left_out(of_words)), of_words.shape[1]),
        "over_translated": (len(too_often(of_words)), of_words.shape[1]),
        "monotone": monotone(links),
    }
    return counts if reverse is None else counts | {"agreement": agreement(links, reverse)}


def summed(sentences: Sequence[Behaviour]) -> Behaviour:
    """Returns the sums of the counts over all sentences; long ones weigh more."""
    total: Behaviour = {}
    for sentence in sentences:
        for name, (part, of) in sentence.items():
            before = total.get(name, (0.0, 0.0))
            total[name] = before[0] + part, before[1] + of
    return total


def shares(counts: Behaviour) -> dict[str, float]:
    """Returns measure → count / total. If a total is 0, the share of monotone jumps is 1, agreement is left
    out, and the others are 0."""
    return {
        name: part / of if of else float(name == "monotone")
        for name, (part, of) in counts.items()
        if of or name != "agreement"
    }
