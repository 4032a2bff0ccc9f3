"""The largest sums of each row, found by blocks; equal sums are in the order of their indices."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor

from rnnsearch.system.twins import as_written
from rnnsearch.translation import beam

BLOCK = 256
"""Size of a block of scores, of which only the highest is compared at first."""


def best_sums(
    before: Float[Tensor, "batch hypotheses"], after: Float[Tensor, "batch hypotheses words"], count: int
) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """Computes the same as its plain twin `translation.beam:best_sums`, but without forming most of the sums.

    torch.topk does not specify which of several equal scores it returns; one score more than needed shows
    whether that matters. On a GPU this check would wait for the device, so the plain twin is used.
    """
    if after.device.type != "cpu":
        return as_written(beam.best_sums)(before, after, count)
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
    before: Float[Tensor, "batch hypotheses"],
    after: Float[Tensor, "batch hypotheses words"],
    indices: Int[Tensor, "batch some"],
) -> Float[Tensor, "batch some"]:
    """Returns the sums at these indices of the flattened sums."""
    return before.gather(1, indices // after.shape[2]) + after.flatten(1).gather(1, indices)


def _highest_sums(
    before: Float[Tensor, "batch hypotheses"], after: Float[Tensor, "batch hypotheses words"], count: int
) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """Returns torch.topk of all sums of each row. They are in the blocks with the highest maxima."""
    hypotheses, words = after.shape[1:]
    blocks = words // BLOCK
    if hypotheses * blocks <= count:
        return (before.unsqueeze(2) + after).flatten(1).topk(count, dim=1)
    # Rounding is monotone: the sum of the maximum is the maximum of the sums.
    maxima = before.unsqueeze(2) + _blocks(after).amax(3)  # (batch, hypotheses, blocks)
    chosen = maxima.flatten(1).topk(count, dim=1).indices
    inside, left = _places(chosen, blocks, hypotheses, words)
    indices = torch.cat((inside.flatten(1), left.expand(len(after), -1)), 1)
    values, places = _sums(before, after, indices).topk(count, dim=1)
    return values, indices.gather(1, places)


def _at_least(
    before: Float[Tensor, " hypotheses"], after: Float[Tensor, "hypotheses words"], cut: Float[Tensor, 1]
) -> tuple[Int[Tensor, " enough"], Float[Tensor, " enough"]]:
    """Returns (indices, sums) of the sums that are not below the cut, in the order of their indices.

    NaN counts as above, as in topk. Most blocks are skipped: their maxima are below the cut.
    """
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
    """Splits the words into whole blocks; leaves out the rest."""
    blocks = after.shape[-1] // BLOCK
    whole: Tensor = after[..., : blocks * BLOCK].unflatten(-1, (blocks, BLOCK))
    return whole


def _places(
    chosen: Int[Tensor, "*rest chosen"], blocks: int, hypotheses: int, words: int
) -> tuple[Int[Tensor, "*rest chosen block"], Int[Tensor, " left"]]:
    """Returns the indices, among all sums of a row, of the sums in the chosen blocks and of those in no whole
    block."""
    inside = chosen // max(1, blocks) * words + chosen % max(1, blocks) * BLOCK
    left = torch.arange(hypotheses).unsqueeze(1) * words + torch.arange(blocks * BLOCK, words)
    return inside.unsqueeze(-1) + torch.arange(BLOCK), left.flatten()
