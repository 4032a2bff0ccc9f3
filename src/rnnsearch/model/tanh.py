"""The hyperbolic tangent, by the fastest way to it."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.add(x, x).sigmoid_().mul_(2.0).sub_(1.0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradient, y)  # type: ignore[no-any-return]


class _TanhInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.add_(x).sigmoid_().mul_(2.0).sub_(1.0)
        ctx.mark_dirty(y)
        ctx.save_for_backward(y)
        return y

    backward = _Tanh.backward


def tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """tanh x = 2 σ(2x) − 1. On a CPU torch's σ is so much faster than its tanh that the detour takes a quarter of the time.

    The error is absolute, one unit in the last place of 1 (6e-8 in float32), so it is relatively large only where tanh x is next to 0.
    """
    if x.device.type != "cpu":
        return torch.tanh(x)
    return _Tanh.apply(x)  # type: ignore[no-untyped-call,no-any-return]


def tanh_(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """`tanh` in the place of x: for a sum that nothing else reads, and that is no view.

    Beside every y that is kept for backward the sum would leave a hole in the heap, which glibc does not give to the next one: with
    alignment it looks for more room than it takes.
    """
    if x.device.type != "cpu":
        return torch.tanh_(x)
    return _TanhInPlace.apply(x)  # type: ignore[no-untyped-call,no-any-return]
