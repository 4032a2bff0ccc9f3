"""Negative log-likelihood in chunks against torch's cross-entropy: values, gradients, label smoothing, chunk
borders, bfloat16."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from small import drawn
from torch import Tensor, nn

from rnnsearch.kernels import output_loss as module
from rnnsearch.kernels.output_loss import chunked_nll
from rnnsearch.model.readout import OutputLayer

ROWS, SIZE, WORDS = 11, 4, 7


def layer(weight: Tensor, bias: Tensor) -> OutputLayer:
    made = OutputLayer(weight.shape[1], 1, len(weight), factored=False, tied=None)
    made.weight, made.bias = nn.Parameter(weight), nn.Parameter(bias)
    return made


def inputs(rows: int = ROWS) -> tuple[OutputLayer, Tensor, Tensor]:
    """A layer, its features (rows, d), and targets: ids repeat, and id 0 is one of them."""
    features = drawn(rows, SIZE).requires_grad_()
    return layer(drawn(WORDS, SIZE), drawn(WORDS)), features, torch.arange(rows) * 3 % WORDS


def reference(
    output: OutputLayer, features: Tensor, targets: Tensor, smoothing: float = 0.0
) -> Tensor:
    return F.cross_entropy(
        output.logits(features), targets, reduction="sum", label_smoothing=smoothing
    )


def gradients(loss: Tensor, output: OutputLayer, features: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, (features, output.weight, output.bias))


@pytest.mark.parametrize("chunk", [1, 2 * WORDS, 3 * WORDS + 5, ROWS * WORDS, 10_000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_cross_entropy(smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 1, 2, 3, 11 rows and more: the last may be shorter. `chunk` below K still makes progress, a
    row at a time."""
    monkeypatch.setattr(module, "LOSS_CHUNK", chunk)
    output, features, targets = inputs()
    loss, nll = chunked_nll(output, features, targets, smoothing)
    expected = reference(output, features, targets, smoothing)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, reference(output, features, targets).detach())
    assert not nll.requires_grad
    found = gradients(3 * loss, output, features)  # a factor: the incoming gradient is used
    torch.testing.assert_close(found, gradients(3 * expected, output, features))


@pytest.mark.parametrize("chunk", [2 * WORDS, 10_000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_left_out_by_a_mask(
    smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if its rows were not there, without choosing rows; one group of chunks has no real row at all."""
    monkeypatch.setattr(module, "LOSS_CHUNK", chunk)
    monkeypatch.setattr(module, "GROUP_ELEMENTS", chunk)
    output, features, targets = inputs()
    real = torch.arange(ROWS) % 3 != 1
    real[:2] = False
    loss, nll = chunked_nll(output, features, targets, smoothing, real=real)
    expected, expected_nll = chunked_nll(output, features[real], targets[real], smoothing)
    torch.testing.assert_close((loss, nll), (expected, expected_nll))
    found = gradients(3 * loss, output, features)
    torch.testing.assert_close(found, gradients(3 * expected, output, features))


def test_no_rows() -> None:
    output, features, targets = inputs(rows=0)
    loss, nll = chunked_nll(output, features, targets, 0.1)
    assert float(loss.detach()) == float(nll) == 0.0
    assert not any(gradient.any() for gradient in gradients(loss, output, features))


def test_large_logits() -> None:
    """No overflow where exp of a logit would be infinite; log p of the likely word is 0, that of another the
    difference."""
    features = torch.tensor([[1e4]], requires_grad=True)
    output = layer(torch.tensor([[1.0], [0.0]]), torch.zeros(2))
    for target, expected in ((0, 0.0), (1, 1e4)):
        loss, _ = chunked_nll(output, features, torch.tensor([target]))
        assert float(loss.detach()) == expected
        assert bool(torch.autograd.grad(loss, features)[0].isfinite().all())


def test_sums_of_many_rows_are_exact() -> None:
    """The sum is kept in double precision: 300,000 rows of log 2, in float32, to 7 digits."""
    rows = 300_000
    output, targets = layer(torch.zeros(2, 1), torch.zeros(2)), torch.zeros(rows, dtype=torch.long)
    loss, nll = chunked_nll(output, torch.zeros(rows, 1), targets)
    assert float(nll) == pytest.approx(rows * math.log(2), rel=2e-7)
    assert float(loss.detach()) == float(nll)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_bfloat16_products(smoothing: float) -> None:
    """Three products with 8 significant bits; loss and gradients stay float32, within 1 % of their norm."""
    torch.manual_seed(3)
    weight = torch.randn(300, 32) * 0.3
    features, output = torch.randn(200, 32).requires_grad_(), layer(weight, torch.randn(300))
    targets = torch.randint(0, 300, (200,))
    loss, nll = chunked_nll(output, features, targets, smoothing, dtype=torch.bfloat16)
    expected = reference(output, features, targets, smoothing)
    assert loss.dtype == nll.dtype == torch.float32
    assert 0 < abs(loss.item() - expected.item()) < 2e-3 * expected.item()
    found = gradients(loss, output, features)
    for gradient, exact in zip(found, gradients(expected, output, features), strict=True):
        assert gradient.dtype == torch.float32
        assert 1e-6 < float((gradient - exact).norm() / exact.norm()) < 1e-2
