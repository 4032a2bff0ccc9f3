"""The loss of the output layer, with logits, softmax and gradient formed a few rows at a time.

Half of the arithmetic of training is here, and all logits of a batch at once would be gigabytes (80 × 50
positions × 30,000 words). Only those of a group of rows exist at any time: enough rows for dense products
with W_o. Within a group the softmax takes a chunk of rows at a time, few enough for a core's own cache. On a
GPU a chunk is a whole group: it has no such cache, and every chunk costs a dozen launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK_ELEMENTS = 300_000
"""Logits that a core works on at once, in float32."""
GROUP_ELEMENTS = 32_000_000
"""Logits, and then their gradients, held at once in the dtype of the products."""
GROUP_ROWS = 512
"""Rows of a group on a CPU, at most: products of more are no denser, and of fewer words all would leave its
shared cache."""


def negative_log_likelihood(
    features: Float[Tensor, "rows feature"],
    weight: Float[Tensor, "words feature"],
    bias: Float[Tensor, " words"],
    targets: Int64[Tensor, " rows"],
    smoothing: float = 0.0,
    dtype: torch.dtype = torch.float32,
    real: Bool[Tensor, " rows"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Does as its plain twin `training.loss:negative_log_likelihood`."""
    low = dtype if features.dtype == torch.float32 else features.dtype
    if not torch.is_grad_enabled():  # inside the function below it always is off
        features, weight, bias = features.detach(), weight.detach(), bias.detach()
    loss, nll = _OutputLoss.apply(features, weight, bias, targets, smoothing, low, real)  # type: ignore[no-untyped-call]
    return loss, nll


class _OutputLoss(torch.autograd.Function):
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
        words, on_cpu = weight.shape[0], weight.device.type == "cpu"
        group = max(1, min(GROUP_ELEMENTS // words, GROUP_ROWS) if on_cpu else GROUP_ELEMENTS // words)
        chunk = max(1, CHUNK_ELEMENTS // words) if on_cpu else group
        low, low_weight = features.to(dtype), weight.to(dtype)
        by_feature = (
            low_weight.t().contiguous()
        )  # (feature, K): products with it are two to three times as fast
        gradients = (
            tuple(torch.zeros_like(tensor) for tensor in (features, weight, bias))
            if any(ctx.needs_input_grad[:3])
            else None
        )
        loss, nll = features.new_zeros((), dtype=torch.float64), features.new_zeros((), dtype=torch.float64)
        counted = None if real is None else real.unsqueeze(1).to(features.dtype)
        # One buffer for all groups: (rows of a group, K). Fresh pages would cost a third of the product's
        # time.
        buffer = low.new_empty(min(group, len(targets)), words)
        for rows in _slices(len(targets), group):
            deltas = buffer[: rows.stop - rows.start]  # the logits without b, then their gradients
            torch.mm(low[rows], by_feature, out=deltas)
            for part in _slices(len(deltas), chunk):
                chosen = slice(rows.start + part.start, rows.start + part.stop)
                logits = deltas[part].to(features.dtype).add_(bias)  # float32: in place
                included = None if counted is None else counted[chosen]
                log_likelihood, uniform = _softmax(logits, targets[chosen].unsqueeze(1), included, smoothing)
                nll -= log_likelihood
                loss -= (1.0 - smoothing) * log_likelihood + smoothing * uniform
                if gradients is not None:
                    gradients[2].add_(logits.sum(0))
                    if logits.dtype != deltas.dtype:
                        deltas[part] = logits
            if gradients is not None:
                constant = None
                if smoothing:
                    constant = features.new_full((len(deltas), 1), smoothing / words)
                    constant = constant if counted is None else constant * counted[rows]
                _add_gradients(gradients, rows, deltas, low[rows], low_weight, constant)
        ctx.save_for_backward(*(gradients or ()))
        nll = nll.to(features.dtype)
        ctx.mark_non_differentiable(nll)
        return loss.to(features.dtype), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = tuple(gradient * scale for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None, None)


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _softmax(
    logits: Float[Tensor, "rows words"],
    target: Int64[Tensor, "rows 1"],
    counted: Float[Tensor, "rows 1"] | None,
    smoothing: float,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Returns Σ log p of the targets, and with smoothing Σ of log p's mean over all words. The logits become
    p − (1 − ε) at the target, in place.

    counted: 0 for a row that is left out of the sums and becomes 0, else 1; None if all are counted.
    """
    log_p = torch.log_softmax(logits, 1, out=logits)
    of_target = log_p.gather(1, target)
    mean = log_p.mean(1, keepdim=True) if smoothing else of_target
    gradient = log_p.exp_()
    gradient.scatter_add_(1, target, torch.full_like(of_target, smoothing - 1.0))
    if counted is not None:
        of_target, mean, _ = of_target * counted, mean * counted, gradient.mul_(counted)
    return of_target.sum(dtype=torch.float64), mean.sum(dtype=torch.float64)


def _add_gradients(
    gradients: tuple[Tensor, ...],
    rows: slice,
    deltas: Float[Tensor, "group words"],
    features: Float[Tensor, "group feature"],
    weight: Float[Tensor, "words feature"],
    constant: Float[Tensor, "group 1"] | None,
) -> None:
    """Adds a group of rows to the gradients of (features, W_o, b), b's sum over `deltas` excepted.

    deltas − constant is the gradient of the logits: a uniform part costs no pass over them.
    """
    of_features, of_weight, of_bias = gradients
    of_features[rows] = deltas @ weight
    if of_weight.dtype == deltas.dtype:
        torch.addmm(of_weight, deltas.t(), features, out=of_weight)
    else:
        of_weight += deltas.t() @ features
    if constant is not None:
        of_features[rows] -= constant * weight.sum(0, dtype=of_features.dtype)
        of_weight -= (constant * features).sum(0, dtype=of_weight.dtype)
        of_bias -= constant.sum()
