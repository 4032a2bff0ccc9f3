"""Quality of word links (alignment error rate against gold links) and sharpness of soft alignments
(entropy)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.evaluation.test_set import TestSet
from rnnsearch.text.links import PairWordCounts, given_words, recognise, tokeniser_ranges
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.word_links import GoldLinks, Link


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """Precision, recall and alignment error rate, each from 0 to 1, with the corpus counts |A|, |S| and |P|
    behind them."""

    precision: float
    recall: float
    aer: float
    links: int
    sure: int
    possible: int

    def f_measure(self, alpha: float = 0.5) -> float:
        """Returns F_α = 1 / (α / precision + (1 − α) / recall) (Fraser & Marcu 2007, Eq. 4): 0.5 is balanced,
        a smaller α weighs recall more.

        Precision is that of possible links, recall that of sure links. 0 if either is 0.
        """
        if not self.precision * self.recall:
            return 0.0
        return 1.0 / (alpha / self.precision + (1.0 - alpha) / self.recall)

    def __str__(self) -> str:
        aer, precision, recall, f = (
            f"{100 * rate:.2f}" for rate in (self.aer, self.precision, self.recall, self.f_measure())
        )
        counts = f"|A| = {self.links}, |S| = {self.sure}, |P| = {self.possible}"
        return f"AER {aer} (precision {precision}, recall {recall}, F {f}; {counts})"


def alignment_error(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> AlignmentScore:
    """Compares links A with gold links S ⊆ P (Och & Ney 2003), all counts summed over the corpus.

    precision = |A∩P| / |A|,  recall = |A∩S| / |S|,  AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|).

    If a denominator is 0, nothing can be wrong: without links precision is 1, without sure links recall is 1,
    without both AER is 0. A link that occurs twice in a sentence counts once.
    Raises InputError if links and gold links have different numbers of sentences, or none.
    """
    if len(links) != len(gold):
        raise InputError(
            f"there are {len(links)} sentences of links but {len(gold)} of gold links",
            remedy="line n of the links must belong to sentence n of the gold file",
        )
    if not gold:
        raise InputError("no sentence to score", remedy="the links and the gold links are empty")
    found, in_sure, in_possible, sure, possible = _counts(links, gold).sum(axis=0).tolist()
    return AlignmentScore(
        precision=_share(in_possible, found),
        recall=_share(in_sure, sure),
        aer=1.0 - _share(in_sure + in_possible, found + sure),
        links=found,
        sure=sure,
        possible=possible,
    )


def alignment_statistics(
    links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]
) -> dict[str, SufficientStatistics]:
    """Returns the statistics of aer, precision and recall, defined as in `alignment_error`, for tests of
    significance."""
    found, in_sure, in_possible, sure, _ = _counts(links, gold).T
    errors = found + sure - in_sure - in_possible
    return {
        "aer": ratio("AER", "", errors, found + sure, lower_is_better=True),
        "precision": ratio("precision", "", in_possible, found),
        "recall": ratio("recall", "", in_sure, sure),
    }


def _counts(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> NDArray[np.int64]:
    """Returns |A|, |A∩S|, |A∩P|, |S| and |P| of each sentence: (sentences, 5)."""
    counts = []
    for found, reference in zip(map(frozenset, links), gold, strict=True):
        sides = reference.sure, reference.possible
        counts.append((len(found), *(len(found & side) for side in sides), *map(len, sides)))
    return np.array(counts, dtype=np.int64)


def counted_links(
    test: TestSet, links: Sequence[Sequence[Link]], tokenisers: tuple[Tokeniser, Tokeniser]
) -> tuple[list[set[Link]], list[GoldLinks]]:
    """Returns (links in the positions that the gold links use, gold links).

    links: (source, target) positions of the tokenisers' words. Gold links count words between spaces, or the
    tokenisers' words; which of the two is recognised as by `prepare`.
    Raises InputError for gold links outside their sentences.
    """
    assert test.gold is not None
    words = [
        [(given_words(line), tokeniser.words(line)) for line, tokeniser in zip(pair, tokenisers, strict=True)]
        for pair in test.pairs
    ]
    counted = [
        PairWordCounts(sorted(sentence.possible), *zip(*(map(len, side) for side in pair), strict=True))
        for sentence, pair in zip(test.gold, words, strict=True)
    ]
    tokenised = recognise(counted) == "tokenised"
    for number, (possible, *counts) in enumerate(counted, 1):
        source, target = counts[tokenised]
        for j, i in possible:
            if j >= source or i >= target:
                what = (
                    f"sentence {number}: the gold link {j}-{i} (counted from 0) is outside its {source} "
                    f"source and {target} target words"
                )
                remedy = "gold links must count words between spaces, or the tokeniser's words"
                raise InputError(what, file=test.gold_file, remedy=remedy)
    if tokenised:
        return [set(sentence) for sentence in links], test.gold
    found = []
    for sentence, pair in zip(links, words, strict=True):
        left, right = (_given_positions(test, *side) for side in pair)
        found.append({(left[j], right[i]) for j, i in sentence})
    return found, test.gold


def _given_positions(test: TestSet, given: list[str], words: list[str]) -> list[int]:
    """Returns, for each of the tokeniser's words, the index of the given word that contains it; of several,
    the first."""
    ranges = tokeniser_ranges(given, words)
    if ranges is None:
        what = (
            f"the tokeniser changes letters of {' '.join(given)[:60]!r}, so its links cannot be "
            "compared with gold links"
        )
        remedy = 'leave the sentence out, or give data.tokeniser = "space"'
        raise InputError(what, file=test.gold_file, remedy=remedy)
    positions = [0] * len(words)
    for place, (first, after) in reversed(list(enumerate(ranges))):
        positions[first:after] = [place] * (after - first)
    return positions


def entropy(weights: NDArray[np.floating]) -> float:
    """Returns the mean over the rows of −Σ_j α_ij ln α_ij, in nats: 0 for hard alignments, ln J for uniform
    ones over J source words.

    weights: (target, source), rows sum to 1 (Eq. 6); 0 ln 0 is 0. Without rows the mean is 0.
    """
    if weights.size == 0:
        return 0.0
    α = weights.astype(np.float64)
    # Where α is 0, ln 1 makes the product 0, which is the limit. Adding 0.0 turns −0.0
    # into 0.0.
    return float(-(α * np.log(np.where(α > 0, α, 1.0))).sum(axis=1).mean()) + 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
