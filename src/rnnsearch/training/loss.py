"""Negative log-likelihood of target words, with the output layer, softmax and gradient formed a few rows at a time.

Half of the arithmetic is here, and all logits of a batch at once would be gigabytes (80 × 50 positions × 30,000 words); only one
chunk of them exists at any time, forward and backward.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK_ELEMENTS = 4_000_000
"""Logits held at once: few enough that the passes over them stay in the cache."""


def negative_log_likelihood(
    features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Sums of −log p(y_i) over rows, p = softmax(W_o t + b) (A.2.2), without holding all logits.

    features: (rows, d), what W_o multiplies, real positions only. weight: (K, d). bias: (K,). targets: (rows,) ids.
    smoothing: ε of label smoothing, the reference distribution being (1 − ε) on the target and ε/K on every word.
    dtype: of the three products of a float32 layer.
    Returns (the loss to differentiate, the plain NLL in nats), both 0-dim; equal without smoothing.
    """
    low = dtype if features.dtype == torch.float32 else features.dtype
    if not torch.is_grad_enabled():  # inside the function below it always is off
        features, weight, bias = features.detach(), weight.detach(), bias.detach()
    loss, nll = _OutputLoss.apply(features, weight, bias, targets, smoothing, low)  # type: ignore[no-untyped-call]
    return loss, nll


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        words = weight.shape[0]
        chunk = max(1, CHUNK_ELEMENTS // words)
        differentiate = any(ctx.needs_input_grad[:3])
        low_features, low_weight = features.to(dtype), weight.to(dtype)
        feature_gradient = torch.empty_like(features) if differentiate else None
        weight_gradient = torch.zeros_like(weight) if differentiate else None
        bias_gradient = torch.zeros_like(bias) if differentiate else None
        loss, nll = features.new_zeros((), dtype=torch.float64), features.new_zeros((), dtype=torch.float64)
        for begin in range(0, len(targets), chunk):
            rows = slice(begin, begin + chunk)
            target = targets[rows].unsqueeze(1)  # (rows, 1)
            logits = (low_features[rows] @ low_weight.t()).to(features.dtype).add_(bias)  # (rows, K)
            log_total = torch.logsumexp(logits, 1, keepdim=True)
            log_likelihood = logits.gather(1, target) - log_total
            nll -= log_likelihood.sum(dtype=torch.float64)
            loss -= (1.0 - smoothing) * log_likelihood.sum(dtype=torch.float64)
            if smoothing:
                loss -= smoothing * (logits.mean(1, keepdim=True) - log_total).sum(dtype=torch.float64)
            if feature_gradient is not None and weight_gradient is not None and bias_gradient is not None:
                delta = logits.sub_(log_total).exp_()  # softmax, then its difference from the reference distribution
                if smoothing:
                    delta -= smoothing / words
                delta.scatter_add_(1, target, torch.full_like(target, -(1.0 - smoothing), dtype=delta.dtype))
                bias_gradient += delta.sum(0)
                delta = delta.to(dtype)
                feature_gradient[rows] = delta @ low_weight
                weight_gradient += delta.t() @ low_features[rows]
        ctx.save_for_backward(feature_gradient, weight_gradient, bias_gradient)
        nll = nll.to(features.dtype)
        ctx.mark_non_differentiable(nll)
        return loss.to(features.dtype), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = tuple(gradient * scale for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None)
