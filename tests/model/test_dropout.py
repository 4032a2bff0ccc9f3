"""Dropout: where it acts, one recurrent mask a sequence, expectations kept; probability 0 is no dropout at
all."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small import CELLS, drawn, sentences, small_network
from torch import Tensor, nn

from rnnsearch.model.layers import recurrent_dropout
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import DropoutSettings


def features(network: TranslationNetwork, dropout: DropoutSettings | None) -> Tensor:
    batch = sentences()
    (forced,) = network.teacher_forced(batch.source, batch.lengths, batch.target, dropout)
    return forced.features.detach()


def inputs_of(
    module: nn.Module, network: TranslationNetwork, dropout: DropoutSettings
) -> list[tuple[Any, ...]]:
    """The arguments of every call of a module during one teacher-forced pass."""
    calls: list[tuple[Any, ...]] = []
    handle = module.register_forward_pre_hook(lambda _, arguments: calls.append(arguments))
    features(network, dropout)
    handle.remove()
    return calls


@pytest.mark.parametrize("probability", [0.2, 0.5])
def test_mask_has_mean_one(probability: float) -> None:
    """Kept units are divided by 1 − p, so that the expectation is that of the undropped state."""
    mask = recurrent_dropout(torch.zeros(500, 1, 200), probability)
    assert mask is not None
    kept = 1 / (1 - probability)
    assert torch.isclose(mask, torch.tensor(kept)).logical_or(mask == 0).all()
    # 100,000 draws: standard deviation below 0.004
    assert float(mask.mean()) == pytest.approx(1.0, abs=0.02)
    assert float((mask == 0).float().mean()) == pytest.approx(probability, abs=0.01)
    assert recurrent_dropout(torch.zeros(2, 3), 0.0) is None


@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_mask_is_one_a_sequence(cell: str) -> None:
    """The same mask at every step of a sentence, another one for each sentence and each network of recurrent
    units."""
    network = small_network(cell=cell, hidden_size=40, encoder_size=30)
    modules = [network.encoder.forwards, network.encoder.backwards, network.decoder.cell]
    masks = []
    for module in modules:
        assert isinstance(module, nn.Module)
        torch.manual_seed(1)
        calls = inputs_of(module, network, DropoutSettings(recurrent=0.5))
        keeps = [arguments[3] for arguments in calls]
        assert len(keeps) > 3
        assert all(torch.equal(keep, keeps[0]) for keep in keeps)
        assert set(keeps[0].flatten().tolist()) == {0.0, 2.0}
        assert not torch.equal(keeps[0][0], keeps[0][1])
        masks.append(keeps[0])
    assert not torch.equal(masks[0], masks[1])
    assert masks[2].shape == (3, 1, 40)


@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_mask_acts_on_the_previous_state_only(cell: str) -> None:
    """keep = 0: the recurrent matrices see nothing, as if U were 0; the state itself still passes on through
    the gates."""
    network = small_network(cell=cell)
    module = network.decoder.cell
    word, state, context = (drawn(2, size) for size in (5, module.state_size, 6))
    keep = torch.ones(2, 4).double()
    dropped = module(module.project(word), state, context, 0 * keep)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith("U"):
                parameter.zero_()
    expected = module(module.project(word), state, context)
    torch.testing.assert_close(dropped, expected)
    torch.testing.assert_close(module(module.project(word), state, context, keep), expected)


def assert_dropped_by_half(found: Tensor, whole: Tensor) -> None:
    """Every entry is either 0 or twice what it was, and there are both."""
    zero = found == 0
    assert 0 < zero.sum() < zero.numel()
    torch.testing.assert_close(found[~zero], 2 * whole[~zero])


def test_embeddings_are_dropped() -> None:
    """On both sides; recurrence and readout see the same dropped word."""
    network, batch = small_network(), sentences()
    dropout = DropoutSettings(embedding=0.5)
    (embedded, *_), *_ = inputs_of(network.encoder, network, dropout)
    assert_dropped_by_half(embedded, network.source_embedding(batch.source))
    projected: list[Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        project = network.decoder.cell.project
        patch.setattr(
            network.decoder.cell, "project", lambda words: projected.append(words) or project(words)
        )
        torch.manual_seed(1)
        ((_, into_readout, _),) = inputs_of(network.readout, network, dropout)
    (into_cell,) = projected
    assert_dropped_by_half(into_cell, network.target_embedding(batch.target[:, :-1]))
    assert into_readout[:, 0].count_nonzero() == 0  # there is no y_0
    assert torch.equal(into_readout[:, 1:], into_cell)


def test_readout_is_dropped() -> None:
    network = small_network(maxout_size=20)
    assert_dropped_by_half(features(network, DropoutSettings(readout=0.5)), features(network, None))
