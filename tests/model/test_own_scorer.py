"""A user's own scorer, one class in one file, named in the settings: in training, step by step and in beam search, memory and all."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from plain.network import WIRINGS as BY_HAND
from plain.parameters import Parameters, whole_network
from plain.vectors import Vector, add, dot, product, sigmoid, tanh
from small import WIRINGS, Sentences, nll, sentences, small_network, small_settings, teacher_forced
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.model.decoder import SourceReader
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.translation.beam import beam_search
from rnnsearch.translation.network_step import NetworkState, network_step

NAME = "my_scorers.coverage:CoverageAlignment"


@pytest.fixture(autouse=True)
def _in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """my_scorers/coverage.py lies in the current directory, where nothing but `resolve` looks for it."""
    (tmp_path / "my_scorers").mkdir()
    shutil.copy(Path(__file__).with_name("own_scorer.py"), tmp_path / "my_scorers" / "coverage.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    for module in [name for name in sys.modules if name.partition(".")[0] == "my_scorers"]:
        monkeypatch.delitem(sys.modules, module)


def own_network(wiring: str = "released", dtype: torch.dtype = torch.float64) -> TranslationNetwork:
    network = small_network(dtype, trust_code=True, alignment=NAME, wiring=wiring)
    with torch.no_grad():
        network.output.bias[0] -= 2.5  # fewer ends of sentence, so that searches take some steps
    return network


def test_needs_consent() -> None:
    with pytest.raises(InputError, match="trust"):
        small_network(alignment=NAME)
    assert "my_scorers.coverage" not in sys.modules, "code was imported without consent"
    assert type(own_network().decoder.alignment).__name__ == "CoverageAlignment"


class Coverage:
    """The scorer's equations in plain loops."""

    def __init__(self, parameters: Parameters) -> None:
        at = "decoder.alignment."
        self.W_a, self.U_a, self.W_m = (parameters.matrix(f"{at}{name}.weight") for name in ("W_a", "U_a", "W_m"))
        (self.v_a,), self.b = parameters.matrix(f"{at}v_a.weight"), parameters.vector(f"{at}W_m.bias")

    def begin(self, h: list[Vector]) -> list[Vector]:
        return [[0.0, 0.0] for _ in h]

    def energies(self, s: Vector, h: list[Vector], memory: list[Vector]) -> tuple[Vector, list[Vector]]:
        energies, after = [], []
        for h_j, m_j in zip(h, memory, strict=True):
            e = dot(self.v_a, tanh(add(product(self.W_a, s), product(self.U_a, h_j), product(self.W_m, m_j), self.b)))
            energies.append(e)
            after.append(add(m_j, sigmoid([e]) + tanh([e])))
        return energies, after

    def attended(self, s: Vector, h: list[Vector], memory: list[Vector], alpha: Vector) -> list[Vector]:
        return memory


@pytest.mark.parametrize("wiring", WIRINGS)
@torch.no_grad()
def test_teacher_forcing(wiring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, batch = own_network(wiring), sentences()
    parameters = Parameters(network.state_dict())
    monkeypatch.setattr("plain.parameters.alignment_model", lambda given, *_: Coverage(given))
    by_hand = whole_network(parameters, small_settings(alignment=NAME, wiring=wiring))
    assert not parameters.unused
    log_p, weights = teacher_forced(network, batch)
    for b in range(3):
        J, I = int(batch.lengths[b]), int(batch.target_lengths[b])  # noqa: E741
        rows = BY_HAND[wiring](by_hand, batch.source[b, :J].tolist(), batch.target[b, :I].tolist())
        for i, (expected, alpha) in enumerate(rows):
            torch.testing.assert_close(log_p[b, i], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-11)
            torch.testing.assert_close(weights[b, i, :J], torch.tensor(alpha, dtype=torch.float64), rtol=0, atol=1e-11)


def test_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its maps' gradients are deferred like those of the built-in scorers, and exact: compared with finite differences."""
    network, batch = own_network(), sentences()
    loss = nll(network, batch)
    named = {name: parameter for name, parameter in network.named_parameters() if "alignment" in name}
    assert len(named) == 5
    for (name, parameter), gradient in zip(named.items(), torch.autograd.grad(loss, list(named.values())), strict=True):
        direction = torch.randn_like(parameter)
        with torch.no_grad():
            parameter.add_(1e-6 * direction)
            above = nll(network, batch)
            parameter.sub_(2e-6 * direction)
            below = nll(network, batch)
            parameter.add_(1e-6 * direction)
        torch.testing.assert_close((gradient * direction).sum(), (above - below) / 2e-6, rtol=1e-6, atol=1e-6, msg=name)


def single(batch: Sentences, b: int) -> tuple[Tensor, Tensor]:
    length = int(batch.lengths[b])
    return batch.source[b : b + 1, :length], torch.tensor([length])


@torch.no_grad()
def follow(network: TranslationNetwork, batch: Sentences, b: int, ids: tuple[int, ...]) -> tuple[list[float], Tensor]:
    """One sentence, one hypothesis, word by word: (log p of each id, weights)."""
    source, state = network.encode(*single(batch, b))
    reader, found, rows = SourceReader(source), [], []
    for i, chosen in enumerate(ids):
        previous = torch.tensor([[ids[i - 1]]]) if i else None
        log_p, seen, state = network.step(previous, state, reader)
        found.append(log_p[0, 0, chosen].item())
        rows.append(seen.weights[0, 0])
    return found, torch.stack(rows)


@pytest.mark.parametrize("wiring", WIRINGS)
def test_beam_search_equals_following_each_hypothesis(wiring: str) -> None:
    """The beam branches, reorders and drops; whatever it returns must have the probabilities and weights of the lonely loop."""
    network, batch = own_network(wiring, torch.float32), sentences()
    state = NetworkState(*network.encode(batch.source, batch.lengths))
    settings = SearchSettings(beam=5, nbest=5, min_length_ratio=1.0, normalise="length")
    found = beam_search(network_step(network), state, batch.lengths, settings)
    compared = 0
    for b, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            log_p, weights = follow(network, batch, b, hypothesis.ids)
            np.testing.assert_allclose(hypothesis.log_probabilities, log_p, rtol=0, atol=1e-5)
            np.testing.assert_allclose(hypothesis.weights, weights.numpy(), rtol=0, atol=1e-5)
            compared += len(hypothesis.ids) > 2
    assert compared >= 10  # enough hypotheses, and long enough for their memories to differ


@torch.no_grad()
def greedy(network: TranslationNetwork, batch: Sentences, b: int, longest: int) -> list[int]:
    source, state = network.encode(*single(batch, b))
    reader, ids = SourceReader(source), list[int]()
    while not ids or (ids[-1] != 0 and len(ids) <= longest):
        log_p, _, state = network.step(torch.tensor([ids[-1:]]) if ids else None, state, reader)
        ids.append(int(log_p[0, 0].argmax()))
    return ids if ids[-1] == 0 else ids[:longest]


@pytest.mark.parametrize("wiring", WIRINGS)
def test_beam_of_one_is_greedy(wiring: str) -> None:
    network, batch = own_network(wiring, torch.float32), sentences()
    state = NetworkState(*network.encode(batch.source, batch.lengths))
    found = beam_search(network_step(network), state, batch.lengths, SearchSettings(beam=1, max_length_ratio=2.0))
    for b, (hypothesis,) in enumerate(found):
        assert list(hypothesis.ids) == greedy(network, batch, b, 2 * (int(batch.lengths[b]) - 1))
    assert max(len(hypothesis.ids) for (hypothesis,) in found) > 2
