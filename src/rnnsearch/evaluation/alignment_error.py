"""How good word links are (alignment error rate against gold links) and how sharp soft alignments are (entropy)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.word_links import GoldLinks, Link


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """Precision, recall and alignment error rate, each from 0 to 1, with the corpus counts |A|, |S| and |P| behind them."""

    precision: float
    recall: float
    aer: float
    links: int
    sure: int
    possible: int

    def f_measure(self, alpha: float = 0.5) -> float:
        """F_α = 1 / (α / precision + (1 − α) / recall) (Fraser & Marcu 2007, Eq. 4): 0.5 is balanced, less weighs recall more.

        Precision and recall are those above, of possible and of sure links, unless the gold links have no possible ones. 0 if either is 0.
        """
        if not self.precision * self.recall:
            return 0.0
        return 1.0 / (alpha / self.precision + (1.0 - alpha) / self.recall)

    def __str__(self) -> str:
        rates = f"AER {100 * self.aer:.2f} (precision {100 * self.precision:.2f}, recall {100 * self.recall:.2f}"
        rates += f", F {100 * self.f_measure():.2f}"
        return f"{rates}; |A| = {self.links}, |S| = {self.sure}, |P| = {self.possible})"


def alignment_error(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> AlignmentScore:
    """Compares links A with gold links S ⊆ P (Och & Ney 2003), all counts summed over the corpus.

    precision = |A∩P| / |A|,  recall = |A∩S| / |S|,  AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|).

    Where a denominator is 0 nothing can be wrong: no links have precision 1, no sure links have recall 1, and with neither AER is 0.
    A link that occurs twice in a sentence counts once.
    Raises InputError if there are not as many sentences of links as of gold links, or none.
    """
    if len(links) != len(gold):
        raise InputError(
            f"there are {len(links)} sentences of links but {len(gold)} of gold links",
            remedy="line n of the links must belong to sentence n of the gold file",
        )
    if not gold:
        raise InputError("no sentence to score", remedy="the links and the gold links are empty")
    found = in_sure = in_possible = 0
    for sentence, reference in zip(links, gold, strict=True):
        distinct = frozenset(sentence)
        found += len(distinct)
        in_sure += len(distinct & reference.sure)
        in_possible += len(distinct & reference.possible)
    sure = sum(len(reference.sure) for reference in gold)
    possible = sum(len(reference.possible) for reference in gold)
    return AlignmentScore(
        precision=_share(in_possible, found),
        recall=_share(in_sure, sure),
        aer=1.0 - _share(in_sure + in_possible, found + sure),
        links=found,
        sure=sure,
        possible=possible,
    )


def alignment_statistics(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> dict[str, SufficientStatistics]:
    """aer, precision and recall as `alignment_error` has them, sentence by sentence, for tests of significance."""
    answers = [frozenset(sentence) for sentence in links]
    found, sure = [len(answer) for answer in answers], [len(reference.sure) for reference in gold]
    in_sure = [len(answer & reference.sure) for answer, reference in zip(answers, gold, strict=True)]
    in_possible = [len(answer & reference.possible) for answer, reference in zip(answers, gold, strict=True)]
    in_all = [a + s for a, s in zip(found, sure, strict=True)]
    errors = [whole - s - p for whole, s, p in zip(in_all, in_sure, in_possible, strict=True)]
    return {
        "aer": ratio("AER", "", errors, in_all, lower_is_better=True),
        "precision": ratio("precision", "", in_possible, found),
        "recall": ratio("recall", "", in_sure, sure),
    }


def entropy(weights: NDArray[np.floating]) -> float:
    """Mean over the rows of −Σ_j α_ij ln α_ij, in nats: 0 for hard alignments, ln J for uniform ones over J source words.

    weights: (target, source), rows sum to 1 (Eq. 6); 0 ln 0 is 0. Without rows the mean is taken as 0.
    """
    if weights.size == 0:
        return 0.0
    α = weights.astype(np.float64)
    # Where α is 0 the logarithm is taken of 1, so the product is the limit, 0. The sum with 0.0 turns −0.0 into 0.0.
    return float(-(α * np.log(np.where(α > 0, α, 1.0))).sum(axis=1).mean()) + 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
