"""The largest sums of each row, found by blocks; equal sums are in the order of their indices."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Float32, Int, Int64
from torch import Tensor

from rnnsearch.kernels.digest import plain_instead
from rnnsearch.search import beam

SUMS_EQUALS = ("search.beam:best_sums",)
SCORE_BLOCK = 256
"""Size of a block of scores, of which only the highest is compared at first."""


def fast_best_sums(
    before: Float[Tensor, "batch hypotheses"],
    after: Float[Tensor, "batch hypotheses words"],
    count: int,
) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """Computes the same as `search.beam:best_sums`, but without forming most of the sums.

    The largest sums of a row are in the `count` blocks with the highest maxima, or in no whole
    block. Of blocks with equal maxima, the first ones come first, as of equal sums.
    """
    hypotheses, words = after.shape[1:]
    blocks = words // SCORE_BLOCK
    if (
        hypotheses * blocks <= count
        or after.device.type != "cpu"
        or after.dtype != torch.float32
        or plain_instead(SUMS_EQUALS, "search sorts")
    ):
        return beam.best_sums(before, after, count)
    rows, starts = (
        torch.arange(len(after)).unsqueeze(1),
        torch.arange(hypotheses).unsqueeze(1) * words,
    )
    inside = after[:, :, : blocks * SCORE_BLOCK].unflatten(2, (blocks, SCORE_BLOCK))
    # Rounding is monotone: the sum of the maximum is the maximum of the sums.
    maxima = (before.unsqueeze(2) + inside.amax(3)).flatten(1)  # (batch, hypotheses × blocks)
    chosen = _order(maxima, torch.arange(hypotheses * blocks)).topk(count, sorted=False).indices
    slot, block = chosen // blocks, chosen % blocks  # (batch, count)
    # (batch, count, SCORE_BLOCK)
    sums = before.gather(1, slot).unsqueeze(2) + inside[rows, slot, block]
    first = (slot * words + block * SCORE_BLOCK).unsqueeze(2)
    left = before.unsqueeze(2) + after[:, :, blocks * SCORE_BLOCK :]
    left_at = (starts + torch.arange(blocks * SCORE_BLOCK, words)).flatten().expand(len(after), -1)
    values = torch.cat((sums.flatten(1), left.flatten(1)), 1)
    indices = torch.cat(((first + torch.arange(SCORE_BLOCK)).flatten(1), left_at), 1)
    places = _order(values, indices).topk(count).indices
    return values.gather(1, places), indices.gather(1, places)


def _order(
    values: Float32[Tensor, "batch some"], indices: Int64[Tensor, "*#batch some"]
) -> Int64[Tensor, "batch some"]:
    """Returns integers in the order of the values, and of equal values in the reverse order of
    their indices. NaN is above all, as in a sort.

    The bits of a float are its magnitude in order, after a sign.
    """
    # no −0
    bits = torch.nan_to_num(values, nan=math.inf, posinf=math.inf, neginf=-math.inf).add_(0.0)
    integers = bits.view(torch.int32)
    ascending = integers ^ ((integers >> 31) & 0x7FFFFFFF)
    return ascending.long().mul_(1 << 32).sub_(indices)
