"""Scores of parts and of resamples, from sums, are those of the text itself."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu

from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics, length_ratio_statistics, multi_bleu_statistics, ter_statistics
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio, resampled_sums

METRICS = {"bleu": bleu_statistics, "chrf": chrf_statistics, "ter": ter_statistics, "multi-bleu": multi_bleu_statistics}
RANDOM = np.random.default_rng(5)
WORDS = np.array(["le", "la", "un", "une", "homme", "femme", "chien", "voit", "mange", "dort", "petit", "grand", ",", "."])
REFERENCES = [" ".join(RANDOM.choice(WORDS, size=size)) for size in RANDOM.integers(5, 15, size=30)]
HYPOTHESES = [" ".join(word for word in line.split() if RANDOM.random() < 0.8) for line in REFERENCES]


@pytest.mark.parametrize("name", METRICS)
def test_the_score_of_a_part_is_that_of_its_text(name: str) -> None:
    statistics = METRICS[name](HYPOTHESES, REFERENCES)
    assert len(statistics) == 30
    part = np.arange(30) % 3 == 1
    alone = METRICS[name](HYPOTHESES[1::3], REFERENCES[1::3]).score()
    assert statistics.score(part) == alone
    assert statistics.score(np.flatnonzero(part)) == alone
    assert statistics.score() != alone


@pytest.mark.parametrize("name", METRICS)
def test_a_bootstrap_score_is_that_of_the_text_drawn(name: str) -> None:
    scores = METRICS[name](HYPOTHESES, REFERENCES).bootstrap(samples=3, seed=7)
    drawn = np.random.default_rng(7).integers(30, size=(3, 30))
    for score, lines in zip(scores, drawn, strict=True):
        assert score == pytest.approx(METRICS[name]([HYPOTHESES[i] for i in lines], [REFERENCES[i] for i in lines]).score().value)


def test_resamples_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = RANDOM.random((11, 2))
    whole = resampled_sums(values, 9, seed=3)
    monkeypatch.setattr("rnnsearch.evaluation.statistics.DRAWN_AT_ONCE", 25)
    np.testing.assert_allclose(resampled_sums(values, 9, seed=3), whole)
    assert len({tuple(row) for row in whole.tolist()}) == 9


def test_the_interval_of_a_mean_is_that_of_its_normal_distribution() -> None:
    """The mean of n values has a standard error of σ/√n, and 95 % of a normal distribution lie within 1.96 of those."""
    values = np.random.default_rng(2).normal(10, 2, size=400)
    mean = ratio("mean", "", values.tolist(), [1.0] * 400)
    low, high = mean.interval(samples=2000)
    error = values.std() / 20
    assert (low, high) == (pytest.approx(values.mean() - 1.96 * error, abs=0.03), pytest.approx(values.mean() + 1.96 * error, abs=0.03))
    narrow_low, narrow_high = mean.interval(samples=2000, confidence=0.5)
    assert low < narrow_low < narrow_high < high


def test_equal_seeds_pair_the_systems() -> None:
    ours, theirs = bleu_statistics(HYPOTHESES, REFERENCES), bleu_statistics(HYPOTHESES, REFERENCES)
    np.testing.assert_array_equal(ours.bootstrap(samples=5, seed=1), theirs.bootstrap(samples=5, seed=1))
    assert (ours.bootstrap(samples=5, seed=1) != theirs.bootstrap(samples=5, seed=2)).any()


def test_the_length_ratio_is_sacrebleus() -> None:
    score = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES])
    assert length_ratio_statistics(bleu_statistics(HYPOTHESES, REFERENCES)).score().value == score.sys_len / score.ref_len


def test_of_no_sentence_there_is_no_score() -> None:
    statistics = SufficientStatistics("BLEU", "", np.zeros((2, 2)), sum)
    for nothing in (statistics.score, statistics.bootstrap, statistics.interval):
        with pytest.raises(InputError, match="no sentence"):
            nothing(np.array([False, False]))
    assert np.isnan(ratio("length ratio", "", [1.0], [0.0]).score().value)


def test_the_interval_leaves_equal_shares_outside() -> None:
    mean = ratio("mean", "", RANDOM.random(50).tolist(), [1.0] * 50)
    low, high = mean.interval(samples=1000, confidence=0.8)
    scores = mean.bootstrap(samples=1000)
    assert (np.sum(scores < low), np.sum(scores > high)) == (100, 100)
