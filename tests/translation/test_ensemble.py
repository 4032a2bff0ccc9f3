"""An ensemble on bigram tables: the mean of probabilities, worked out by hand, and a state that follows the hypotheses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.records import Hypothesis
from rnnsearch.translation.beam import SearchState, StepFunction, StepResult, beam_search
from rnnsearch.translation.ensemble import EnsembleState, ensemble

LENGTHS = torch.tensor([4, 2, 5])


@dataclass
class State:
    """The sum of the ids so far, (B, k), and (B,) sentences: what the next distribution depends on."""

    sentences: Tensor
    total: Tensor

    def select(self, sentences: Tensor | None, hypotheses: Tensor) -> State:
        rows = torch.arange(len(self.sentences)) if sentences is None else sentences
        return State(self.sentences[rows], self.total[rows[:, None], hypotheses])


def start() -> State:
    return State(torch.arange(3), torch.zeros(3, 1, dtype=torch.long))


def table(seed: int) -> Tensor:
    """p (sentence, sum of ids, next id): 3 × 100 × 5."""
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(5), size=(3, 100)).astype(np.float32))


def model(p: Tensor, weights: Tensor) -> StepFunction:
    """weights: (J,) the same for every word."""

    def step(previous: Tensor | None, state: State) -> StepResult:
        total = state.total if previous is None else state.total + previous
        log_p = p[state.sentences[:, None], total].log()
        return StepResult(log_p, weights.expand(*total.shape, -1), State(state.sentences, total))

    return step


def search(step: StepFunction, state: SearchState) -> list[list[Hypothesis]]:
    return beam_search(step, state, LENGTHS, SearchSettings(beam=4, nbest=3))


LEFT, RIGHT = torch.tensor([0.5, 0.5, 0.0, 0.0, 0.0]), torch.tensor([0.0, 0.25, 0.25, 0.25, 0.25])


def test_two_members_by_hand() -> None:
    step, make_state = ensemble([model(table(1), LEFT), model(table(2), RIGHT)])
    result = step(None, make_state([start(), start()]))
    expected = np.log((table(1)[:, 0].numpy() + table(2)[:, 0].numpy()) / 2)
    np.testing.assert_allclose(result.log_probabilities[:, 0], expected, rtol=1e-5)
    np.testing.assert_allclose(result.weights[:, 0], [[0.25, 0.375, 0.125, 0.125, 0.125]] * 3, rtol=1e-6)


def test_the_search_of_an_ensemble_is_the_search_of_the_mean_model() -> None:
    step, make_state = ensemble([model(table(1), LEFT), model(table(2), RIGHT)])
    together = search(step, make_state([start(), start()]))
    mean = search(model((table(1) + table(2)) / 2, (LEFT + RIGHT) / 2), start())
    for some, others in zip(together, mean, strict=True):
        assert [hypothesis.ids for hypothesis in some] == [hypothesis.ids for hypothesis in others]
        for one, other in zip(some, others, strict=True):
            assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-5)
            np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6)


def test_a_model_thrice_is_the_model() -> None:
    step, make_state = ensemble([model(table(1), LEFT)] * 3)
    thrice = search(step, make_state([start()] * 3))
    once = search(model(table(1), LEFT), start())
    assert [[hypothesis.ids for hypothesis in some] for some in thrice] == [[hypothesis.ids for hypothesis in some] for some in once]


def test_a_word_is_impossible_only_if_no_member_allows_it() -> None:
    first, second = table(1), table(2)
    first[:, :, [2, 3]] = 0
    second[:, :, [3, 4]] = 0
    step, make_state = ensemble([model(first, LEFT), model(second, LEFT)])
    log_p = step(None, make_state([start(), start()])).log_probabilities
    assert torch.isfinite(log_p[:, :, [0, 1, 2, 4]]).all()
    assert (log_p[:, :, 3] == -math.inf).all()


def test_selection_reaches_every_member() -> None:
    states = [State(torch.arange(3), torch.arange(6).view(3, 2)), State(torch.arange(3), torch.arange(6).view(3, 2) * 10)]
    chosen = EnsembleState(states).select(torch.tensor([0, 2]), torch.tensor([[1, 1, 0], [0, 1, 1]]))
    assert [member.total.tolist() for member in chosen.members if isinstance(member, State)] == [
        [[1, 1, 0], [4, 5, 5]],
        [[10, 10, 0], [40, 50, 50]],
    ]


def test_an_ensemble_has_members_and_each_its_state() -> None:
    with pytest.raises(InputError):
        ensemble([])
    step, make_state = ensemble([model(table(1), LEFT)] * 2)
    with pytest.raises(ValueError, match="zip"):
        step(None, make_state([start()]))
