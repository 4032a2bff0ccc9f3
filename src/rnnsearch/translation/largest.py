"""The largest scores of each row, equal ones in the order of their indices."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor

BLOCK = 256
"""Scores of which only the highest is compared at first."""


def largest(scores: Float[Tensor, "batch candidates"], count: int) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """The `count` largest of each row (fewer if there are no more) and their indices, equal ones in the order of their indices.

    torch.topk leaves open which of several equal scores it returns; one more than asked for shows whether that matters. On a GPU to ask
    is to wait, and `largest_at_once` is used.
    """
    if scores.device.type != "cpu":
        return largest_at_once(scores, count)
    count = min(count, scores.shape[1])
    values, indices = highest(scores, min(count + 1, scores.shape[1]))
    cut = values[:, count - 1 : count]
    tied = ((values[:, count:] == cut) & (cut > -math.inf)).any(dim=1)
    for row in tied.nonzero().flatten().tolist():
        enough = (~(scores[row] < cut[row])).nonzero().flatten()  # in the order of their indices; NaN too, which topk puts first
        indices[row, :count] = enough[scores[row, enough].sort(descending=True, stable=True).indices[:count]]
    indices = indices[:, :count].sort(dim=1).values
    values, order = scores.gather(1, indices).sort(dim=1, descending=True, stable=True)
    return values, indices.gather(1, order)


def largest_at_once(scores: Float[Tensor, "batch candidates"], count: int) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """As `largest`, without a look at whether equal scores matter: those with the lowest indices are taken in any case."""
    count = min(count, scores.shape[1])
    values, indices = highest(scores, count)
    cut = values[:, -1:]
    numbers = torch.arange(scores.shape[1], 0, -1, dtype=torch.int32, device=scores.device)  # the lowest index has the highest number
    rank = torch.where(scores <= cut, numbers, numbers + scores.shape[1]).masked_fill_(scores < cut, 0)
    indices = torch.where(cut.isnan(), indices, highest(rank, count)[1]).sort(dim=1).values
    values, order = scores.gather(1, indices).sort(dim=1, descending=True, stable=True)
    return values, indices.gather(1, order)


def highest(scores: Real[Tensor, "batch candidates"], count: int) -> tuple[Real[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """torch.topk of each row: the highest lie in the blocks with the highest maxima, which a fast pass finds."""
    blocks = scores.shape[1] // BLOCK
    if blocks <= count:
        return scores.topk(count, dim=1)
    whole = scores[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK))  # (batch, blocks, BLOCK)
    chosen = whole.amax(2).topk(count, dim=1).indices.unsqueeze(2)  # (batch, best, 1)
    numbers = (chosen * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    left = torch.arange(blocks * BLOCK, scores.shape[1], device=scores.device).expand(len(scores), -1)
    numbers = torch.cat((numbers, left), 1)  # (batch, the chosen blocks' and what is no whole block)
    values, places = scores.gather(1, numbers).topk(count, dim=1)
    return values, numbers.gather(1, places)
