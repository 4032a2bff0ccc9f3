"""Matrices that are used at every step of a sequence, with gradients computed once, at its end.

In a recurrence, autograd computes one small product per time step for the gradient of a matrix and adds each
to a full-size sum, which is slow memory traffic. Here the backward of a *use* returns only the gradient of
its input, and stores (input, output gradient). Autograd reaches the matrix's own node after all of its uses.
That node computes the gradient in one product over all time steps. If thousands of rows are stored, they are
multiplied earlier, to save memory.

Gradients are exact, and of first order only. Backward may run twice, partly, or never.
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
"""Largest number of stored rows. When there are more, they are multiplied and freed; a larger product would
be no more efficient."""

ROWS_TOGETHER = 1024
"""Rows of one product in `weight_gradient`."""

backward_pass: Callable[[], int] | None = getattr(torch._C, "_current_graph_task_id", None)
"""Returns the number of the running backward pass. This private function of torch, on which its checkpointing
depends, is the only way to find rows left by a pass that did not reach the matrix. Without it gradients are
plain autograd's."""

if backward_pass is None:
    warnings.warn(
        f"torch {torch.__version__} does not number its backward passes: training is as exact, but slower",
        stacklevel=1,
    )


def linear_product(matrix: Tensor, bias: Tensor | None = None, dtype: torch.dtype | None = None) -> Product:
    """Returns the layer y = M x (+ b) for one sequence. matrix: (out, in), or one per sentence, (batch, out,
    in), with x (batch, rows, in).

    dtype: of the product; the matrix is converted to it once. y has the dtype of x. Gradients are deferred if
    torch allows it.
    """
    dtype = dtype or matrix.dtype
    if backward_pass is None:
        return partial(_product, matrix=matrix.to(dtype), bias=None if bias is None else bias.to(dtype))
    return DeferredProduct(matrix, bias, dtype)


class DeferredProduct:
    """A layer whose matrix has one gradient for all uses, computed after the last of them in a backward
    pass."""

    def __init__(self, matrix: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self.uses = _Uses(matrix, bias)
        self.matrix, self.bias = _Matrix.apply(matrix, bias, self.uses, dtype)  # type: ignore[no-untyped-call]

    def __call__(self, x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():  # search needs no autograd node
            return _product(x, self.matrix, self.bias)
        return _Use.apply(x, self.matrix, self.bias, self.uses)  # type: ignore[no-untyped-call,no-any-return]


def refuse_second_order() -> None:
    """Raises RuntimeError if the backward pass is itself recorded, for nodes that cannot use
    `once_differentiable`."""
    if torch.is_grad_enabled():
        raise RuntimeError("deferred gradients are of first order only: differentiate without create_graph")


def _product(x: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    """Returns y in the dtype of x; the product has the dtype of the matrix."""
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
    """Returns deltasᵀ inputs, computed in blocks of rows that fit a core's cache."""
    whole = len(deltas) // ROWS_TOGETHER * ROWS_TOGETHER
    left, right = (rows[:whole].unflatten(0, (-1, ROWS_TOGETHER)) for rows in (deltas, inputs))
    gradient = (deltas[whole:].t() @ inputs[whole:]).to(dtype)
    for part in torch.bmm(left.mT, right) if whole else ():
        gradient += part
    return gradient


class _Uses:
    """The inputs and output gradients of all uses of one matrix in a backward pass, and the sum of products
    computed so far."""

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
        # Rows of an earlier pass that did not reach the matrix must not enter this one.
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
        """Returns the gradients of the matrix and of its bias, and clears them."""
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
