"""Layers and elementwise functions, as in the equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from rnnsearch.model.initialise import Initialiser, gaussian, zeros
from rnnsearch.system.kernel_dispatch import plain


@runtime_checkable
class HasWeight(Protocol):
    """A module with a matrix (out, in) and perhaps a bias (out,)."""

    @property
    def weight(self) -> Tensor: ...

    @property
    def bias(self) -> Tensor | None: ...


@plain
def tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns tanh x."""
    return torch.tanh(x)


@plain
def where_real(
    real: Bool[Tensor, " batch"], new: Float[Tensor, "batch state"], old: Float[Tensor, "batch state"]
) -> Float[Tensor, "batch state"]:
    """Returns the new state for sentences with a word at this position, the old one for padding."""
    return torch.where(real.unsqueeze(-1), new, old)


@plain
def linear(module: HasWeight, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
    """Returns W x (+ b)."""
    return F.linear(x, module.weight, module.bias)


@plain
def linear_together(modules: Sequence[nn.Module], x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
    """Returns the outputs of several layers for one input, concatenated."""
    return torch.cat([module(x) for module in modules], -1)


class Linear(nn.Module):
    """y = W x (+ b) on the last dimension. init: initialises W, default N(0, 0.01²). b begins at 0."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    init: Initialiser

    def __init__(
        self, in_size: int, out_size: int, *, bias: bool = False, init: Initialiser | None = None
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_size, in_size))
        self.bias = nn.Parameter(torch.empty(out_size)) if bias else None
        self.init = init or gaussian(0.01)
        self.init(self.weight)
        if self.bias is not None:
            zeros(self.bias)

    def forward(self, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
        return linear(self, x)


class WordEmbedding(nn.Module):
    """e(x) (A.1.1), with the bias that the released implementation has. K words, m = embedding_size; E is
    stored as (K, m)."""

    def __init__(self, words: int, embedding_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, embedding_size))
        self.bias = nn.Parameter(torch.empty(embedding_size))
        self.sparse_gradient = False
        """Whether the gradient of E is sparse, with the rows of the batch's words, for optimisers that
        support this."""
        gaussian(0.01)(self.weight)
        zeros(self.bias)

    def forward(self, ids: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch positions embedding"]:
        return F.embedding(ids, self.weight, sparse=self.sparse_gradient) + self.bias
