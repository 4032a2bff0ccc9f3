"""Word embeddings e(x) = E x + b."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from rnnsearch.model.initialise import gaussian, zeros


class WordEmbedding(nn.Module):
    """e(x) (A.1.1), with the bias that the released implementation has. K words, m = embedding_size; E is stored as (K, m)."""

    def __init__(self, words: int, embedding_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, embedding_size))
        self.bias = nn.Parameter(torch.empty(embedding_size))
        self.sparse_gradient = False
        """Whether E's gradient holds only the rows of the batch's words, for optimisers that know what to do with that."""
        gaussian(0.01)(self.weight)
        zeros(self.bias)

    def forward(self, ids: Int[Tensor, "batch positions"]) -> Float[Tensor, "batch positions embedding"]:
        return F.embedding(ids, self.weight, sparse=self.sparse_gradient) + self.bias
