"""Deferred gradients equal those of plain autograd: of SequenceMap, ReadEveryStep and SequenceLinear alone, however backward is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from small import randomised
from torch import Tensor

from rnnsearch.model import sequence_linear
from rnnsearch.model.sequence_linear import Maps, ReadEveryStep, SequenceLinear, SequenceMap, sequence

STEPS = 4


def random(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def leaves(kind: str) -> list[Tensor]:
    """[x, matrix] or [x, matrix, bias]; the map is square, so that it can be used step after step."""
    match kind:
        case "one matrix":
            return [random(3, 4), random(4, 4)]
        case "one matrix, bias":
            return [random(3, 4), random(4, 4), random(4)]
        case "one matrix, more dimensions":
            return [random(2, 3, 1, 4), random(4, 4)]
        case "a matrix per sentence":
            return [random(2, 3, 4), random(2, 4, 4)]
    raise ValueError(kind)


KINDS = ["one matrix", "one matrix, bias", "one matrix, more dimensions", "a matrix per sentence"]


def plain_map(matrix: Tensor, bias: Tensor | None = None) -> Callable[[Tensor], Tensor]:
    def use(x: Tensor) -> Tensor:
        y = x @ matrix.mT
        return y if bias is None else y + bias

    return use


def recurrence(make: Callable[..., Callable[[Tensor], Tensor]], x: Tensor, *weights: Tensor) -> Tensor:
    """x ← tanh(M x + b) + x/2, with every state in the result: every use has a gradient of its own."""
    use, states = make(*weights), [x]
    for _ in range(STEPS):
        states.append(torch.tanh(use(states[-1])) + states[-1] / 2)
    return torch.stack([(k + 1.0) * state for k, state in enumerate(states[1:])])


def loss_of(make: Callable[..., Callable[[Tensor], Tensor]], inputs: list[Tensor]) -> Tensor:
    return recurrence(make, *inputs).square().sum()


@pytest.mark.parametrize("kind", KINDS)
class TestSequenceMap:
    def test_gradcheck(self, kind: str) -> None:
        inputs = leaves(kind)
        assert torch.autograd.gradcheck(lambda *given: recurrence(SequenceMap, *given), inputs)

    def test_values_and_gradients_of_plain_autograd(self, kind: str) -> None:
        inputs = leaves(kind)
        loss, plain = loss_of(SequenceMap, inputs), loss_of(plain_map, inputs)
        torch.testing.assert_close(loss, plain)
        torch.testing.assert_close(torch.autograd.grad(loss, inputs), torch.autograd.grad(plain, inputs))

    def test_backward_twice(self, kind: str) -> None:
        inputs = leaves(kind)
        loss, expected = loss_of(SequenceMap, inputs), torch.autograd.grad(loss_of(plain_map, inputs), inputs)
        loss.backward(retain_graph=True)
        for leaf, gradient in zip(inputs, expected, strict=True):
            torch.testing.assert_close(leaf.grad, gradient)
        loss.backward()
        for leaf, gradient in zip(inputs, expected, strict=True):
            torch.testing.assert_close(leaf.grad, 2 * gradient)

    @pytest.mark.parametrize("partly", [0, 1])
    def test_backward_partly_then_whole(self, kind: str, partly: int) -> None:
        """A backward pass towards one leaf only (the input: it stops short of the matrix) leaves nothing behind for the next."""
        inputs = leaves(kind)
        loss, expected = loss_of(SequenceMap, inputs), torch.autograd.grad(loss_of(plain_map, inputs), inputs)
        (first,) = torch.autograd.grad(loss, inputs[partly], retain_graph=True)
        torch.testing.assert_close(first, expected[partly])
        torch.testing.assert_close(torch.autograd.grad(loss, inputs), expected)

    def test_a_use_without_backward(self, kind: str) -> None:
        """Two uses, of which one is differentiated, then the other."""
        x, matrix, *biases = leaves(kind)
        weights, bias = [matrix, *biases], biases[0] if biases else None
        use, plain = SequenceMap(matrix, bias), plain_map(matrix, bias)
        one, two = use(x).square().sum(), use(2 * x).sum()
        torch.testing.assert_close(torch.autograd.grad(two, weights), torch.autograd.grad(plain(2 * x).sum(), weights))
        torch.testing.assert_close(torch.autograd.grad(one, weights), torch.autograd.grad(plain(x).square().sum(), weights))

    def test_frozen_weights(self, kind: str) -> None:
        """The input's gradient alone, and that of each weight alone."""
        for wanted in range(len(leaves(kind))):
            inputs = leaves(kind)
            for k, leaf in enumerate(inputs):
                leaf.requires_grad_(k == wanted)
            found = torch.autograd.grad(loss_of(SequenceMap, inputs), inputs[wanted])
            torch.testing.assert_close(found, torch.autograd.grad(loss_of(plain_map, inputs), inputs[wanted]))


def test_matrix_per_sentence_with_bias() -> None:
    """y = M x + b is what SequenceMap promises, whatever the matrix: a bias must not be dropped in silence."""
    x, matrix, bias = random(2, 3, 4), random(2, 4, 4), random(4)
    loss, plain = loss_of(SequenceMap, [x, matrix, bias]), loss_of(plain_map, [x, matrix, bias])
    torch.testing.assert_close(loss, plain)
    torch.testing.assert_close(torch.autograd.grad(loss, [x, matrix, bias]), torch.autograd.grad(plain, [x, matrix, bias]))


def test_rows_without_elements() -> None:
    """A target of one word has no previous words: no rows, zero gradient."""
    matrix, x = random(5, 4), random(3, 0, 4)
    y = SequenceMap(matrix)(x)
    assert y.shape == (3, 0, 5)
    assert torch.autograd.grad(y.sum(), matrix)[0].count_nonzero() == 0


def products(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of every product that forms a weight's gradient, from now on."""
    found: list[int] = []
    multiply = sequence_linear._Uses._multiply

    def counted(uses: Any) -> None:
        found.append(sum(len(rows) for rows in uses.inputs))
        multiply(uses)

    monkeypatch.setattr(sequence_linear._Uses, "_multiply", counted)
    return found


def test_one_product_for_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is all for: the weight's gradient is formed once, over the rows of every step."""
    found = products(monkeypatch)
    loss_of(SequenceMap, leaves("one matrix")).backward()
    assert found == [3 * STEPS]


def test_no_product_without_anyone_who_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = products(monkeypatch)
    x, matrix = leaves("one matrix")
    loss_of(SequenceMap, [x, matrix.detach()]).backward()
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 4])
def test_rows_that_do_not_wait(limit: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of several products: in one backward pass, in the next, and after one that stopped short of the matrix."""
    monkeypatch.setattr(sequence_linear, "ROWS_AT_ONCE", limit)
    inputs, found = leaves(kind), products(monkeypatch)
    loss, expected = loss_of(SequenceMap, inputs), torch.autograd.grad(loss_of(plain_map, inputs), inputs)
    torch.autograd.grad(loss, inputs[0], retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(loss, inputs, retain_graph=True), expected)
    torch.testing.assert_close(torch.autograd.grad(loss, inputs), expected)
    assert len(found) >= STEPS


@pytest.mark.parametrize("leaf", [0, 1], ids=["input", "matrix"])
def test_second_order_is_refused(leaf: int) -> None:
    """ "First order only": a gradient of a gradient must raise, never be silently incomplete."""
    inputs = leaves("one matrix")

    def penalised() -> None:
        (gradient,) = torch.autograd.grad(loss_of(SequenceMap, inputs), inputs[leaf], create_graph=True)
        (gradient.square().sum() + inputs[leaf].sum()).backward()

    with pytest.raises(RuntimeError):
        penalised()


def test_second_order_of_what_every_step_reads_is_refused() -> None:
    tensor = random(3, 2)

    def penalised() -> None:
        (gradient,) = torch.autograd.grad(ReadEveryStep(tensor).read().square().sum(), tensor, create_graph=True)
        (gradient.square().sum() + tensor.sum()).backward()

    with pytest.raises(RuntimeError):
        penalised()


class TestReadEveryStep:
    def steps(self, read: Callable[[], Tensor], tensor: Tensor) -> Tensor:
        """Reads of unequal use; one read is not used at all, and one is expanded (its gradient is no dense tensor of its own)."""
        x = tensor.detach().sum()
        for k in range(STEPS):
            x = torch.tanh(x + (read() * (k + 1.0)).sin()).sum()
        read()
        return x + read().sum()

    def test_gradcheck(self) -> None:
        def run(tensor: Tensor) -> Tensor:
            every = ReadEveryStep(tensor * 2)
            return self.steps(every.read, tensor)

        assert torch.autograd.gradcheck(run, random(3, 2))

    def test_twice_and_partly(self) -> None:
        tensor, other = random(3, 2), random(3, 2)
        every = ReadEveryStep(tensor.exp())
        loss = (every.read() * other).sum() + (every.read().square() * other.cos()).sum()
        value = tensor.exp()
        plain = (value * other).sum() + (value.square() * other.cos()).sum()
        expected = torch.autograd.grad(plain, [tensor, other])
        torch.testing.assert_close(torch.autograd.grad(loss, other, retain_graph=True)[0], expected[1])
        torch.testing.assert_close(torch.autograd.grad(loss, [tensor, other], retain_graph=True), expected)
        loss.backward()
        torch.testing.assert_close(tensor.grad, expected[0])

    def test_a_pass_that_failed(self) -> None:
        """An exception after the reads and before the tensor's own node: the next pass begins from nothing."""
        tensor, other = random(3, 2), random(3, 2)
        every = ReadEveryStep(tensor)
        between = other * 1  # its gradient is computed after those of the reads, before that of the tensor

        def fail(_: Tensor) -> None:
            raise KeyError

        handle = between.register_hook(fail)
        loss = (between * every.read()).sum() + every.read().square().sum()
        with pytest.raises(KeyError):
            torch.autograd.grad(loss, [tensor, other], retain_graph=True)
        handle.remove()
        torch.testing.assert_close(torch.autograd.grad(loss, tensor)[0], 2 * tensor + other)

    def test_the_gradient_that_came_in_is_left_alone(self) -> None:
        """The running sum is a tensor of its own: here the same gradient arrives at both reads and at a third leaf."""
        tensor, third = random(3, 2), random(3, 2)
        every = ReadEveryStep(tensor)
        ((every.read() + every.read() + third) * torch.arange(6.0).view(3, 2)).sum().backward()
        expected = torch.arange(6.0, dtype=torch.float64).view(3, 2)
        torch.testing.assert_close(tensor.grad, 2 * expected)
        torch.testing.assert_close(third.grad, expected)


class TestSequenceLinear:
    """The module: a plain linear map outside a sequence, a deferred one inside."""

    def run(self, module: SequenceLinear, x: Tensor) -> Tensor:
        for _ in range(STEPS):
            x = torch.tanh(module(x))
        return x.square().sum()

    def module(self, dtype: torch.dtype = torch.float64, bias: bool = True) -> SequenceLinear:
        module = SequenceLinear(4, 4, bias=bias).to(dtype)
        randomised(module)
        return module

    def gradients(self, module: SequenceLinear, x: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(self.run(module, x), [x, *module.parameters()]))

    @pytest.mark.parametrize("bias", [True, False])
    def test_inside_equals_outside(self, bias: bool) -> None:
        module, x = self.module(bias=bias), random(3, 4)
        with sequence(Maps()):
            inside = self.gradients(module, x)
        torch.testing.assert_close(inside, self.gradients(module, x))

    def test_each_sequence_stands_alone(self) -> None:
        """One whose backward never runs, and one opened inside another, change nothing."""
        module, x = self.module(), random(3, 4)
        expected = self.gradients(module, x)
        with sequence(Maps()):
            self.run(module, 2 * x)
            with sequence(Maps()):
                inner = self.gradients(module, x)
            outer = self.gradients(module, x)
        torch.testing.assert_close(inner, expected)
        torch.testing.assert_close(outer, expected)

    def test_ends_with_its_block(self) -> None:
        def deferred(y: Tensor) -> bool:
            assert y.grad_fn is not None
            return y.grad_fn.name() == "_UseBackward"

        def fail() -> None:
            with sequence(Maps()):
                assert deferred(module(x))
                raise KeyError

        module, x = self.module(), random(3, 4)
        with pytest.raises(KeyError):
            fail()
        assert not deferred(module(x))

    def test_weight_changed_between_sequences(self) -> None:
        """An optimiser's step is seen by the next sequence."""
        module, x = self.module(), random(3, 4)
        with sequence(Maps()):
            self.gradients(module, x)
        with torch.no_grad():
            module.weight.mul_(-0.5)
        with sequence(Maps()):
            inside = self.gradients(module, x)
        torch.testing.assert_close(inside, self.gradients(module, x))

    def test_bfloat16_products(self) -> None:
        """Values and gradients stay float32, within the 8 bits of bfloat16's significand: 1 % of their norm (plain float32: 1e-6)."""
        module, x = self.module(torch.float32), random(64, 4, dtype=torch.float32)
        exact = self.gradients(module, x)
        with sequence(Maps(torch.bfloat16)):
            assert module(x).dtype == torch.float32
            low = self.gradients(module, x)
        for found, expected in zip(low, exact, strict=True):
            assert found.dtype == torch.float32
            error = float((found - expected).norm() / expected.norm())
            assert 1e-5 < error < 1e-2  # 1e-5: the products were made in bfloat16 indeed

    def test_float64_stays_float64(self) -> None:
        """Only float32 modules are rounded: gradchecks are made in float64."""
        module, x = self.module(), random(3, 4)
        with sequence(Maps(torch.bfloat16)):
            low = self.gradients(module, x)
        torch.testing.assert_close(low, self.gradients(module, x))

    def test_parameter_that_no_step_uses(self) -> None:
        used, unused, x = self.module(), self.module(), random(3, 4)
        with sequence(Maps()):
            self.run(used, x).backward()
            unused(x)  # computed, but not part of the loss
        assert used.weight.grad is not None
        assert unused.weight.grad is None

    def test_equals_linear(self) -> None:
        module, x = self.module(), random(2, 3, 4)
        expected = F.linear(x, module.weight, module.bias)
        torch.testing.assert_close(module(x), expected)
        with sequence(Maps()):
            torch.testing.assert_close(module(x), expected)
