"""The loss of the output layer, with logits, softmax and gradient computed a few rows at a time.

This is half of the arithmetic of training. All logits of a batch (80 × 50 positions × 30,000 words)
would take half a gigabyte, and their gradients as much. So they are computed for a group of rows at
a time, enough rows for efficient products with W_o. Within a group the softmax works on a chunk of
rows, few enough for a core's cache. On a GPU a chunk is a whole group, because every chunk costs a
dozen kernel launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnsearch.kernels.convert import FASTER
from rnnsearch.kernels.digest import edited, plain_instead
from rnnsearch.model.readout import OutputLayer

LOSS_CHUNK = 200_000
"""Logits that a core works on at once, in float32."""
GROUP_ELEMENTS = 32_000_000
"""Logits, later their gradients, in memory at once, in the dtype of the products."""
GROUP_ROWS = 512
"""Largest number of rows in a group on a CPU. More rows make products no more efficient, and with
few words they would not fit its shared cache."""


LOSS_EQUALS = ("training.loss:negative_log_likelihood", "model.readout:OutputLayer.logits")
WHAT = "the loss is computed"


def fast_loss(dtype: torch.dtype) -> partial[tuple[Tensor, Tensor]] | None:
    """Returns the kernel of `training.loss:negative_log_likelihood`; None if that function is
    edited. dtype: of the three products of a float32 layer."""
    if plain_instead(LOSS_EQUALS, WHAT):
        return None
    return partial(chunked_nll, dtype=dtype)


def edited_functions() -> set[str]:
    """Returns those of the functions that kernels equal whose source is edited."""
    return {*edited([*LOSS_EQUALS, *(name for one in FASTER.values() for name in one.EQUALS)])}


def edited_equations() -> list[str]:
    """Returns a line for each edited equation, which training therefore computes in plain
    PyTorch."""
    found = [line for one in FASTER.values() for line in plain_instead(one.EQUALS, one.WHAT)]
    return found + plain_instead(LOSS_EQUALS, WHAT)


def chunked_nll(
    output: OutputLayer,
    features: Float[Tensor, "rows feature"],
    targets: Int64[Tensor, " rows"],
    smoothing: float = 0.0,
    real: Bool[Tensor, " rows"] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Computes the same as `training.loss:negative_log_likelihood`."""
    low = dtype if features.dtype == torch.float32 else features.dtype
    tensors: list[Tensor] = [features, output.weight, output.bias]
    if not torch.is_grad_enabled():  # inside an autograd function gradients are always off
        tensors = [each.detach() for each in tensors]
    inputs = *tensors, targets, smoothing, low, real
    loss, nll = _OutputLoss.apply(*inputs)  # type: ignore[no-untyped-call]
    return loss, nll


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds left @ right, of the same or another dtype, to `total`."""
    if left.dtype == total.dtype:
        torch.addmm(total, left, right, out=total)
    else:
        total += left @ right


class _OutputLoss(torch.autograd.Function):
    """(loss, NLL). `forward` computes the gradients, too.

    Autograd gives gradients only to tensors among the arguments, so weight and bias are two of
    them.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        dtype: torch.dtype,
        real: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        words, (group, chunk) = len(weight), _rows_at_once(weight)
        low, low_weight = features.to(dtype), weight.to(dtype)
        # (feature, K): products with this layout are two to three times as fast
        by_feature = low_weight.t().contiguous()
        wanted = any(ctx.needs_input_grad[:3])
        of_features, of_weight, of_bias = gradients = [
            torch.zeros_like(each) if wanted else each.new_empty(0)
            for each in (features, weight, bias)
        ]
        counted = features.new_ones(len(features), 1)
        if real is not None:
            counted = real.unsqueeze(1).to(features.dtype)
        log_sum, of_target = torch.empty_like(counted), torch.empty_like(counted)
        # One buffer for all groups: (rows of a group, K). New pages of memory would cost a third of
        # the product's time.
        buffer = low.new_empty(min(group, len(targets)), words)
        for rows in _slices(len(targets), group):
            deltas = buffer[: rows.stop - rows.start]  # the logits without b, then their gradients
            torch.mm(low[rows], by_feature, out=deltas)
            for part in _slices(len(deltas), chunk):
                chosen = slice(rows.start + part.start, rows.start + part.stop)
                logits = deltas[part].to(features.dtype).add_(bias)  # float32: in place
                target = targets[chosen].unsqueeze(1)
                of_target[chosen] = logits.gather(1, target)
                log_sum[chosen] = _softmax(logits, counted[chosen])
                if wanted:
                    logits.scatter_add_(1, target, counted[chosen] * (smoothing - 1.0))
                    of_bias += logits.sum(0)
                    if logits.dtype != deltas.dtype:
                        deltas[part] = logits
            if wanted:
                of_features[rows] = deltas @ low_weight
                _add_product(of_weight, deltas.t(), low[rows])
        nll = ((log_sum - of_target) * counted).sum(dtype=torch.float64)
        loss = nll.clone()
        # the uniform part of the reference distribution costs no pass over the logits
        if smoothing:
            mean = (features @ weight.mean(0) + bias.mean()).unsqueeze(1)
            uniform = ((log_sum - mean) * counted).sum(dtype=torch.float64)
            loss = (1.0 - smoothing) * nll + smoothing * uniform
            if wanted:
                share = counted * (smoothing / words)
                of_features -= share * weight.sum(0)
                of_weight -= share.t() @ features
                of_bias -= share.sum()
        ctx.save_for_backward(*gradients)
        nll = nll.to(features.dtype)
        ctx.mark_non_differentiable(nll)
        return loss.to(features.dtype), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = tuple(gradient * scale for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None, None)


def _rows_at_once(weight: Float[Tensor, "words feature"]) -> tuple[int, int]:
    """Returns the numbers of rows of a group and of a chunk."""
    group = max(1, GROUP_ELEMENTS // len(weight))
    if weight.device.type != "cpu":
        return group, group
    return min(group, GROUP_ROWS), max(1, LOSS_CHUNK // len(weight))


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _softmax(
    logits: Float[Tensor, "rows words"], counted: Float[Tensor, "rows 1"]
) -> Float[Tensor, "rows 1"]:
    """Returns log Σ_k exp of each row. In place, the logits become p, times `counted`, which is 0
    or 1."""
    highest = logits.amax(1, keepdim=True)
    total = logits.sub_(highest).exp_().sum(1, keepdim=True)
    logits.mul_(counted / total)
    return total.log_().add_(highest)
