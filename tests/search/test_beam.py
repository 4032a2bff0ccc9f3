"""Beam search on a mock step whose log p and α are any function of the ids so far: against enumeration and a
plain-Python reference; and ensembles of such models."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from mock_model import Ids, Model, Row

from rnnsearch.search.beam import EOS, UNK, Hypothesis, beam_search
from rnnsearch.search.step import ensemble
from rnnsearch.settings import SearchSettings
from rnnsearch.text import vocabulary


@dataclass
class Script(Model):
    """A model with the same p for every sentence and history of one length; the last of `steps` holds for
    ever."""

    steps: list[list[float]] = field(default_factory=list)

    def row(self, sentence: int, ids: Ids) -> Row:
        with np.errstate(divide="ignore"):
            log_p = np.log(
                np.array(self.steps[min(len(ids), len(self.steps) - 1)], dtype=np.float32)
            )
        weights = np.zeros(self.lengths[sentence], dtype=np.float32)
        weights[0] = 1
        return log_p, weights


def script(*steps: list[float], lengths: list[int]) -> Script:
    return Script(lengths, size=len(steps[0]), steps=list(steps))


def settings_of(**values: object) -> SearchSettings:
    return SearchSettings.model_validate(values)


def log_p_of(model: Model, sentence: int, ids: Ids) -> np.float32:
    total = np.float32(0)
    for i, word in enumerate(ids):
        total = np.float32(total + model.row(sentence, ids[:i])[0][word])
    return total


def score_of(model: Model, sentence: int, ids: Ids, settings: SearchSettings) -> float:
    """The final score, written once more from its definition."""
    score = float(log_p_of(model, sentence, ids))
    if settings.normalise == "length":
        score /= max(len(ids), 1)
    if settings.normalise == "gnmt":
        score /= ((5 + max(len(ids), 1)) / 6) ** settings.length_alpha
    for j in range(model.lengths[sentence]):
        coverage = sum(float(model.row(sentence, ids[:i])[1][j]) for i in range(len(ids)))
        score += settings.coverage_beta * math.log(
            min(max(coverage, float(np.finfo(np.float32).tiny)), 1.0)
        )
    return score


def length_limits(length: int, settings: SearchSettings) -> tuple[int, int]:
    return math.floor(settings.min_length_ratio * (length - 1)), max(
        1, math.floor(settings.max_length_ratio * (length - 1))
    )


def reference(model: Model, sentence: int, settings: SearchSettings) -> list[tuple[Ids, bool]]:
    """The search for one sentence with lists and a full sort, and without the early stop."""
    shortest, longest = length_limits(model.lengths[sentence], settings)
    live: list[tuple[Ids, np.float32]] = [((), np.float32(0))]
    finished: list[Ids] = []
    width = settings.beam
    for words in range(longest + 1):
        candidates = []
        for slot, (ids, score) in enumerate(live):
            for word, log_p in enumerate(model.row(sentence, ids)[0]):
                forbidden = (word == UNK and settings.no_unk) or (word == EOS and words < shortest)
                if not forbidden and log_p > -np.inf:
                    candidates.append((-np.float32(score + log_p), slot, word))
        following = []
        for cost, slot, word in sorted(candidates)[:width]:
            ids = (*live[slot][0], word)
            if word == EOS:
                finished.append(ids)
                width -= 1
            elif words < longest:
                following.append((ids, -cost))
        if not following:
            break
        live = following
    found = finished or [ids for ids, _ in live]
    ranked = sorted(found, key=lambda ids: -score_of(model, sentence, ids, settings))
    return [(ids, bool(finished)) for ids in ranked[: settings.nbest]]


def assert_bookkeeping(
    model: Model, sentence: int, hypothesis: Hypothesis, settings: SearchSettings
) -> None:
    """Every log p and every α row is the one that the model gives after exactly the ids before it."""
    ids = hypothesis.ids
    rows = [model.row(sentence, ids[:i]) for i in range(len(ids))]
    assert hypothesis.log_probabilities == tuple(
        float(log_p[word]) for (log_p, _), word in zip(rows, ids, strict=True)
    )
    assert hypothesis.weights.shape == (len(ids), model.lengths[sentence])
    assert hypothesis.weights.dtype == np.float32
    assert all(
        np.array_equal(row, alpha) for row, (_, alpha) in zip(hypothesis.weights, rows, strict=True)
    )
    assert hypothesis.finished == (EOS in ids)
    assert EOS not in ids[:-1]
    assert hypothesis.score == pytest.approx(score_of(model, sentence, ids, settings), rel=1e-6)


def random_case(seed: int) -> tuple[Model, SearchSettings]:
    random = np.random.default_rng(seed)
    beam = int(random.integers(1, 7))
    grain, impossible = random.choice([0.0, 0.5]), random.choice([0.0, 0.3, 0.8])
    lengths = random.integers(1, 6, size=random.integers(1, 5)).tolist()
    model = Model(
        lengths,
        int(random.integers(2, 8)),
        seed,
        grain,
        impossible,
        padding=int(random.integers(3)),
    )
    settings = settings_of(
        beam=beam,
        nbest=int(random.integers(1, beam + 1)),
        normalise=random.choice(
            ["none", "length"] if grain else ["none", "none", "length", "gnmt"]
        ),
        coverage_beta=0.0 if grain else random.choice([0.0, 0.3]),
        no_unk=bool(random.integers(2)),
        min_length_ratio=random.choice([0.0, 0.5, 1.0]),
        max_length_ratio=random.choice([0.4, 1.0, 1.5, 3.0]),
    )
    return model, settings


@pytest.mark.parametrize("seed", range(150))
def test_equals_the_plain_reference(seed: int) -> None:
    model, settings = random_case(seed)
    found = model.search(settings)
    for sentence, hypotheses in enumerate(found):
        assert [(hypothesis.ids, hypothesis.finished) for hypothesis in hypotheses] == reference(
            model, sentence, settings
        )
        for hypothesis in hypotheses:
            assert_bookkeeping(model, sentence, hypothesis, settings)


@pytest.mark.parametrize("coverage_beta", [0.0, 0.4])
@pytest.mark.parametrize("normalise", ["none", "length", "gnmt"])
def test_a_beam_that_holds_everything_finds_the_n_best_of_all_sequences(
    normalise: str, coverage_beta: float
) -> None:
    model = Model([2, 3, 4], size=4, seed=7)
    settings = settings_of(
        beam=500, nbest=500, normalise=normalise, coverage_beta=coverage_beta, max_length_ratio=1.0
    )
    for sentence, hypotheses in enumerate(model.search(settings)):
        words = [n for n in range(model.size) if n != EOS]
        longest = length_limits(model.lengths[sentence], settings)[1]
        every = [
            (*ids, EOS) for n in range(longest + 1) for ids in itertools.product(words, repeat=n)
        ]
        every.sort(key=lambda ids: -score_of(model, sentence, ids, settings))
        assert [hypothesis.ids for hypothesis in hypotheses] == every
        assert all(hypothesis.finished for hypothesis in hypotheses)


def test_without_sentences_nothing_is_searched() -> None:
    model = Model([2])
    assert model.search(settings_of(), []) == []
    assert model.batch_sizes == []


NO_EOS, ONLY_EOS, BRIEF = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.90, 0.01, 0.09]
SMALL: dict[str, tuple[list[list[float]], int, dict[str, float], list[Ids]]] = {
    # p of each word, the source's length, settings, what is found
    "the end does not count": (
        [NO_EOS, NO_EOS, ONLY_EOS],
        4,
        {"max_length_ratio": 1},
        [(2, 2, EOS)],
    ),
    "at the longest": ([NO_EOS] * 3 + [ONLY_EOS], 4, {"max_length_ratio": 1}, [(2, 2, 2, EOS)]),
    "a word too many": ([NO_EOS] * 4 + [ONLY_EOS], 4, {"max_length_ratio": 1}, [(2, 2, 2)]),
    "the longest": ([NO_EOS], 6, {"max_length_ratio": 1.5}, [(2,) * 7]),
    "the longest of nothing": ([NO_EOS], 1, {"max_length_ratio": 3}, [(2,)]),
    "the shortest": ([BRIEF], 6, {"min_length_ratio": 0.5}, [(2, 2, EOS)]),
    "the shortest of nothing": ([BRIEF], 1, {"min_length_ratio": 0.5}, [(EOS,)]),
    "without UNK": ([[0.0, 0.9, 0.1], [0.2, 0.8, 0.0]], 3, {"beam": 1, "no_unk": True}, [(2, EOS)]),
    # the last two tie: (2,) was the better one
    "none is finished": (
        [[0.0, 0.4, 0.6]],
        2,
        {"nbest": 3, "max_length_ratio": 2},
        [(2, 2), (2, 1), (1, 2)],
    ),
    "one is finished": (
        [[0.01, 0.4, 0.59], [0.0, 0.4, 0.6]],
        2,
        {"nbest": 3, "max_length_ratio": 2},
        [(EOS,)],
    ),
    # Of (0: 0.4, 2: 0.35, 3: 0.25) a beam of 2 takes 0 and 2; the beam that is left, 1, never gets to (2, 3, 0).
    "the beam shrinks": (
        [[0.40, 0.0, 0.35, 0.25], [0.0, 0.0, 0.6, 0.4], [1.0, 0.0, 0.0, 0.0]],
        *(3, {"beam": 2, "nbest": 2}, [(EOS,), (2, 2, EOS)]),
    ),
    "a dead end": ([[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]], 4, {"beam": 3, "nbest": 3}, [(1,), (2,)]),
}


@pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)
def test_small_searches(case: tuple[list[list[float]], int, dict[str, float], list[Ids]]) -> None:
    steps, length, settings, expected = case
    [found] = script(*steps, lengths=[length]).search(settings_of(**{"beam": 4} | settings))
    assert [one.ids for one in found] == expected
    assert [one.finished for one in found] == [EOS in ids for ids in expected]


@pytest.mark.parametrize(
    "settings",
    [
        settings_of(no_unk=True, min_length_ratio=1.0, normalise=n, coverage_beta=b)
        for n in ("none", "length", "gnmt")
        for b in (0, 1)
    ],
)
def test_when_no_word_is_possible_the_empty_hypothesis_is_returned(
    settings: SearchSettings,
) -> None:
    for model in (
        Model([3, 1, 2], size=2),
        script([0.0, 0.0], lengths=[3, 1, 2]),
        script([math.nan, math.nan], lengths=[3, 1, 2]),
    ):
        for sentence, hypotheses in enumerate(model.search(settings)):
            [hypothesis] = hypotheses
            assert math.isfinite(hypothesis.score)
            if not hypothesis.finished:
                assert hypothesis.ids == ()
                assert hypothesis.weights.shape == (0, model.lengths[sentence])
                assert hypothesis.log_probabilities == ()


@pytest.mark.parametrize(
    ("normalise", "coverage_beta", "steps"),
    [("none", 0.0, 1), ("length", 0.0, 4), ("gnmt", 0.0, 4), ("none", 0.001, 1), ("none", 0.1, 4)],
)
def test_stops_early_only_where_no_live_hypothesis_can_win(
    normalise: str, coverage_beta: float, steps: int
) -> None:
    model = script([0.6, 0.2, 0.2], [0.0, 0.5, 0.5], lengths=[4])
    [hypotheses] = model.search(
        settings_of(beam=3, normalise=normalise, coverage_beta=coverage_beta, max_length_ratio=1.0)
    )
    assert len(hypotheses) == 1
    assert len(model.batch_sizes) == steps


def test_sentences_leave_the_batch_as_soon_as_they_are_done() -> None:
    model = script([0.0, 0.5, 0.5], lengths=[3, 5, 2])
    model.search(settings_of(beam=2, max_length_ratio=1.0))
    # The step after |x| words is the last look for an end of sentence.
    assert model.batch_sizes == [3, 3, 2, 1, 1]


def test_the_special_ids_are_those_of_the_vocabulary() -> None:
    assert (EOS, UNK) == (vocabulary.EOS, vocabulary.UNK)


LENGTHS = [4, 2, 5]
FIRST, SECOND = Model(LENGTHS, seed=1), Model(LENGTHS, seed=2)
SEARCH = SearchSettings(beam=4, nbest=3)


@dataclass
class Mean(Model):
    """One model whose probabilities and weights are the means of the others'."""

    members: list[Model] = field(default_factory=list)

    def row(self, sentence: int, ids: Ids) -> Row:
        log_p, weights = zip(*(member.row(sentence, ids) for member in self.members), strict=True)
        with np.errstate(divide="ignore"):
            return np.log(np.exp(log_p).mean(0)), np.mean(weights, axis=0)


def together(*members: Model) -> list[list[Hypothesis]]:
    state, lengths = members[0].start()
    step, states = ensemble([member.step for member in members], [state] * len(members))
    return beam_search(step, states, lengths, SEARCH)


# Of the last two, a word is impossible only if neither allows it.
@pytest.mark.parametrize(
    "members",
    [
        [FIRST, SECOND],
        [FIRST] * 3,
        [SECOND],
        [Model(LENGTHS, seed=seed, impossible=0.4) for seed in (1, 2)],
    ],
)
def test_the_search_of_an_ensemble_is_the_search_of_the_mean_model(members: list[Model]) -> None:
    expected = Mean(LENGTHS, members=members).search(SEARCH)
    for some, others in zip(together(*members), expected, strict=True):
        assert [one.ids for one in some] == [other.ids for other in others]
        for one, other in zip(some, others, strict=True):
            assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-5)
            np.testing.assert_allclose(one.weights, other.weights, rtol=1e-5)
