"""The twins of functions of `model/readout.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from rnnsearch.model import readout as model
from rnnsearch.system.twins import as_written

ROWS_AT_ONCE = 128
"""Hypotheses whose logits a CPU holds at once: with some ten thousand words they stay in its cache."""


def log_probabilities(
    output: Callable[[Tensor], Tensor], readout: Float[Tensor, "*rest readout"]
) -> Float[Tensor, "*rest words"]:
    """Does as its plain twin `model.readout:log_probabilities`: on a CPU without a tensor of all logits
    beside the result."""
    rows = readout.flatten(0, -2)
    if len(rows) <= ROWS_AT_ONCE or rows.device.type != "cpu" or torch.is_grad_enabled():
        return as_written(model.log_probabilities)(output, readout)
    first, *others = rows.split(ROWS_AT_ONCE)
    logits = output(first)
    found = logits.new_empty(len(rows), logits.shape[-1])
    torch.log_softmax(logits, -1, out=found[:ROWS_AT_ONCE])
    for part, place in zip(others, found[ROWS_AT_ONCE:].split(ROWS_AT_ONCE), strict=True):
        torch.log_softmax(output(part), -1, out=place)
    return found.view(*readout.shape[:-1], -1)


def rows_of(
    matrix: Float[Tensor, "rows ..."], chosen: Int[Tensor, " chosen"], sparse: bool
) -> Float[Tensor, "chosen ..."]:
    """Does as its plain twin `model.readout:rows_of`: a sparse gradient holds these rows, another one zeros
    in all others."""
    if sparse:
        rows: Tensor = _SparseRows.apply(matrix, chosen)  # type: ignore[no-untyped-call]
        return rows
    return matrix.index_select(0, chosen)


class _SparseRows(torch.autograd.Function):
    """Unlike `F.embedding(sparse=True)` it takes a vector too: a bias has rows of one number."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, chosen: Tensor) -> Tensor:
        ctx.shape = matrix.shape
        ctx.save_for_backward(chosen)
        return matrix.index_select(0, chosen)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (chosen,) = ctx.saved_tensors
        return torch.sparse_coo_tensor(chosen.unsqueeze(0), gradient, ctx.shape, check_invariants=False), None
