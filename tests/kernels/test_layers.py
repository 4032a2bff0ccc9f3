"""The linear layer and the cache of its weights: inside a sequence and outside, in both precisions, each
sequence by itself."""

from __future__ import annotations

import pytest
import torch
from small import randomised
from torch import Tensor

from rnnsearch.model.cells import GatedCell
from rnnsearch.model.layers import Linear
from rnnsearch.system.kernel_dispatch import kernels_used, linear_cache

STEPS = 4


def random(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def run(module: Linear, x: Tensor) -> Tensor:
    for _ in range(STEPS):
        x = torch.tanh(module(x))
    return x.square().sum()


def linear(dtype: torch.dtype = torch.float64, bias: bool = True) -> Linear:
    module = Linear(4, 4, bias=bias).to(dtype)
    randomised(module)
    return module


def gradients(module: Linear, x: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(run(module, x), [x, *module.parameters()]))


@pytest.mark.parametrize("bias", [True, False])
def test_inside_equals_outside(bias: bool) -> None:
    """Also in the next sequence, after an optimiser's step."""
    module, x = linear(bias=bias), random(3, 4)
    for _ in range(2):
        with linear_cache()():
            inside = gradients(module, x)
        torch.testing.assert_close(inside, gradients(module, x))
        with torch.no_grad():
            module.weight.mul_(-0.5)


def test_each_sequence_stands_alone() -> None:
    """One whose backward never runs, and one opened inside another, change nothing."""
    module, x = linear(), random(3, 4)
    expected = gradients(module, x)
    with linear_cache()():
        run(module, 2 * x)
        with linear_cache()():
            inner = gradients(module, x)
        outer = gradients(module, x)
    torch.testing.assert_close(inner, expected)
    torch.testing.assert_close(outer, expected)


def test_ends_with_its_block() -> None:
    def fail() -> None:
        with linear_cache(torch.bfloat16)():
            assert not torch.equal(module(x), exact)
            raise KeyError

    module, x = linear(torch.float32), random(3, 4, dtype=torch.float32)
    exact = module(x)
    with pytest.raises(KeyError):
        fail()
    assert torch.equal(module(x), exact)


def test_bfloat16_products() -> None:
    """Values and gradients stay float32, within the 8 bits of bfloat16's significand: 1 % of their norm
    (plain float32: 1e-6)."""
    module, x = linear(torch.float32), random(64, 4, dtype=torch.float32)
    exact = gradients(module, x)
    with linear_cache(torch.bfloat16)():
        assert module(x).dtype == torch.float32
        low = gradients(module, x)
    for found, expected in zip(low, exact, strict=True):
        assert found.dtype == torch.float32
        error = float((found - expected).norm() / expected.norm())
        assert 1e-5 < error < 1e-2  # 1e-5: the products were made in bfloat16 indeed


class Doubled(Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class OwnCell(GatedCell):
    def __init__(self, input_size: int, hidden_size: int, context_size: int = 0) -> None:
        super().__init__(input_size, hidden_size, context_size)
        self.W, self.U = Doubled(input_size, hidden_size, bias=True), Doubled(hidden_size, hidden_size)


@torch.no_grad()
def test_layers_of_an_own_cell_are_called() -> None:
    cell = OwnCell(5, 6, 4)
    words, state, context = (torch.randn(3, size) for size in (5, 6, 4))
    with kernels_used(False):
        expected = cell(cell.project(words), state, context)
    with linear_cache()():
        torch.testing.assert_close(cell(cell.project(words), state, context), expected)
