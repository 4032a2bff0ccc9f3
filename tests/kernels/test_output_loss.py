"""Negative log-likelihood in chunks against torch's cross-entropy: values, gradients, label smoothing, chunk
borders, bfloat16."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from small import drawn
from torch import Tensor

from rnnsearch.kernels import output_loss as module
from rnnsearch.training.loss import negative_log_likelihood

ROWS, SIZE, WORDS = 11, 4, 7


Layer = tuple[Tensor, Tensor, Tensor]
"""features (rows, d), W_o (K, d), bias (K,)."""


def inputs(rows: int = ROWS) -> tuple[Layer, Tensor]:
    """A layer, and targets: ids repeat, and id 0 is one of them."""
    shapes = ((rows, SIZE), (WORDS, SIZE), (WORDS,))
    features, weight, bias = (drawn(*shape).requires_grad_() for shape in shapes)
    return (features, weight, bias), torch.arange(rows) * 3 % WORDS


def reference(
    features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.0
) -> Tensor:
    return F.cross_entropy(
        F.linear(features, weight, bias), targets, reduction="sum", label_smoothing=smoothing
    )


@pytest.mark.parametrize("chunk", [1, 2 * WORDS, 3 * WORDS + 5, ROWS * WORDS, 10_000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_cross_entropy(smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 1, 2, 3, 11 rows and more: the last may be shorter. `chunk` below K still makes progress, a
    row at a time."""
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", chunk)
    layer, targets = inputs()
    loss, nll = negative_log_likelihood(*layer, targets, smoothing)
    expected = reference(*layer, targets, smoothing)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, reference(*layer, targets).detach())
    assert not nll.requires_grad
    found = torch.autograd.grad(3 * loss, layer)  # a factor: the incoming gradient is used
    torch.testing.assert_close(found, torch.autograd.grad(3 * expected, layer))


@pytest.mark.parametrize("chunk", [2 * WORDS, 10_000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_left_out_by_a_mask(smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its rows were not there, without choosing rows; one group of chunks has no real row at all."""
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", chunk)
    monkeypatch.setattr(module, "GROUP_ELEMENTS", chunk)
    layer, targets = inputs()
    features, *output = layer
    real = torch.arange(ROWS) % 3 != 1
    real[:2] = False
    loss, nll = negative_log_likelihood(*layer, targets, smoothing, real=real)
    expected, expected_nll = negative_log_likelihood(features[real], *output, targets[real], smoothing)
    torch.testing.assert_close((loss, nll), (expected, expected_nll))
    found = torch.autograd.grad(3 * loss, layer)
    torch.testing.assert_close(found, torch.autograd.grad(3 * expected, layer))


def test_no_rows() -> None:
    layer, targets = inputs(rows=0)
    loss, nll = negative_log_likelihood(*layer, targets, 0.1)
    assert float(loss.detach()) == float(nll) == 0.0
    assert not any(gradient.any() for gradient in torch.autograd.grad(loss, layer))


def test_large_logits() -> None:
    """No overflow where exp of a logit would be infinite; log p of the likely word is 0, that of another the
    difference."""
    features, bias = torch.tensor([[1e4]], requires_grad=True), torch.zeros(2)
    for target, expected in ((0, 0.0), (1, 1e4)):
        loss, _ = negative_log_likelihood(
            features, torch.tensor([[1.0], [0.0]]), bias, torch.tensor([target])
        )
        assert float(loss.detach()) == expected
        assert bool(torch.autograd.grad(loss, features)[0].isfinite().all())


def test_sums_of_many_rows_are_exact() -> None:
    """The sum is kept in double precision: 300,000 rows of log 2, in float32, to 7 digits."""
    rows = 300_000
    loss, nll = negative_log_likelihood(
        torch.zeros(rows, 1), torch.zeros(2, 1), torch.zeros(2), torch.zeros(rows, dtype=torch.long)
    )
    assert float(nll) == pytest.approx(rows * math.log(2), rel=2e-7)
    assert float(loss) == float(nll)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_bfloat16_products(smoothing: float) -> None:
    """Three products with 8 significant bits; loss and gradients stay float32, within 1 % of their norm."""
    torch.manual_seed(3)
    weight = torch.randn(300, 32) * 0.3
    layer = torch.randn(200, 32).requires_grad_(), weight.requires_grad_(), torch.randn(300).requires_grad_()
    targets = torch.randint(0, 300, (200,))
    loss, nll = negative_log_likelihood(*layer, targets, smoothing, torch.bfloat16)
    expected = reference(*layer, targets, smoothing)
    assert loss.dtype == nll.dtype == torch.float32
    assert 0 < abs(loss.item() - expected.item()) < 2e-3 * expected.item()
    for found, exact in zip(
        torch.autograd.grad(loss, layer), torch.autograd.grad(expected, layer), strict=True
    ):
        assert found.dtype == torch.float32
        assert 1e-6 < float((found - exact).norm() / exact.norm()) < 1e-2
