"""Matrices whose gradient holds only the rows of a batch's words: rows are what the ranks send each other, and all update all rows."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rnnsearch.training.optimiser import coalesced
from rnnsearch.training.ranks import Ranks


def reduce_rows(parameters: Sequence[nn.Parameter], ranks: Ranks, wire: torch.dtype | None = None) -> None:
    """Gives every rank the sum of all ranks' gradients, the same bit for bit. Gradients must be sparse, or None where a rank has no pair.

    wire: the precision in which rows are sent.
    """
    own = [_rows(parameter, wire) for parameter in parameters]
    # A rank without a pair has no gradient, which is not the same as one without rows.
    counts = ranks.everyone([-1 if parameter.grad is None else len(rows) for parameter, (rows, _) in zip(parameters, own, strict=True)])
    for index, (parameter, (rows, values)) in enumerate(zip(parameters, own, strict=True)):
        lengths = [int(count[index]) for count in counts]
        every = {ranks.rank: (rows, values)}
        for rank, length in enumerate(lengths):
            if rank != ranks.rank:
                every[rank] = rows.new_empty(max(0, length)), values.new_empty(max(0, length), *values.shape[1:])
        for part in range(2):
            out = [(rank, every[ranks.rank][part]) for rank in ranks.others if lengths[ranks.rank] > 0]
            ranks.swap(out, [(rank, every[rank][part]) for rank in ranks.others if lengths[rank] > 0])
        if max(lengths) < 0:
            parameter.grad = None
            continue
        together = [torch.cat([every[rank][part] for rank in range(ranks.world)]) for part in range(2)]
        gradient = torch.sparse_coo_tensor(
            together[0].unsqueeze(0), together[1].to(parameter.dtype), parameter.shape, check_invariants=False
        )
        parameter.grad = gradient.coalesce()


def _rows(parameter: nn.Parameter, wire: torch.dtype | None) -> tuple[Tensor, Tensor]:
    if parameter.grad is None:
        return torch.empty(0, dtype=torch.int64), torch.empty(0, *parameter.shape[1:], dtype=wire or parameter.dtype)
    gradient = coalesced(parameter.grad)
    return gradient.indices()[0].contiguous(), gradient.values().to(wire or parameter.dtype)
