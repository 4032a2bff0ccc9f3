"""Search that looks at the device every few words finds what search that looks at every word finds, and waits so much less."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mock_model import Model, State
from pretended_device import pretended_device
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.records import Hypothesis
from rnnsearch.translation import steps_ahead
from rnnsearch.translation.beam import beam_search
from rnnsearch.translation.joint import search_one_way
from rnnsearch.translation.largest import largest, largest_at_once
from rnnsearch.translation.steps_ahead import STEPS, on_host, search_ahead

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from gpu_parts import values
from gpu_parts.common import small_batch, small_network, small_settings

SETTINGS: list[dict[str, Any]] = [
    {"beam": 1},
    {"beam": 4, "nbest": 4},
    {"beam": 12, "nbest": 2, "normalise": "length"},
    {"beam": 3, "min_length_ratio": 0.7, "max_length_ratio": 1.0, "no_unk": True},
    {"beam": 5, "normalise": "gnmt", "coverage_beta": 0.3, "min_length_ratio": 0.4},
]


def told(found: list[list[Hypothesis]]) -> list[list[tuple[Any, ...]]]:
    """All that a hypothesis holds, to be compared bit for bit."""
    return [[(one.ids, one.score, one.log_probabilities, one.weights.tolist(), one.finished) for one in some] for some in found]


def both(model: Model, settings: SearchSettings) -> tuple[list[list[Hypothesis]], list[list[Hypothesis]]]:
    lengths = torch.tensor(model.lengths, dtype=torch.long)
    state = State(torch.arange(len(lengths)), torch.zeros(len(lengths), 1, 0, dtype=torch.long))
    return search_ahead(model.step, state, lengths, settings), beam_search(model.step, state, lengths, settings)


@pytest.mark.parametrize("steps", [1, 3, STEPS])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_the_same_hypotheses_bit_for_bit(changes: dict[str, Any], seed: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With equal scores in plenty, impossible words, and sentences that end at different times."""
    monkeypatch.setattr(steps_ahead, "STEPS", steps)
    model = Model([4, 1, 7, 2], size=6, seed=seed, grain=0.5 * (seed % 2), impossible=0.3 * (seed // 2), padding=1)
    ahead, plain = both(model, SearchSettings.model_validate(changes))
    assert told(ahead) == told(plain)
    assert any(one.finished for some in plain for one in some)


def test_numbers_that_are_none_end_a_sentence_as_they_do_elsewhere() -> None:
    class Broken(Model):
        def row(self, sentence: int, ids: tuple[int, ...]) -> Any:
            log_p, weights = super().row(sentence, ids)
            return (np.full_like(log_p, np.nan) if sentence == 1 and len(ids) == 2 else log_p), weights

    ahead, plain = both(Broken([5, 5, 5], size=5, seed=3), SearchSettings(beam=3))
    assert told(ahead) == told(plain)


def test_without_sentences_nothing_is_searched() -> None:
    assert both(Model([]), SearchSettings()) == ([], [])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("grain", [0.0, 1.0])
def test_the_largest_are_those_of_the_cpu(seed: int, grain: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, 3000, generator=generator)
    if grain:
        scores = (scores / grain).round() * grain
    scores[0, 5:] = -math.inf
    scores[1, seed * 100] = math.nan
    for count in (1, 4, 7):
        values, indices = largest_at_once(scores, count)
        expected, places = largest(scores, count)
        torch.testing.assert_close(values, expected, rtol=0, atol=0, equal_nan=True)
        filled = expected > -math.inf
        assert torch.equal(indices[filled], places[filled])


def test_one_transfer_brings_tensors_of_all_types() -> None:
    tensors = [torch.rand(2, 3), torch.arange(4).view(2, 2), torch.zeros(0, 3), torch.rand(5).double()[1:], torch.rand(3, 2).t()]
    found = on_host(tensors)
    for one, tensor in zip(found, tensors, strict=True):
        assert one.dtype == tensor.numpy().dtype
        np.testing.assert_array_equal(one, tensor.numpy())


@pytest.mark.parametrize("beam", [1, 5])
def test_the_host_waits_every_few_words(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_ahead, "STEPS", 3)
    with pretended_device() as device:
        network = small_network(small_settings(device.name), torch.float32).to(device.name)
        given = small_batch(torch.float32).to(device.name)
        (reader,) = values.begin_search([network], [values.InferenceWeights()], given.source, given.source_lengths)
        steps = 0

        def counted(previous: Tensor | None, state: Any) -> Any:
            nonlocal steps
            steps += 1
            return reader.step(previous, state)

        device.forget()
        settings = SearchSettings(beam=beam, min_length_ratio=1.0, max_length_ratio=2.0, normalise="length")
        search_one_way(reader._replace(step=counted), given.source_lengths, settings)
        looks = math.ceil(steps / 3)
        assert steps > 6
        assert device.waits == ["translation/steps_ahead.py:search_ahead", *looks * ["translation/steps_ahead.py:on_host"]]


def test_who_watches_sees_every_word() -> None:
    with pretended_device() as device:
        network = small_network(small_settings(device.name), torch.float32).to(device.name)
        given = small_batch(torch.float32).to(device.name)
        (reader,) = values.begin_search([network], [values.InferenceWeights()], given.source, given.source_lengths)
        seen: list[int] = []
        settings = SearchSettings(beam=1, min_length_ratio=1.0, max_length_ratio=1.0)
        search_one_way(reader, given.source_lengths, settings, lambda beam: seen.append(len(beam.sentences)))
    assert len(seen) >= 4
