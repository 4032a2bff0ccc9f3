"""Gradients of the whole network: against finite differences, and in bfloat16 against those of float32."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small import Sentences, assert_as_finite_differences, gradients, nll, sentences, small_network
from torch import nn

from rnnsearch.kernels import convert

REPRESENTATIVE: list[dict[str, Any]] = [
    {},
    {"wiring": "eq4", "readout": "tanh"},
    {"wiring": "appendix", "factored_output": True},
    {"cell": "lstm", "alignment": "general", "tie_output": True},
    {"cell": "lstm", "wiring": "eq4", "encoder": "forward", "alignment": "fixed"},
    {"cell": "tanh", "alignment": "window", "encoder": "embedding-position"},
    {"cell": "tanh", "alignment": "dot", "wiring": "appendix", "encoder": "embedding"},
    {"alignment": "recurrent"},
    {"alignment": "recurrent-scalar", "encoder": "embedding", "wiring": "eq4"},
    {"alignment": "coverage", "wiring": "appendix"},
    {"alignment": "coverage-neural", "cell": "lstm"},
]


@pytest.mark.parametrize("changed", REPRESENTATIVE, ids=str)
def test_finite_differences_in_random_directions(changed: dict[str, Any]) -> None:
    network = small_network(**changed)
    assert_as_finite_differences(network, lambda: nll(network, sentences()), fast_mode=True)


def test_finite_differences_of_every_number() -> None:
    """The paper's network, one number of one parameter at a time."""
    network = small_network(
        embedding_size=2, hidden_size=2, encoder_size=1, alignment_size=2, maxout_size=1
    )
    batch = Sentences(
        *(
            tensor[1:2, :3].clamp(max=4) if tensor.dim() == 2 else tensor[:1].clamp(max=3)
            for tensor in sentences()
        )
    )
    assert_as_finite_differences(network, lambda: nll(network, batch))


@pytest.mark.parametrize("changed", REPRESENTATIVE, ids=str)
def test_bfloat16_products(changed: dict[str, Any]) -> None:
    """Products with 8 significant bits: the gradient of all parameters together within 3 % of float32's norm,
    and the loss within 1 %."""
    network, batch = small_network(torch.float32, **changed), sentences()
    with torch.no_grad():
        for parameter in network.parameters():  # of the size that they have in training
            parameter.mul_(0.4)  # at 0.7 the units saturate and the maxout flips
    loss = nll(network, batch)
    exact = gradients(network, loss)
    low_loss = nll(convert(network, torch.bfloat16), batch)
    low = gradients(network, low_loss)
    assert 0 < abs(low_loss.item() - loss.item()) < 0.01 * loss.item()
    assert all(gradient.dtype == torch.float32 for gradient in low.values())
    difference = [low[name] - gradient for name, gradient in exact.items()]
    assert nn.utils.get_total_norm(difference) < 0.03 * nn.utils.get_total_norm(exact.values())
