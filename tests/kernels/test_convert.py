"""Converted networks: their parameters, their precision, and layers of one's own."""

from __future__ import annotations

import pytest
import torch
from small import SOURCE_WORDS, sentences, small_network
from torch import Tensor

from rnnsearch.kernels import convert
from rnnsearch.kernels.gated import FastDecoder
from rnnsearch.kernels.int8 import Int8Linear
from rnnsearch.kernels.products import FastLinear, FastOutput
from rnnsearch.model.layers import Linear

SOURCE, LENGTHS, TARGET, _ = sentences()


class Doubled(Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def test_parameters_are_shared_and_layers_are_faster_ones() -> None:
    network = small_network(tie_output=True, factored_output=True)
    converted = convert(network)
    assert converted is not network
    assert isinstance(converted.decoder, FastDecoder)
    assert isinstance(converted.output, FastOutput)
    assert isinstance(converted.decoder.alignment.W_a, FastLinear)
    for (name, parameter), (other_name, other) in zip(
        network.named_parameters(), converted.named_parameters(), strict=True
    ):
        assert name == other_name
        assert parameter is other
    assert type(network.decoder.W_s) is Linear


@torch.no_grad()
def test_a_layer_of_ones_own_is_called() -> None:
    network = small_network()
    doubled = Doubled(4, 6).double()
    doubled.weight = network.decoder.alignment.W_a.weight
    network.decoder.alignment.W_a = doubled
    plain = network.teacher_forced(SOURCE, LENGTHS, TARGET)[0]
    found = convert(network).teacher_forced(SOURCE, LENGTHS, TARGET)[0]
    torch.testing.assert_close(found.weights, plain.weights)


@torch.no_grad()
@pytest.mark.parametrize(
    ("dtype", "within"), [(torch.float32, 0.0), (torch.bfloat16, 0.05), (torch.int8, 0.05)]
)
def test_precision_of_products(dtype: torch.dtype, within: float) -> None:
    """Outputs stay float32, and each layer is converted once."""
    network = small_network(torch.float32, hidden_size=24, maxout_size=24)
    x = torch.randn(SOURCE_WORDS, 5)
    converted = convert(network, dtype)
    layer, plain = converted.decoder.cell.W_zr, network.decoder.cell.W_zr(x)
    found = layer(x)
    assert found.dtype == torch.float32
    difference = float((found - plain).norm() / plain.norm())
    assert within / 100 <= difference <= within
    assert isinstance(layer._product, Int8Linear) == (dtype == torch.int8)
    product = layer._product
    assert torch.equal(layer(x), found)
    assert layer._product is product


def test_gradients_of_bfloat16_products_reach_the_parameters() -> None:
    network = small_network(torch.float32)
    layer = convert(network, torch.bfloat16).decoder.W_s
    layer(torch.randn(2, 3)).square().sum().backward()
    gradient = network.decoder.W_s.weight.grad
    assert gradient is not None
    assert gradient.dtype == torch.float32
