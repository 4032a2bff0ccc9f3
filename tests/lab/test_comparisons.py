"""Scores of resamples are those of their text; p-values are sacreBLEU's, and they behave as p-values must."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu
from drawn_lines import drawn_lines
from refusals import refusal
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.lab.measures import length_ratio
from rnnsearch.lab.multi_bleu import multi_bleu_statistics
from rnnsearch.lab.significance import (
    bootstrap,
    compare,
    comparisons,
    interval,
    p_statement,
    p_value,
)

METRICS = {
    "bleu": bleu_statistics,
    "chrf": chrf_statistics,
    "multi-bleu": multi_bleu_statistics,
}
RANDOM = np.random.default_rng(11)
REFERENCES = drawn_lines(RANDOM)


def damaged(share: float) -> list[str]:
    return [
        " ".join(word if RANDOM.random() > share else "rien" for word in line.split())
        for line in REFERENCES
    ]


BETTER, WORSE = damaged(0.20), damaged(0.24)
HYPOTHESES = [
    " ".join(word for word in line.split() if RANDOM.random() < 0.8) for line in REFERENCES
]


@pytest.mark.parametrize("name", METRICS)
def test_the_score_of_a_part_is_that_of_its_text(name: str) -> None:
    statistics = METRICS[name](HYPOTHESES, REFERENCES)
    assert len(statistics) == 40
    part = np.arange(40) % 3 == 1
    alone = METRICS[name](HYPOTHESES[1::3], REFERENCES[1::3]).score()
    assert statistics.score(part) == alone
    assert statistics.score(np.flatnonzero(part)) == alone
    assert statistics.score() != alone


@pytest.mark.parametrize("name", METRICS)
def test_a_bootstrap_score_is_that_of_the_text_drawn(name: str) -> None:
    scores = bootstrap(METRICS[name](HYPOTHESES, REFERENCES), samples=3, seed=7)
    drawn = np.random.default_rng(7).integers(40, size=(3, 40))
    for score, lines in zip(scores, drawn, strict=True):
        assert score == pytest.approx(
            METRICS[name]([HYPOTHESES[i] for i in lines], [REFERENCES[i] for i in lines])
            .score()
            .value
        )


def test_the_interval_of_a_mean_is_that_of_its_normal_distribution() -> None:
    """The mean of n values has a standard error of σ/√n, and 95 % of a normal distribution lie within 1.96 of
    those."""
    values = np.random.default_rng(2).normal(10, 2, size=400)
    mean = ratio("mean", "", values.tolist(), [1.0] * 400)
    low, high = interval(mean, samples=2000)
    error = values.std() / 20
    assert (low, high) == (
        pytest.approx(values.mean() - 1.96 * error, abs=0.03),
        pytest.approx(values.mean() + 1.96 * error, abs=0.03),
    )


def test_the_length_ratio_is_sacrebleus() -> None:
    score = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES])
    assert (
        length_ratio(bleu_statistics(HYPOTHESES, REFERENCES)).score().value
        == score.sys_len / score.ref_len
    )


def test_of_no_sentence_there_is_no_interval() -> None:
    statistics = SufficientStatistics("BLEU", "", np.zeros((2, 2)), sum)
    for nothing in (bootstrap, interval):
        with refusal("no sentence"):
            nothing(statistics, np.array([False, False]))


@pytest.mark.parametrize(("name", "metric"), [("bleu", BLEU()), ("chrf", CHRF())])
def test_without_ties_p_is_sacrebleus(
    name: str, metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The random exchanges are the same; sacreBLEU counts larger differences only, so its p is too small where
    equal ones occur."""
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    monkeypatch.setattr("rnnsearch.lab.significance.DRAWN_AT_ONCE", 40 * 64)
    ours, theirs = (METRICS[name](hypotheses, REFERENCES) for hypotheses in (BETTER, WORSE))
    result = compare(("better", ours), ("worse", theirs), trials=400)
    systems = [("better", BETTER), ("worse", WORSE)]
    _, scores = PairedTest(systems, {name: metric}, [REFERENCES], "ar", 400)()
    expected = scores[ours.name][1].p_value
    assert result.p == pytest.approx(expected, abs=1e-12)
    assert 0.01 < result.p < 0.9
    assert (result.metric, result.system, result.other) == (ours.name, "better", "worse")
    assert result.difference == pytest.approx(theirs.score().value - ours.score().value)
    assert result.low < result.difference < result.high


def mean(values: list[float]) -> SufficientStatistics:
    return ratio("mean", "", values, [1.0] * len(values))


def differing(k: int, of: int, worse: float) -> tuple[tuple[str, SufficientStatistics], ...]:
    """Two systems that differ in k sentences; the second has `worse` more in each."""
    return ("a", mean([0.0] * of)), ("b", mean([worse] * k + [0.0] * (of - k)))


@pytest.mark.parametrize(("k", "p"), [(0, 1.0), (1, 1.0), (2, 0.5), (3, 0.25), (13, 2 / 2**13)])
@pytest.mark.parametrize("worse", [1.0, 0.1])  # sums of 0.1 have rounding errors
def test_p_of_few_differing_sentences_is_that_of_all_exchanges(
    k: int, p: float, worse: float
) -> None:
    """Of the 2^k exchanges, only two give the whole difference: none, and all."""
    assert compare(*differing(k, 100, worse)).p == pytest.approx(p)


def test_p_counts_equal_differences() -> None:
    """One wrong word link more in 14 of 100 sentences, one less in 6: the difference is that of 20 coins, of
    which at least 14 fall alike: 2 Σ C(20, i) / 2^20 for i of 14 to 20."""
    values = [1.0] * 14 + [-1.0] * 6 + [0.0] * 80
    expected = 2 * sum(math.comb(20, i) for i in range(14, 21)) / 2**20
    p = compare(("a", mean([0.0] * 100)), ("b", mean(values))).p
    assert p == pytest.approx(expected, abs=4 * (expected / 10_000) ** 0.5)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 15, 40])
def test_false_positives_are_as_rare_as_p_says(k: int) -> None:
    """Equal systems that differ in k of 100 sentences, by one error each: p ≤ 0.05 in at most 5 of 100 cases,
    up to 3 standard deviations."""
    random, cases, found = np.random.default_rng(k), 400, 0
    for _ in range(cases):
        values = np.zeros(100)
        values[:k] = random.choice([-1.0, 1.0], size=k)
        found += (
            p_value(
                mean([0.0] * 100), mean(values.tolist()), trials=199, seed=int(random.integers(1e6))
            )
            <= 0.05
        )
    assert found / cases <= 0.05 + 3 * (0.05 * 0.95 / cases) ** 0.5


def test_every_two_systems_are_compared_once() -> None:
    values = (("a", 1.0), ("b", 2.0), ("c", 4.0))
    found = comparisons({name: mean([value, 0.0] * 10) for name, value in values})
    differences = [(one.system, one.other, one.difference) for one in found]
    assert differences == [("a", "b", 0.5), ("a", "c", 1.5), ("b", "c", 1.0)]


def test_what_cannot_be_compared() -> None:
    with refusal("a has mean of 2 sentences and b has mean of 3"):
        compare(("a", mean([1.0, 2.0])), ("b", mean([1.0, 2.0, 3.0])))
    with refusal(r"a has BLEU .* b has chrF2"):
        compare(
            ("a", bleu_statistics(BETTER, REFERENCES)), ("b", chrf_statistics(WORSE, REFERENCES))
        )


def test_no_p_value_is_written_as_zero() -> None:
    shown = {
        0.0: "p < 0.001",
        0.000999: "p < 0.001",
        0.001: "p = 0.001",
        0.04219: "p = 0.042",
        1.0: "p = 1.000",
    }
    assert {p: p_statement(p) for p in shown} == shown
