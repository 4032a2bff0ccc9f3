"""Negative log-likelihood and perplexity, against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rnnsearch.errors import InputError
from rnnsearch.evaluation.by_length import buckets, by_length
from rnnsearch.evaluation.likelihood import Likelihood, perplexity
from rnnsearch.records import Translation

TWO = Likelihood([-math.log(8), -math.log(32)], [3, 5])
"""Three words of probability ½ each, and five."""


def test_a_model_that_tosses_a_coin_has_perplexity_2() -> None:
    assert TWO.nll_per_sentence == pytest.approx(math.log(16))
    assert TWO.nll_per_word == pytest.approx(math.log(2))
    assert perplexity(TWO.nll_per_word) == pytest.approx(2)


def test_words_count_not_sentences() -> None:
    mixed = Likelihood([-1.0, -10.0], [1, 4])
    assert mixed.nll_per_word == pytest.approx(11 / 5)
    assert mixed.per_word().lower_is_better
    assert mixed.per_word().score(np.array([False, True])).value == pytest.approx(2.5)
    short, long, *_ = by_length(mixed.per_word(), buckets([3, 17]), samples=10)
    assert (short.value, long.value) == (1.0, 2.5)


def test_a_perplexity_may_be_too_large_for_a_number() -> None:
    assert perplexity(1e6) == math.inf


def test_one_count_for_each_sentence() -> None:
    with pytest.raises(InputError, match="1 log-probabilities for 2 sentences"):
        Likelihood([-1.0], [1, 2])


def test_of_forced_decoding_words_are_counted_not_pieces() -> None:
    """Two words of three pieces, and the end of sentence."""
    forced = Translation(
        "ein wort", ["ein", "wort"], ["a", "word", "</s>"], -6.0, [-1.0, -2.0, -2.0, -1.0], np.full((2, 3), 1 / 3, np.float32)
    )
    assert Likelihood.of([forced]).nll_per_word == 2
    assert Likelihood.of([forced], subwords=True).nll_per_word == 1.5  # as the network counts
    assert Likelihood.of([]).words == []
