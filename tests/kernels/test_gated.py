"""The gated cell without gradients against the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from rnnsearch.kernels import gated
from rnnsearch.model import encoder
from rnnsearch.model.cells import GatedCell
from rnnsearch.model.layers import Linear
from rnnsearch.system.kernel_dispatch import kernels_used, linear_cache, reference

LENGTHS = torch.randint(1, 7, (70,), generator=torch.Generator().manual_seed(1))
LENGTHS[:3] = torch.tensor([7, 1, 7])
"""With 70 sentences, some positions have a multiple of 32 and others all of them."""


def cell(context_size: int = 0, dtype: torch.dtype = torch.float64) -> GatedCell:
    made = GatedCell(5, 6, context_size)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.7)
    return made.to(dtype)


def random(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64).to(dtype)


@torch.no_grad()
@pytest.mark.parametrize("reverse", [False, True])
def test_a_sentence_is_read_as_if_alone(reverse: bool) -> None:
    one, embedded = cell(), random(70, 7, 5)
    mask = torch.arange(7) < LENGTHS.unsqueeze(1)
    with kernels_used(False):
        expected = reference(encoder.run_cell)(one, embedded, mask, 0.0, reverse)
    torch.testing.assert_close(gated.run_cell_in_search(one, embedded, mask, reverse), expected)
    assert torch.equal(
        encoder.run_cell(one, embedded, mask, 0.0, reverse),
        gated.run_cell_in_search(one, embedded, mask, reverse),
    )


class Doubled(Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class OwnCell(GatedCell):
    def __init__(self, input_size: int, hidden_size: int, context_size: int = 0) -> None:
        super().__init__(input_size, hidden_size, context_size)
        self.W, self.U = Doubled(input_size, hidden_size, bias=True), Doubled(hidden_size, hidden_size)


@torch.no_grad()
def test_layers_of_an_own_cell_are_called() -> None:
    one = OwnCell(5, 6, 4)
    words, state, context = (random(3, size, dtype=torch.float32) for size in (5, 6, 4))
    with kernels_used(False):
        expected = one(one.project(words), state, context)
    with linear_cache()():
        torch.testing.assert_close(one(one.project(words), state, context), expected)
