"""Negative log-likelihood of target words, with the output layer, softmax and gradient formed a few rows at a time.

Half of the arithmetic is here, and all logits of a batch at once would be gigabytes (80 × 50 positions × 30,000 words). Only a chunk of
them exists at any time, small enough for the CPU's cache; their gradients are kept for a group of chunks, large enough for one
product with W_o's size. On a GPU a chunk is a whole group: it has no such cache, and every chunk costs a dozen launches.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK_ELEMENTS = 2_000_000
"""Logits that a CPU holds at once."""
GROUP_ELEMENTS = 32_000_000
"""Gradients of logits held at once."""


def negative_log_likelihood(
    features: Float[Tensor, "rows feature"],
    weight: Float[Tensor, "words feature"],
    bias: Float[Tensor, " words"],
    targets: Int64[Tensor, " rows"],
    smoothing: float = 0.0,
    dtype: torch.dtype = torch.float32,
    real: Bool[Tensor, " rows"] | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Sums of −log p(y_i) over rows, p = softmax(W_o t + b) (A.2.2), without holding all logits.

    rows: target positions, of all sentences together. features: what W_o multiplies. weight, bias: W_o and b. targets: ids.
    smoothing: ε of label smoothing, the reference distribution being (1 − ε) on the target and ε/K on every word.
    dtype: of the three products of a float32 layer.
    real: False for padding, which is not counted and gets no gradient; None where all rows are real.
    Returns (the loss to differentiate, the plain NLL in nats); equal without smoothing.
    """
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
        words = weight.shape[0]
        chunk = max(1, (CHUNK_ELEMENTS if weight.device.type == "cpu" else GROUP_ELEMENTS) // words)
        group = chunk * max(1, GROUP_ELEMENTS // (chunk * words))
        low = features.to(dtype), weight.to(dtype), bias.to(dtype)
        gradients = tuple(torch.zeros_like(tensor) for tensor in (features, weight, bias)) if any(ctx.needs_input_grad[:3]) else None
        loss, nll = features.new_zeros((), dtype=torch.float64), features.new_zeros((), dtype=torch.float64)
        counted = features.new_ones(()).expand(len(targets), 1) if real is None else real.unsqueeze(1).to(features.dtype)
        for begin in range(0, len(targets), group):
            rows = slice(begin, begin + group)
            low_rows, target_rows, counted_rows = low[0][rows], targets[rows].unsqueeze(1), counted[rows]
            deltas = low_rows.new_empty(len(low_rows), words) if gradients is not None else None
            for start in range(0, len(low_rows), chunk):
                part = slice(start, start + chunk)
                logits = F.linear(low_rows[part], *low[1:]).to(features.dtype)  # (rows of the chunk, K)
                log_likelihood, uniform = _softmax(logits, target_rows[part], counted_rows[part], smoothing)
                nll -= log_likelihood
                loss -= (1.0 - smoothing) * log_likelihood + smoothing * uniform
                if gradients is not None and deltas is not None:
                    logits.scatter_add_(1, target_rows[part], counted_rows[part] * (smoothing - 1.0))
                    gradients[2].add_(logits.sum(0))
                    deltas[part] = logits
            if gradients is not None and deltas is not None:
                _add_gradients(gradients, rows, deltas, low_rows, low[1], counted_rows * (smoothing / words) if smoothing else None)
        ctx.save_for_backward(*(gradients or ()))
        nll = nll.to(features.dtype)
        ctx.mark_non_differentiable(nll)
        return loss.to(features.dtype), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = tuple(gradient * scale for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None, None)


def _softmax(
    logits: Float[Tensor, "rows words"], target: Int64[Tensor, "rows 1"], counted: Float[Tensor, "rows 1"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Σ log p of the targets, and with smoothing Σ of log p's mean over all words; the logits become p in place.

    counted: 0 for a row that is left out of the sums and becomes 0, else 1.
    """
    logits -= logits.amax(1, keepdim=True)
    of_target = logits.gather(1, target)
    mean = logits.mean(1, keepdim=True) if smoothing else of_target
    total = logits.exp_().sum(1, keepdim=True)
    logits *= counted / total
    log_total = total.log_()
    sums = (of_target - log_total) * counted, (mean - log_total) * counted
    return sums[0].sum(dtype=torch.float64), sums[1].sum(dtype=torch.float64)


def _add_gradients(
    gradients: tuple[Tensor, ...],
    rows: slice,
    deltas: Float[Tensor, "group words"],
    features: Float[Tensor, "group feature"],
    weight: Float[Tensor, "words feature"],
    constant: Float[Tensor, "group 1"] | None,
) -> None:
    """Adds what a group of rows gives to the gradients of (features, W_o, b), b's sum over `deltas` excepted.

    deltas − constant is the gradient of the logits: a uniform part costs no pass over them.
    """
    of_features, of_weight, of_bias = gradients
    of_features[rows] = deltas @ weight
    of_weight += deltas.t() @ features
    if constant is not None:
        of_features[rows] -= constant * weight.sum(0, dtype=of_features.dtype)
        of_weight -= (constant * features).sum(0, dtype=of_weight.dtype)
        of_bias -= constant.sum()
