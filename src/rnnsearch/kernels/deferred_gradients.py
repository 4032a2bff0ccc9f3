"""Matrices that are used at every step of a sequence and form their gradient once, at its end.

Inside a recurrence autograd gives a matrix one small gradient product per time step and adds each to a
full-size sum: memory traffic, no arithmetic density. Here the backward of a *use* returns the gradient of its
input only, and keeps (input, output gradient) aside. Autograd reaches the matrix's own node after the last of
its uses, and that node forms the gradient in one product over all time steps; where thousands of rows wait,
they are multiplied sooner, for the sake of memory.

Gradients are exact, first order only. Backward may run twice, partly, or never.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnsearch.model.layers import Product

ROWS_AT_ONCE = 4096
"""As many rows may wait for the end of the sequence. More are multiplied and let go: a product of so many is
as dense."""

ROWS_TOGETHER = 1024
"""Rows of one product of a gradient."""

backward_pass: Callable[[], int] | None = getattr(torch._C, "_current_graph_task_id", None)
"""Returns the number of the backward pass under way. It is private, though torch's own checkpointing and
hooks rest on it: there is no public way to learn that a pass stopped short of the matrix, and left rows
behind. Without it gradients are plain autograd's."""

if backward_pass is None:
    warnings.warn(
        f"torch {torch.__version__} does not number its backward passes: training is as exact, but slower",
        stacklevel=1,
    )


def linear_product(matrix: Tensor, bias: Tensor | None = None, dtype: torch.dtype | None = None) -> Product:
    """Returns y = M x (+ b) for the length of one sequence. matrix: (out, in), or (batch, out, in): one per
    sentence, and x (batch, rows, in).

    dtype: of the product, to which the matrix is converted here, once; y has x's. Gradients are deferred
    wherever torch allows it.
    """
    dtype = dtype or matrix.dtype
    if backward_pass is None:
        return partial(_product, matrix=matrix.to(dtype), bias=None if bias is None else bias.to(dtype))
    return DeferredProduct(matrix, bias, dtype)


class DeferredProduct:
    """One gradient of the matrix for all uses, formed after the last of them in a backward pass."""

    def __init__(self, matrix: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self.uses = _Uses(matrix, bias)
        self.matrix, self.bias = _Matrix.apply(matrix, bias, self.uses, dtype)  # type: ignore[no-untyped-call]

    def __call__(self, x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():  # a search, which need not pay for a node
            return _product(x, self.matrix, self.bias)
        return _Use.apply(x, self.matrix, self.bias, self.uses)  # type: ignore[no-untyped-call,no-any-return]


def refuse_second_order() -> None:
    """Raises RuntimeError in a backward pass that is recorded, for nodes that `once_differentiable` cannot
    guard."""
    if torch.is_grad_enabled():
        raise RuntimeError("deferred gradients are of first order only: differentiate without create_graph")


def _product(x: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    """Returns y in x's dtype; the product is in the matrix's."""
    if matrix.dim() > 2:
        return _forward(x.to(matrix.dtype), matrix, bias).to(x.dtype)
    return (
        _forward(x.to(matrix.dtype).reshape(-1, x.shape[-1]), matrix, bias)
        .view(*x.shape[:-1], len(matrix))
        .to(x.dtype)
    )


def _forward(x: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    if matrix.dim() == 2:
        return F.linear(x, matrix, bias)
    return torch.bmm(x, matrix.mT) if bias is None else torch.bmm(x, matrix.mT) + bias


def weight_gradient(
    deltas: Float[Tensor, "rows out"], inputs: Float[Tensor, "rows in"], dtype: torch.dtype
) -> Float[Tensor, "out in"]:
    """Returns deltasᵀ inputs, multiplied so many rows at a time that a core's cache holds them."""
    whole = len(deltas) // ROWS_TOGETHER * ROWS_TOGETHER
    left, right = (rows[:whole].unflatten(0, (-1, ROWS_TOGETHER)) for rows in (deltas, inputs))
    gradient = (deltas[whole:].t() @ inputs[whole:]).to(dtype)
    for part in torch.bmm(left.mT, right) if whole else ():
        gradient += part
    return gradient


class _Uses:
    """Rows of inputs and of output gradients that the uses of one matrix leave behind in a backward pass, or
    already their product."""

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
        assert backward_pass is not None
        # Rows that a pass left behind, because it stopped short of the matrix, must not leak into the next.
        current = backward_pass()
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
            gradient = (
                weight_gradient(deltas, inputs, self.dtype)
                if deltas.dim() == 2
                else (deltas.mT @ inputs).to(self.dtype)
            )
            self.gradient = gradient if self.gradient is None else self.gradient.add_(gradient)
        if self.wants[1]:
            gradient = deltas.flatten(0, -2).sum(0, dtype=self.dtype)
            self.bias_gradient = gradient if self.bias_gradient is None else self.bias_gradient.add_(gradient)
        self.inputs, self.deltas = [], []

    def take(self) -> tuple[Tensor | None, Tensor | None]:
        """Returns the gradients of the matrix and of its bias, and forgets them."""
        if self.inputs:
            self._multiply()
        gradients = self.gradient, self.bias_gradient
        self._forget()
        return gradients


class _Matrix(torch.autograd.Function):
    """The matrix's own node: (out, in), or one matrix per sentence (batch, out, in). Its backward runs after
    that of every use."""

    @staticmethod
    def forward(
        ctx: Any, matrix: Tensor, bias: Tensor | None, uses: _Uses, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor | None]:
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
        ctx.uses, ctx.x_shape, ctx.x_dtype = uses, x.shape, x.dtype
        ctx.save_for_backward(rows, matrix)
        return _forward(rows, matrix, bias).view(*x.shape[:-1], matrix.shape[-2]).to(x.dtype)

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
