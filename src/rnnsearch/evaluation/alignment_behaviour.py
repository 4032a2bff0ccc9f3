"""How an alignment behaves, whatever the truth: entropy, coverage, monotone jumps, agreement of two
directions; no gold links needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
from numpy.typing import NDArray

from rnnsearch.evaluation.alignment_error import entropy
from rnnsearch.word_links import Link

LEFT_OUT, TOO_OFTEN = 0.2, 2.5
"""A source word whose `coverage` is below the first counts as left out (under-translated): hardly any target
word looked at it. One whose coverage is above the second was attended to too often (over-translated). Two
words that became one have 0.5 each, and one that became two has 2: neither is a fault."""


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


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Sums over one sentence or many, and the shares that they make.

    source_words, target_words: without the end of sentence. entropy_sum: over the target words, in nats.
    under, over: source words that were left out, and that were attended to too often. jumps, monotone: of the
    links, and how many of them do not go back. both, either: links that two directions share, and those of
    the one plus those of the other; 0 without a second direction.
    """

    source_words: int = 0
    target_words: int = 0
    entropy_sum: float = 0.0
    under: int = 0
    over: int = 0
    jumps: int = 0
    monotone: int = 0
    both: int = 0
    either: int = 0

    @classmethod
    def of(
        cls, weights: NDArray[np.floating], links: Collection[Link], reverse: Collection[Link] | None = None
    ) -> Behaviour:
        """Counts one sentence.

        weights: (target, source) with the end of the source sentence as the last column. links: made of them.
        reverse: the links (source, target) of the other direction.
        """
        of_words = weights[:, :-1]
        moves = jumps(links)
        return cls(
            source_words=of_words.shape[1],
            target_words=len(weights),
            entropy_sum=entropy(weights) * len(weights),
            under=len(left_out(of_words)),
            over=len(too_often(of_words)),
            jumps=len(moves),
            monotone=sum(move >= 0 for move in moves),
            both=len(set(links) & set(reverse)) if reverse is not None else 0,
            either=len(set(links)) + len(set(reverse)) if reverse is not None else 0,
        )

    def __add__(self, other: Behaviour) -> Behaviour:
        return Behaviour(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def shares(self) -> dict[str, float]:
        """Returns the entropy of a target word in nats, and the shares of source words under- and
        over-translated, of monotone jumps, and, with a second direction, of agreeing links.

        Where there was nothing to count: entropy and the first two shares are 0, the others 1.
        """
        shares = {
            "entropy": _ratio(self.entropy_sum, self.target_words, 0.0),
            "under_translated": _ratio(self.under, self.source_words, 0.0),
            "over_translated": _ratio(self.over, self.source_words, 0.0),
            "monotone": _ratio(self.monotone, self.jumps, 1.0),
        }
        return shares | ({"agreement": _ratio(2 * self.both, self.either, 1.0)} if self.either else {})


def whole(sentences: Sequence[Behaviour]) -> Behaviour:
    """Adds all sentences up: a long one weighs more than a short one."""
    return reduce(add, sentences, Behaviour())


def _ratio(part: float, of: float, empty: float) -> float:
    return part / of if of else empty
