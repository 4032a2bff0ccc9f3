"""Kernels of functions of `model/readout.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnsearch.model import readout as model
from rnnsearch.system.kernel_dispatch import reference

ROWS_AT_ONCE = 128
"""Hypotheses whose logits are computed at once on a CPU if there are more than three times as many. A product
of more rows is faster, and a second tensor of all logits takes longer than it saves."""


def log_probabilities(
    output: Callable[[Tensor], Tensor], readout: Float[Tensor, "*rest readout"]
) -> Float[Tensor, "*rest words"]:
    """Computes the same as `model.readout:log_probabilities`, on a CPU without a second tensor
    of all logits."""
    rows = readout.flatten(0, -2)
    if rows.device.type != "cpu" or torch.is_grad_enabled():
        return reference(model.log_probabilities)(output, readout)
    if len(rows) <= 3 * ROWS_AT_ONCE:
        logits = output(readout)
        return torch.log_softmax(logits, -1, out=logits)
    first, *others = rows.split(ROWS_AT_ONCE)
    logits = output(first)
    found = logits.new_empty(len(rows), logits.shape[-1])
    torch.log_softmax(logits, -1, out=found[:ROWS_AT_ONCE])
    for part, place in zip(others, found[ROWS_AT_ONCE:].split(ROWS_AT_ONCE), strict=True):
        torch.log_softmax(output(part), -1, out=place)
    return found.view(*readout.shape[:-1], -1)


def maxout(
    readout: model.MaxoutReadout, layer: Float[Tensor, "*rest layer"]
) -> Float[Tensor, "*rest readout"]:
    """Computes the same as `model.readout:MaxoutReadout.activation`."""
    return _Maxout.apply(layer)  # type: ignore[no-untyped-call,no-any-return]


class _Maxout(torch.autograd.Function):
    """Maxout, with its gradient written into one tensor; autograd would add two tensors, half of each
    zeros."""

    @staticmethod
    def forward(ctx: Any, layer: Tensor) -> Tensor:
        odd, even = layer[..., 0::2], layer[..., 1::2]
        if ctx.needs_input_grad[0]:  # 1 where the first is larger, 0 where it is smaller, 1/2 where equal
            ctx.save_for_backward(torch.sub(odd, even).sign_().add_(1.0).mul_(0.5))
        return torch.maximum(odd, even)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (first,) = ctx.saved_tensors
        of_layer = gradient.new_empty(*gradient.shape[:-1], 2 * gradient.shape[-1])
        torch.mul(gradient, first, out=of_layer[..., 0::2])
        torch.sub(gradient, of_layer[..., 0::2], out=of_layer[..., 1::2])
        return of_layer
