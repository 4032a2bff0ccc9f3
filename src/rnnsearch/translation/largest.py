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
    return largest_sums(scores.new_zeros(len(scores), 1), scores.unsqueeze(1), count)


def largest_sums(
    before: Float[Tensor, "batch hypotheses"], after: Float[Tensor, "batch hypotheses words"], count: int
) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """`largest` of the sums before + after, hypothesis by hypothesis, on a CPU: most of the sums need not be formed."""
    count = min(count, after[0].numel())
    values, indices = _highest_sums(before, after, min(count + 1, after[0].numel()))
    cut = values[:, count - 1 : count]
    tied = ((values[:, count:] == cut) & (cut > -math.inf)).any(dim=1)
    for row in tied.nonzero().flatten().tolist():
        enough, sums = _at_least(before[row], after[row], cut[row])
        indices[row, :count] = enough[sums.sort(descending=True, stable=True).indices[:count]]
    indices = indices[:, :count].sort(dim=1).values
    values, order = _sums(before, after, indices).sort(dim=1, descending=True, stable=True)
    return values, indices.gather(1, order)


def _sums(
    before: Float[Tensor, "batch hypotheses"], after: Float[Tensor, "batch hypotheses words"], indices: Int[Tensor, "batch some"]
) -> Float[Tensor, "batch some"]:
    """Those at these places among all sums of the row."""
    return before.gather(1, indices // after.shape[2]) + after.flatten(1).gather(1, indices)


def _highest_sums(
    before: Float[Tensor, "batch hypotheses"], after: Float[Tensor, "batch hypotheses words"], count: int
) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """torch.topk of all sums of each row: the highest lie in the blocks with the highest maxima, which a fast pass finds."""
    hypotheses, words = after.shape[1:]
    blocks = words // BLOCK
    if hypotheses * blocks <= count:
        return (before.unsqueeze(2) + after).flatten(1).topk(count, dim=1)
    # Rounding keeps the order: the maximum's sum is the maximum of the sums.
    maxima = before.unsqueeze(2) + _blocks(after).amax(3)  # (batch, hypotheses, blocks)
    chosen = maxima.flatten(1).topk(count, dim=1).indices
    inside, left = _places(chosen, blocks, hypotheses, words)
    indices = torch.cat((inside.flatten(1), left.expand(len(after), -1)), 1)
    values, places = _sums(before, after, indices).topk(count, dim=1)
    return values, indices.gather(1, places)


def _at_least(
    before: Float[Tensor, " hypotheses"], after: Float[Tensor, "hypotheses words"], cut: Float[Tensor, 1]
) -> tuple[Int[Tensor, " enough"], Float[Tensor, " enough"]]:
    """Which sums are not below the cut, in the order of their places; NaN too, which topk puts first. Most blocks are below it whole."""
    hypotheses, words = after.shape
    blocks = words // BLOCK
    maxima = before.unsqueeze(1) + _blocks(after).amax(2)  # (hypotheses, blocks)
    near = (~(maxima < cut)).flatten().nonzero().flatten()
    inside, left = _places(near, blocks, hypotheses, words)
    indices = torch.cat((inside.flatten(), left)).sort().values
    sums = _sums(before.unsqueeze(0), after.unsqueeze(0), indices.unsqueeze(0)).squeeze(0)
    enough = ~(sums < cut)
    return indices[enough], sums[enough]


def _blocks(after: Real[Tensor, "*rest words"]) -> Real[Tensor, "*rest blocks block"]:
    """What there is of whole blocks."""
    blocks = after.shape[-1] // BLOCK
    whole: Tensor = after[..., : blocks * BLOCK].unflatten(-1, (blocks, BLOCK))
    return whole


def _places(
    chosen: Int[Tensor, "*rest chosen"], blocks: int, hypotheses: int, words: int
) -> tuple[Int[Tensor, "*rest chosen block"], Int[Tensor, " left"]]:
    """Where the sums of the chosen blocks stand among all of a row, and those of the words that are in no whole block."""
    inside = chosen // max(1, blocks) * words + chosen % max(1, blocks) * BLOCK
    left = torch.arange(hypotheses).unsqueeze(1) * words + torch.arange(blocks * BLOCK, words)
    return inside.unsqueeze(-1) + torch.arange(BLOCK), left.flatten()


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
    """torch.topk of each row, by blocks as in `_highest_sums`."""
    blocks = scores.shape[1] // BLOCK
    if blocks <= count:
        return scores.topk(count, dim=1)
    chosen = _blocks(scores).amax(2).topk(count, dim=1).indices.unsqueeze(2)  # (batch, best, 1)
    numbers = (chosen * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    left = torch.arange(blocks * BLOCK, scores.shape[1], device=scores.device).expand(len(scores), -1)
    numbers = torch.cat((numbers, left), 1)  # (batch, the chosen blocks' and what is no whole block)
    values, places = scores.gather(1, numbers).topk(count, dim=1)
    return values, numbers.gather(1, places)
