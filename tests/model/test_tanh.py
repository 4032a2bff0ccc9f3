"""tanh by way of σ, and in the place of what it is taken of."""

from __future__ import annotations

import torch

from rnnsearch.model.tanh import tanh, tanh_


def test_in_place_it_has_the_same_values_and_gradients_and_no_memory_of_its_own() -> None:
    torch.manual_seed(1)
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(5, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(4, 5, dtype=torch.float64)
    total = x + bias
    replaced, apart = tanh_(total), tanh(x + bias)
    assert replaced.data_ptr() == total.data_ptr()
    assert replaced.equal(apart)
    torch.testing.assert_close(replaced, torch.tanh(x + bias))
    ours = torch.autograd.grad((replaced * weights).sum(), (x, bias))
    theirs = torch.autograd.grad((torch.tanh(x + bias) * weights).sum(), (x, bias))
    torch.testing.assert_close(ours, theirs)
