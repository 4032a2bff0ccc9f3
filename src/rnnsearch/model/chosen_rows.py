"""Some rows of a matrix, whose gradient may hold these rows alone."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable


def chosen_rows(matrix: Float[Tensor, "rows ..."], chosen: Int[Tensor, " chosen"], *, sparse: bool = False) -> Float[Tensor, "chosen ..."]:
    """matrix[chosen]. chosen: different rows. sparse: the matrix's gradient holds these rows; else it has zeros in all others."""
    if sparse:
        rows: Tensor = _ChosenRows.apply(matrix, chosen)  # type: ignore[no-untyped-call]
        return rows
    return matrix.index_select(0, chosen)


class _ChosenRows(torch.autograd.Function):
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
