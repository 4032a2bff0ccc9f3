"""Beam search on a mock step whose log p and α are any function of the ids so far: against enumeration and a
plain-Python reference; and ensembles of such models."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from mock_model import Ids, Model, Row, State

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.records import Hypothesis
from rnnsearch.text import vocabulary
from rnnsearch.translation.beam import EOS, UNK, beam_search
from rnnsearch.translation.readers import EnsembleState, ensemble


@dataclass
class Script(Model):
    """A model with the same p for every sentence and history of one length; the last of `steps` holds for
    ever."""

    steps: list[list[float]] = field(default_factory=list)

    def row(self, sentence: int, ids: Ids) -> Row:
        with np.errstate(divide="ignore"):
            log_p = np.log(np.array(self.steps[min(len(ids), len(self.steps) - 1)], dtype=np.float32))
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
        score += settings.coverage_beta * math.log(min(max(coverage, float(np.finfo(np.float32).tiny)), 1.0))
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


def assert_bookkeeping(model: Model, sentence: int, hypothesis: Hypothesis, settings: SearchSettings) -> None:
    """Every log p and every α row is the one that the model gives after exactly the ids before it."""
    ids = hypothesis.ids
    rows = [model.row(sentence, ids[:i]) for i in range(len(ids))]
    assert hypothesis.log_probabilities == tuple(
        float(log_p[word]) for (log_p, _), word in zip(rows, ids, strict=True)
    )
    assert hypothesis.weights.shape == (len(ids), model.lengths[sentence])
    assert hypothesis.weights.dtype == np.float32
    assert all(np.array_equal(row, alpha) for row, (_, alpha) in zip(hypothesis.weights, rows, strict=True))
    assert hypothesis.finished == (EOS in ids)
    assert EOS not in ids[:-1]
    assert hypothesis.score == pytest.approx(score_of(model, sentence, ids, settings), rel=1e-6)


def random_case(seed: int) -> tuple[Model, SearchSettings]:
    random = np.random.default_rng(seed)
    beam = int(random.integers(1, 7))
    grain, impossible = random.choice([0.0, 0.5]), random.choice([0.0, 0.3, 0.8])
    lengths = random.integers(1, 6, size=random.integers(1, 5)).tolist()
    model = Model(
        lengths, int(random.integers(2, 8)), seed, grain, impossible, padding=int(random.integers(3))
    )
    settings = settings_of(
        beam=beam,
        nbest=int(random.integers(1, beam + 1)),
        normalise=random.choice(["none", "length"] if grain else ["none", "none", "length", "gnmt"]),
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
        every = [(*ids, EOS) for n in range(longest + 1) for ids in itertools.product(words, repeat=n)]
        every.sort(key=lambda ids: -score_of(model, sentence, ids, settings))
        assert [hypothesis.ids for hypothesis in hypotheses] == every
        assert all(hypothesis.finished for hypothesis in hypotheses)


@pytest.mark.parametrize("seed", range(20))
def test_the_rest_of_the_batch_changes_nothing(seed: int) -> None:
    model = Model([3, 1, 6, 2, 4], size=6, seed=seed, grain=0.5 * (seed % 2))
    settings = settings_of(beam=4, nbest=3, max_length_ratio=1.5)
    order = np.random.default_rng(seed).permutation(5).tolist()
    for sentence, together in zip(order, model.search(settings, order), strict=True):
        [alone] = model.search(settings, [sentence])
        assert len(together) == len(alone)
        for one, other in zip(together, alone, strict=True):
            assert (one.ids, one.score, one.log_probabilities, one.finished) == (
                other.ids,
                other.score,
                other.log_probabilities,
                other.finished,
            )
            assert np.array_equal(one.weights, other.weights)


def test_without_sentences_nothing_is_searched() -> None:
    model = Model([2])
    assert model.search(settings_of(), []) == []
    assert model.batch_sizes == []


@pytest.mark.parametrize(
    ("words", "ratio", "expected"),
    [(0, 3.0, 1), (1, 3.0, 3), (3, 3.0, 9), (3, 0.3, 1), (5, 1.5, 7), (4, 0.5, 2)],
)
@pytest.mark.parametrize("beam", [1, 3])
def test_the_longest_translation(words: int, ratio: float, expected: int, beam: int) -> None:
    endless = script([0.0, 0.3, 0.7], lengths=[words + 1])
    [[hypothesis]] = endless.search(settings_of(beam=beam, max_length_ratio=ratio))
    assert hypothesis.ids == (2,) * expected
    assert not hypothesis.finished


@pytest.mark.parametrize(
    ("words", "ratio", "expected"),
    [(0, 0.5, 0), (1, 0.5, 0), (2, 0.5, 1), (5, 0.5, 2), (5, 1.0, 5), (5, 0.0, 0)],
)
@pytest.mark.parametrize("beam", [1, 3])
def test_the_shortest_translation(words: int, ratio: float, expected: int, beam: int) -> None:
    brief = script([0.90, 0.01, 0.09], lengths=[words + 1])
    [[hypothesis]] = brief.search(settings_of(beam=beam, min_length_ratio=ratio))
    assert hypothesis.ids == (2,) * expected + (EOS,)
    assert hypothesis.weights.shape == (expected + 1, words + 1)


@pytest.mark.parametrize(("words", "finished"), [(2, True), (3, True), (4, False)])
def test_the_end_of_sentence_does_not_count_towards_the_limit(words: int, finished: bool) -> None:
    model = script(*[[0.0, 0.0, 1.0]] * words, [1.0, 0.0, 0.0], lengths=[4])
    [[hypothesis]] = model.search(settings_of(max_length_ratio=1.0))
    assert hypothesis.ids == ((2,) * words + (EOS,) if finished else (2,) * 3)
    assert hypothesis.finished == finished


def test_no_unk_leaves_the_other_probabilities_alone() -> None:
    model = script([0.0, 0.9, 0.1], [0.2, 0.8, 0.0], lengths=[3])
    [[plain]] = model.search(settings_of(beam=1))
    [[without]] = model.search(settings_of(beam=1, no_unk=True))
    assert plain.ids[0] == UNK
    assert without.ids == (2, EOS)
    assert without.log_probabilities == pytest.approx([math.log(0.1), math.log(0.2)])


def test_unfinished_hypotheses_stand_in_only_if_none_is_finished() -> None:
    endless = script([0.0, 0.4, 0.6], lengths=[2])
    [hypotheses] = endless.search(settings_of(beam=4, nbest=3, max_length_ratio=2.0))
    assert [hypothesis.ids for hypothesis in hypotheses] == [
        (2, 2),
        (2, 1),
        (1, 2),
    ]  # the last two tie: (2,) was the better one
    assert not any(hypothesis.finished for hypothesis in hypotheses)

    once = script([0.01, 0.4, 0.59], [0.0, 0.4, 0.6], lengths=[2])
    [hypotheses] = once.search(settings_of(beam=4, nbest=3, max_length_ratio=2.0))
    assert [hypothesis.ids for hypothesis in hypotheses] == [(EOS,)]
    assert hypotheses[0].finished


def test_a_finished_hypothesis_shrinks_the_beam() -> None:
    # Of (0: 0.4, 2: 0.35, 3: 0.25) a beam of 2 takes 0 and 2; what is left of the beam is 1, so (2, 3, 0) is
    # never reached.
    model = script([0.40, 0.0, 0.35, 0.25], [0.0, 0.0, 0.6, 0.4], [1.0, 0.0, 0.0, 0.0], lengths=[3])
    [hypotheses] = model.search(settings_of(beam=2, nbest=2))
    assert [hypothesis.ids for hypothesis in hypotheses] == [(EOS,), (2, 2, EOS)]


@pytest.mark.parametrize(
    "settings",
    [
        settings_of(no_unk=True, min_length_ratio=1.0, normalise=n, coverage_beta=b)
        for n in ("none", "length", "gnmt")
        for b in (0, 1)
    ],
)
def test_when_no_word_is_possible_the_empty_hypothesis_is_returned(settings: SearchSettings) -> None:
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


def test_a_dead_end_returns_what_came_before_it() -> None:
    model = script([0.0, 0.5, 0.5], [0.0, 0.0, 0.0], lengths=[4])
    [hypotheses] = model.search(settings_of(beam=3, nbest=3))
    assert [(hypothesis.ids, hypothesis.finished) for hypothesis in hypotheses] == [
        ((1,), False),
        ((2,), False),
    ]


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
    assert model.batch_sizes == [
        3,
        3,
        2,
        1,
        1,
    ]  # the step after |x| words is the last look for an end of sentence


def test_coverage_rewards_the_hypothesis_that_attends_to_everything() -> None:
    class Reader(Script):
        def row(self, sentence: int, ids: Ids) -> Row:
            log_p, weights = super().row(sentence, ids)
            return log_p, np.roll(weights, len(ids) if 3 in ids else 0)

    model = Reader([3], size=4, steps=[[0.0, 0.0, 0.6, 0.4], [0.0, 0.0, 0.5, 0.5], [1.0, 0.0, 0.0, 0.0]])
    [[plain]] = model.search(settings_of(beam=8))
    [[covering]] = model.search(settings_of(beam=8, coverage_beta=0.1))
    assert plain.ids == (2, 2, EOS)
    assert covering.ids == (3, 2, EOS)
    assert plain.weights.sum(axis=0).tolist() == [3, 0, 0]
    assert covering.weights.sum(axis=0).tolist() == [1, 1, 1]


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
        return np.log(np.exp(log_p).mean(0)), np.mean(weights, axis=0)


def together(*members: Model) -> list[list[Hypothesis]]:
    state, lengths = members[0].start()
    step = ensemble([member.step for member in members])
    return beam_search(step, EnsembleState([state] * len(members)), lengths, SEARCH)


@pytest.mark.parametrize("members", [[FIRST, SECOND], [FIRST] * 3, [SECOND]])
def test_the_search_of_an_ensemble_is_the_search_of_the_mean_model(members: list[Model]) -> None:
    expected = Mean(LENGTHS, members=members).search(SEARCH)
    for some, others in zip(together(*members), expected, strict=True):
        assert [one.ids for one in some] == [other.ids for other in others]
        for one, other in zip(some, others, strict=True):
            assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-5)
            np.testing.assert_allclose(one.weights, other.weights, rtol=1e-5)


def test_a_word_is_impossible_only_if_no_member_allows_it() -> None:
    members = [Model(LENGTHS, seed=seed, impossible=0.4) for seed in (1, 2)]
    step = ensemble([member.step for member in members])
    log_p = step(None, EnsembleState([members[0].start()[0]] * 2)).log_probabilities[:, 0]
    allowed = [[member.row(b, ())[0] > -math.inf for member in members] for b in range(3)]
    assert torch.equal(log_p > -math.inf, torch.tensor(np.any(allowed, axis=1)))
    assert np.any(allowed, axis=1).sum() > np.all(allowed, axis=1).sum()


def test_selection_reaches_every_member() -> None:
    states = [State(torch.arange(3), factor * torch.arange(6).view(3, 2, 1)) for factor in (1, 10)]
    chosen = EnsembleState(states).select(torch.tensor([0, 2]), torch.tensor([[1, 1, 0], [0, 1, 1]]))
    assert [member.ids[:, :, 0].tolist() for member in chosen.members if isinstance(member, State)] == [
        [[1, 1, 0], [4, 5, 5]],
        [[10, 10, 0], [40, 50, 50]],
    ]


def test_an_ensemble_has_members_and_each_its_state() -> None:
    with pytest.raises(InputError):
        ensemble([])
    with pytest.raises(ValueError, match="zip"):
        ensemble([FIRST.step] * 2)(None, EnsembleState([FIRST.start()[0]]))
