"""Deferred gradients equal those of plain autograd, however backward is run."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from rnnsearch.kernels import deferred_gradients
from rnnsearch.kernels.deferred_gradients import DeferredProduct, linear_product

STEPS = 4


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


KINDS = {
    "one matrix": [(3, 4), (4, 4)],
    "one matrix, bias": [(3, 4), (4, 4), (4,)],
    "one matrix, more dimensions": [(2, 3, 1, 4), (4, 4)],
    "a matrix per sentence": [(2, 3, 4), (2, 4, 4)],
    "a matrix per sentence, bias": [(2, 3, 4), (2, 4, 4), (4,)],
}
"""Shapes of x, matrix and bias; the matrix is square, so that it can be used step after step."""


def leaves(kind: str) -> list[Tensor]:
    return [random(*shape) for shape in KINDS[kind]]


def by_hand(matrix: Tensor, bias: Tensor | None = None) -> Callable[[Tensor], Tensor]:
    return lambda x: x @ matrix.mT + (0.0 if bias is None else bias)


def recurrence(make: Callable[..., Callable[[Tensor], Tensor]], x: Tensor, *weights: Tensor) -> Tensor:
    """x ← tanh(M x + b) + x/2, with every state in the result: every use has a gradient of its own."""
    use, states = make(*weights), [x]
    for _ in range(STEPS):
        states.append(torch.tanh(use(states[-1])) + states[-1] / 2)
    return torch.stack([(k + 1.0) * state for k, state in enumerate(states[1:])])


def loss_of(make: Callable[..., Callable[[Tensor], Tensor]], inputs: list[Tensor]) -> Tensor:
    return recurrence(make, *inputs).square().sum()


def loss_and_gradients(inputs: list[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The loss with deferred gradients, and its gradients by plain autograd."""
    return loss_of(linear_product, inputs), torch.autograd.grad(loss_of(by_hand, inputs), inputs)


def assert_as_by_hand(inputs: list[Tensor]) -> None:
    loss, plain = loss_of(linear_product, inputs), loss_of(by_hand, inputs)
    torch.testing.assert_close(loss, plain)
    torch.testing.assert_close(torch.autograd.grad(loss, inputs), torch.autograd.grad(plain, inputs))


@pytest.mark.parametrize("kind", KINDS)
class TestDeferredProduct:
    def test_values_and_gradients_of_plain_autograd(self, kind: str) -> None:
        assert_as_by_hand(leaves(kind))

    def test_backward_twice(self, kind: str) -> None:
        inputs = leaves(kind)
        loss, expected = loss_and_gradients(inputs)
        for times in (1, 2):
            loss.backward(retain_graph=True)
            for leaf, gradient in zip(inputs, expected, strict=True):
                torch.testing.assert_close(leaf.grad, times * gradient)

    @pytest.mark.parametrize("partly", [0, 1])
    def test_backward_partly_then_whole(self, kind: str, partly: int) -> None:
        """A backward pass towards one leaf only (the input: it stops short of the matrix) leaves nothing
        behind for the next."""
        inputs = leaves(kind)
        loss, expected = loss_and_gradients(inputs)
        (first,) = torch.autograd.grad(loss, inputs[partly], retain_graph=True)
        torch.testing.assert_close(first, expected[partly])
        torch.testing.assert_close(torch.autograd.grad(loss, inputs), expected)

    def test_a_use_without_backward(self, kind: str) -> None:
        """Two uses, of which one is differentiated, then the other."""
        x, matrix, *biases = leaves(kind)
        weights, bias = [matrix, *biases], biases[0] if biases else None
        pairs = [
            (use(x).square().sum(), use(2 * x).sum())
            for use in (linear_product(matrix, bias), by_hand(matrix, bias))
        ]
        for found, expected in reversed([*zip(*pairs, strict=True)]):
            torch.testing.assert_close(
                torch.autograd.grad(found, weights), torch.autograd.grad(expected, weights)
            )

    def test_frozen_weights(self, kind: str) -> None:
        """The input's gradient alone, and that of each weight alone."""
        for wanted in range(len(leaves(kind))):
            inputs = leaves(kind)
            for k, leaf in enumerate(inputs):
                leaf.requires_grad_(k == wanted)
            found = torch.autograd.grad(loss_of(linear_product, inputs), inputs[wanted])
            torch.testing.assert_close(found, torch.autograd.grad(loss_of(by_hand, inputs), inputs[wanted]))


def test_rows_without_elements() -> None:
    """A target of one word has no previous words: no rows, zero gradient."""
    matrix, x = random(5, 4), random(3, 0, 4)
    y = linear_product(matrix)(x)
    assert y.shape == (3, 0, 5)
    assert torch.autograd.grad(y.sum(), matrix)[0].count_nonzero() == 0


def products(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of every product that forms a weight's gradient, from now on."""
    found: list[int] = []
    multiply = deferred_gradients._Uses._multiply

    def counted(uses: Any) -> None:
        found.append(sum(len(rows) for rows in uses.inputs))
        multiply(uses)

    monkeypatch.setattr(deferred_gradients._Uses, "_multiply", counted)
    return found


def test_one_product_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is all for: the weight's gradient is formed once, over the rows of every step."""
    found = products(monkeypatch)
    loss_of(linear_product, leaves("one matrix")).backward()
    assert found == [3 * STEPS]


def test_no_product_without_anyone_who_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = products(monkeypatch)
    x, matrix = leaves("one matrix")
    loss_of(linear_product, [x, matrix.detach()]).backward()
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 4])
def test_rows_that_do_not_wait(limit: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of several products: in one backward pass, in the next, and after one that stopped short of the
    matrix."""
    monkeypatch.setattr(deferred_gradients, "ROWS_AT_ONCE", limit)
    inputs, found = leaves(kind), products(monkeypatch)
    loss, expected = loss_and_gradients(inputs)
    torch.autograd.grad(loss, inputs[0], retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(loss, inputs, retain_graph=True), expected)
    torch.testing.assert_close(torch.autograd.grad(loss, inputs), expected)
    assert len(found) >= STEPS


@pytest.mark.parametrize("leaf", [0, 1], ids=["input", "matrix"])
def test_second_order_is_refused(leaf: int) -> None:
    """ "First order only": a gradient of a gradient must raise, never be silently incomplete."""
    inputs = leaves("one matrix")

    def penalised() -> None:
        (gradient,) = torch.autograd.grad(loss_of(linear_product, inputs), inputs[leaf], create_graph=True)
        (gradient.square().sum() + inputs[leaf].sum()).backward()

    with pytest.raises(RuntimeError):
        penalised()


def test_torch_numbers_its_backward_passes() -> None:
    """The private call that deferring rests on: in this version of torch it is there, and two passes have two
    numbers."""
    assert deferred_gradients.backward_pass is not None
    assert isinstance(linear_product(random(2, 2)), DeferredProduct)
    seen: list[int] = []
    x = random(2, 2)
    y = x * 2
    y.register_hook(lambda _: seen.append(deferred_gradients.backward_pass()))  # type: ignore[misc]
    loss = y.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert len(set(seen)) == 2
    assert min(seen) >= 0 > deferred_gradients.backward_pass()  # none is under way now


@pytest.mark.parametrize("kind", KINDS)
def test_where_torch_does_not_number_them_gradients_are_plain(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferred_gradients, "backward_pass", None)
    inputs = leaves(kind)
    assert not isinstance(linear_product(*inputs[1:]), DeferredProduct)
    assert_as_by_hand(inputs)


def test_a_torch_without_the_call_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C, "_current_graph_task_id")
    with pytest.warns(UserWarning, match="training is as exact, but slower"):
        found = runpy.run_path(deferred_gradients.__file__)
    assert found["backward_pass"] is None
