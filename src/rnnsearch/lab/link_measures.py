"""Measures of word links and of α, for one sentence or many: alignment error, entropy, coverage,
monotone jumps, agreement of two directions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rnnsearch.evaluation.alignment_error import link_counts
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.word_links import GoldLinks, Link

LEFT_OUT, TOO_OFTEN = 0.2, 2.5
"""A source word with `coverage` below the first is left out (under-translated); one with coverage
above the second is attended to too often (over-translated). If two words are translated by one,
each has 0.5; if one is translated by two, it has 2: neither is a fault."""

Behaviour = dict[str, tuple[float, float]]
"""Measure → (count, total), of one sentence or summed over several."""


def alignment_statistics(
    links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]
) -> dict[str, SufficientStatistics]:
    """Returns the statistics of AER, precision and recall, defined as in `alignment_error`, for
    intervals and tests of significance."""
    found, in_sure, in_possible, sure, _ = link_counts(links, gold).T
    errors = found + sure - in_sure - in_possible
    return {
        "AER": ratio("AER", "", errors, found + sure, empty=0.0),
        "precision": ratio("precision", "", in_possible, found, empty=1.0),
        "recall": ratio("recall", "", in_sure, sure, empty=1.0),
    }


def entropy(weights: NDArray[np.floating]) -> float:
    """Returns the mean over the rows of −Σ_j α_ij ln α_ij, in nats: 0 for hard alignments, ln J for
    uniform ones over J source words.

    weights: (target, source), rows sum to 1 (Eq. 6); 0 ln 0 is 0. Without rows the mean is 0.
    """
    if weights.size == 0:
        return 0.0
    α = weights.astype(np.float64)
    # Where α is 0, ln 1 makes the product 0, which is the limit. Adding 0.0 turns −0.0
    # into 0.0.
    return float(-(α * np.log(np.where(α > 0, α, 1.0))).sum(axis=1).mean()) + 0.0


def coverage(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns the sum of the attention on each source word, Σ_i α_ij (Tu et al. 2016; GNMT's
    penalty): about 1 if it was translated once.

    weights: (target, source), rows sum to 1 (Eq. 6). Returns (source,). The end of sentence is a
    word if `weights` has its column.
    """
    total: NDArray[np.float64] = np.asarray(weights, dtype=np.float64).sum(axis=0)
    return total


def monotone(links: Collection[Link]) -> tuple[int, int]:
    """Returns (number of jumps that do not go back, number of all jumps). A jump is the move of the
    source position from one linked target word to the next; a word with several links has their
    mean position."""
    sources: dict[int, list[int]] = {}
    for source, target in set(links):
        sources.setdefault(target, []).append(source)
    places = [sum(sources[target]) / len(sources[target]) for target in sorted(sources)]
    moves = [later >= earlier for earlier, later in pairwise(places)]
    return sum(moves), len(moves)


def agreement(one: Collection[Link], other: Collection[Link]) -> tuple[int, int]:
    """Returns (2 |A∩B|, |A| + |B|) of the links A of one direction and B of the other."""
    return 2 * len(set(one) & set(other)), len(set(one)) + len(set(other))


def behaviour(
    weights: NDArray[np.floating], links: Collection[Link], reverse: Collection[Link] | None = None
) -> Behaviour:
    """Returns the counts of one sentence: entropy of target words in nats, under- and
    over-translated source words, monotone jumps, links that both directions share.

    weights: (target, source) with the end of the source sentence as the last column. links: those
    made from the weights. reverse: links (source, target) of the reverse run.
    """
    covered = coverage(weights[:, :-1])
    counts: Behaviour = {
        "entropy": (entropy(weights) * len(weights), len(weights)),
        "under_translated": (int((covered < LEFT_OUT).sum()), len(covered)),
        "over_translated": (int((covered > TOO_OFTEN).sum()), len(covered)),
        "monotone": monotone(links),
    }
    return counts if reverse is None else counts | {"agreement": agreement(links, reverse)}


def link_errors(links: Collection[Link], gold: GoldLinks) -> Behaviour:
    """Returns the counts behind AER, precision and recall of one sentence, as in
    `alignment_error`."""
    rates = alignment_statistics([links], [gold])
    return {name.lower(): tuple(one.values[0].tolist()) for name, one in rates.items()}


def summed(sentences: Iterable[Behaviour]) -> Behaviour:
    """Returns the sums of the counts over all sentences; long ones weigh more."""
    total: Behaviour = {}
    for sentence in sentences:
        for name, (part, of) in sentence.items():
            before, of_before = total.get(name, (0.0, 0.0))
            total[name] = before + part, of_before + of
    return total


def shares(counts: Behaviour) -> dict[str, float]:
    """Returns measure → count / total. If a total is 0, precision, recall and the share of monotone
    jumps are 1, agreement is left out, and the others are 0."""
    return {
        name: part / of if of else float(name in ("monotone", "precision", "recall"))
        for name, (part, of) in counts.items()
        if of or name != "agreement"
    }
