"""Linear maps that are used at every step of a sequence and form their weight gradient once, at its end.

Inside a recurrence autograd gives a weight one small gradient product per time step and adds each to a full-size matrix: memory
traffic, no arithmetic density. Here the backward of a *use* returns the gradient of its input only, and keeps (input, output
gradient) aside. Autograd reaches the weight's own node after the last of its uses, and that node forms the gradient in one product
over all time steps; where thousands of rows wait, they are multiplied sooner, for the sake of memory. The step function stays
ordinary code, whoever wrote it.

    with sequence(Maps(torch.bfloat16)):    # opened by whoever drives the steps
        for i in range(steps):
            state = step(state)             # calls SequenceLinear modules like any other

Gradients are exact, first order only. Backward may run twice, partly, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from rnnsearch.model.initialise import Initialiser, gaussian, zeros


def refuse_second_order() -> None:
    """For nodes that receive no gradient of their own, where `once_differentiable` would not notice."""
    if torch.is_grad_enabled():
        raise RuntimeError("deferred gradients are of first order only: differentiate without create_graph")


ROWS_AT_ONCE = 4096
"""As many rows may wait for the end of the sequence. More are multiplied and let go, since a product of so many is no less dense."""


class _Uses:
    """What the uses of one matrix leave behind in one backward pass: rows of inputs and of output gradients, or already their product."""

    def __init__(self, matrix: Tensor, bias: Tensor | None) -> None:
        self.wants = (matrix.requires_grad, bias is not None and bias.requires_grad)
        self.dtype = matrix.dtype
        self.backward_pass = -1
        self._forget()

    def _forget(self) -> None:
        self.inputs: list[Tensor] = []
        self.deltas: list[Tensor] = []
        self.gradient: Tensor | None = None
        self.bias_gradient: Tensor | None = None

    def add(self, rows: Tensor, delta: Tensor) -> None:
        if not any(self.wants):
            return
        # A pass that stopped short of the matrix leaves its rows behind; they must not leak into the next one.
        current = torch._C._current_graph_task_id()
        if current != self.backward_pass:
            self._forget()
            self.backward_pass = current
        self.inputs.append(rows)
        self.deltas.append(delta)
        if sum(waiting.shape[-2] for waiting in self.inputs) > ROWS_AT_ONCE:
            self._multiply()

    def _multiply(self) -> None:
        deltas = self.deltas[0] if len(self.deltas) == 1 else torch.cat(self.deltas, -2)
        if self.wants[0]:
            inputs = self.inputs[0] if len(self.inputs) == 1 else torch.cat(self.inputs, -2)
            gradient = (deltas.mT @ inputs).to(self.dtype)
            self.gradient = gradient if self.gradient is None else self.gradient.add_(gradient)
        if self.wants[1]:
            gradient = deltas.flatten(0, -2).sum(0, dtype=self.dtype)
            self.bias_gradient = gradient if self.bias_gradient is None else self.bias_gradient.add_(gradient)
        self.inputs, self.deltas = [], []

    def take(self) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of the matrix and of its bias."""
        if self.inputs:
            self._multiply()
        gradients = self.gradient, self.bias_gradient
        self._forget()
        return gradients


class _Matrix(torch.autograd.Function):
    """The matrix's own node: (out, in), or one matrix per sentence (batch, out, in). Its backward runs after that of every use."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, bias: Tensor | None, uses: _Uses, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
        ctx.set_materialize_grads(False)
        ctx.uses = uses
        low = matrix.to(dtype) if matrix.dtype != dtype else matrix.view_as(matrix)
        low_bias = None if bias is None else bias.to(dtype) if bias.dtype != dtype else bias.view_as(bias)
        return low, low_bias

    @staticmethod
    def backward(ctx: Any, *_: None) -> tuple[Tensor | None, Tensor | None, None, None]:
        refuse_second_order()
        return *ctx.uses.take(), None, None


class _Use(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, bias: Tensor | None, uses: _Uses) -> Tensor:
        rows = x.to(matrix.dtype)
        if matrix.dim() == 2:
            rows = rows.reshape(-1, x.shape[-1])
            y = F.linear(rows, matrix, bias).view(*x.shape[:-1], matrix.shape[0])
        else:
            y = torch.bmm(rows, matrix.mT) if bias is None else torch.bmm(rows, matrix.mT) + bias
        ctx.uses, ctx.x_shape, ctx.x_dtype = uses, x.shape, x.dtype
        ctx.save_for_backward(rows, matrix)
        return y.to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, None]:
        rows, matrix = ctx.saved_tensors
        delta = gradient.to(matrix.dtype)
        if matrix.dim() == 2:
            delta = delta.reshape(-1, matrix.shape[0])
        ctx.uses.add(rows, delta)
        x_gradient = (delta @ matrix).view(ctx.x_shape).to(ctx.x_dtype) if ctx.needs_input_grad[0] else None
        return x_gradient, None, None, None


class SequenceMap:
    """y = M x (+ b) for the length of one sequence; M is (out, in), or (batch, out, in) with one matrix per sentence."""

    def __init__(self, matrix: Tensor, bias: Tensor | None = None, dtype: torch.dtype | None = None) -> None:
        self.uses = _Uses(matrix, bias)
        self.matrix, self.bias = _Matrix.apply(matrix, bias, self.uses, dtype or matrix.dtype)  # type: ignore[no-untyped-call]

    def __call__(self, x: Tensor) -> Tensor:
        """x: (..., in), or (batch, rows, in) where there is one matrix per sentence. Returns (..., out) in x's dtype."""
        return _Use.apply(x, self.matrix, self.bias, self.uses)  # type: ignore[no-untyped-call,no-any-return]


class _Sum:
    def __init__(self) -> None:
        self.total: Tensor | None = None
        self.backward_pass = -1

    def add(self, gradient: Tensor) -> None:
        current = torch._C._current_graph_task_id()
        if self.total is None or current != self.backward_pass:
            self.total, self.backward_pass = gradient.clone(memory_format=torch.contiguous_format), current
        else:
            self.total += gradient

    def take(self) -> Tensor | None:
        total, self.total = self.total, None
        return total


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, total: _Sum) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.total = total
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, _: None) -> tuple[Tensor | None, None]:
        refuse_second_order()
        return ctx.total.take(), None


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, total: _Sum) -> Tensor:
        ctx.total = total
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None]:
        ctx.total.add(gradient)
        return None, None


class ReadEveryStep:
    """A tensor that every step reads (U_a h): its gradient is one running sum in place, not one full-size addition per step."""

    def __init__(self, tensor: Tensor) -> None:
        self.total = _Sum()
        self.tensor: Tensor = _Shared.apply(tensor, self.total)  # type: ignore[no-untyped-call]

    def read(self) -> Tensor:
        return _Read.apply(self.tensor, self.total)  # type: ignore[no-untyped-call,no-any-return]


Map = Callable[[Tensor], Tensor]
"""(..., in) → (..., out)."""


class Maps:
    """The maps of a sequence that is being computed, each made at its first use; dtype: of the products of float32 modules."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        self.dtype = dtype
        self._maps: dict[int, Map] = {}

    def of(self, module: HasWeight) -> Map:
        if id(module) not in self._maps:
            self._maps[id(module)] = self.make(module.weight, module.bias)
        return self._maps[id(module)]

    def make(self, matrix: Tensor, bias: Tensor | None) -> Map:
        """The map of a matrix (out, in) and perhaps a bias (out,)."""
        return SequenceMap(matrix, bias, self.dtype if matrix.dtype == torch.float32 else None)


_maps: ContextVar[Maps | None] = ContextVar("sequence", default=None)


@contextmanager
def sequence(maps: Maps) -> Iterator[None]:
    """The time steps of one batch. Inputs, outputs and gradients stay float32 whatever the products' dtype."""
    token = _maps.set(maps)
    try:
        yield
    finally:
        _maps.reset(token)


@runtime_checkable
class HasWeight(Protocol):
    """A module with a matrix (out, in) and perhaps a bias (out,)."""

    @property
    def weight(self) -> Tensor: ...

    @property
    def bias(self) -> Tensor | None: ...


def linear(module: HasWeight, x: Tensor) -> Tensor:
    """x: (..., in) → W x (+ b): (..., out). Outside a `sequence` an ordinary linear map; inside one, its gradient is deferred."""
    maps = _maps.get()
    return F.linear(x, module.weight, module.bias) if maps is None else maps.of(module)(x)


def selected(module: HasWeight, rows: Tensor) -> Map:
    """(..., in) → (..., out'): some rows of a module's map, in the precision of the open `sequence`. rows: (out',) their numbers."""
    maps = _maps.get() or Maps(module.weight.dtype)
    return maps.make(module.weight[rows], None if module.bias is None else module.bias[rows])


class SequenceLinear(nn.Module):
    """y = W x (+ b) on the last dimension, by way of `linear`."""

    def __init__(self, in_size: int, out_size: int, *, bias: bool = False, init: Initialiser | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_size, in_size))
        self.bias = nn.Parameter(torch.empty(out_size)) if bias else None
        self.init = init or gaussian(0.01)
        self.init(self.weight)
        if self.bias is not None:
            zeros(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., in) → (..., out)."""
        return linear(self, x)
