"""How probable a model finds the references: negative log-likelihood of a sentence and of a word, perplexity (Table 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rnnsearch.errors import InputError
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.records import Translation


@dataclass(frozen=True, slots=True)
class Likelihood:
    """log_probabilities: log p(y | x) of every reference, in nats, end of sentence included. words: of every reference, its end counted.

    The likelihoods of two models can be compared only if both have the same target words: a short shortlist makes its one UNK probable.
    """

    log_probabilities: Sequence[float]
    words: Sequence[int]

    def __post_init__(self) -> None:
        if len(self.log_probabilities) != len(self.words):
            raise InputError(f"{len(self.log_probabilities)} log-probabilities for {len(self.words)} sentences")

    @classmethod
    def of(cls, forced: Iterable[Translation], subwords: bool = False) -> Likelihood:
        """From the references under forced decoding. Words are counted, so that models of both kinds can be compared, or subwords."""
        both = [(result.score, len(result.log_probabilities) if subwords else len(result.tokens) + 1) for result in forced]
        return cls([score for score, _ in both], [words for _, words in both])

    @property
    def nll_per_sentence(self) -> float:
        """Mean of −log p(y | x), in nats."""
        return self.per_sentence().score().value

    @property
    def nll_per_word(self) -> float:
        """−Σ log p(y | x) / Σ words, in nats."""
        return self.per_word().score().value

    def per_sentence(self) -> SufficientStatistics:
        """For a part of the sentences, or for the bootstrap."""
        nll = [-value for value in self.log_probabilities]
        return ratio("NLL per sentence", "nats", nll, [1.0] * len(nll), lower_is_better=True)

    def per_word(self) -> SufficientStatistics:
        """For a part of the sentences, or for the bootstrap."""
        return ratio("NLL per word", "nats", [-value for value in self.log_probabilities], self.words, lower_is_better=True)


def perplexity(nll_per_word: float) -> float:
    """exp of the negative log-likelihood of a word; infinite where that is too large a number."""
    try:
        return math.exp(nll_per_word)
    except OverflowError:
        return math.inf
