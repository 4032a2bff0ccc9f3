"""The encoder: embedded source words → annotations h_1 … h_Tx (Sec. 3.2; A.2.1). Padding never
changes a state."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from rnnsearch.model.cells import Cell
from rnnsearch.model.layers import recurrent_dropout

Embedded = Float[Tensor, "batch source embedding"]
SourceMask = Bool[Tensor, "batch source"]


class Encoded(NamedTuple):
    """The encoder's output. annotations: h_j, one per source position, the end of sentence
    included. summary: the vector from which s_0 is computed."""

    annotations: Float[Tensor, "batch source annotation"]
    summary: Float[Tensor, "batch summary"]


class Encoder(nn.Module):
    """The interface of an encoder: (embedded, mask) → Encoded. annotation_size, summary_size: of
    one h_j and of the summary; the constructor sets them."""

    annotation_size: int
    summary_size: int

    def __init__(self, embedding_size: int, encoder_size: int, cell: type[Cell]) -> None:
        super().__init__()

    def forward(self, embedded: Embedded, mask: SourceMask, dropout: float = 0.0) -> Encoded:
        """Encodes the words. mask: True on real positions. dropout: probability for recurrent
        states, with one mask per sentence."""
        raise NotImplementedError


class BidirectionalEncoder(Encoder):
    """h_j = [→h_j; ←h_j] (Eq. 7). The two directions share only the embeddings. The summary is
    ←h_1."""

    def __init__(self, embedding_size: int, encoder_size: int, cell: type[Cell]) -> None:
        super().__init__(embedding_size, encoder_size, cell)
        self.forwards = cell(embedding_size, encoder_size)
        self.backwards = cell(embedding_size, encoder_size)
        self.annotation_size, self.summary_size = 2 * encoder_size, encoder_size

    def forward(self, embedded: Embedded, mask: SourceMask, dropout: float = 0.0) -> Encoded:
        """Computes h_j = [→h_j; ←h_j], and the summary ←h_1."""
        forwards = run_cell(self.forwards, embedded, mask, dropout)
        backwards = run_cell(self.backwards, embedded, mask, dropout, reverse=True)
        return Encoded(torch.cat((forwards, backwards), -1), backwards[:, 0])


class ForwardEncoder(Encoder):
    """h_j = →h_j: the encoder of RNNencdec. The summary is →h_Tx, as are all contexts of the
    alignment `fixed`."""

    def __init__(self, embedding_size: int, encoder_size: int, cell: type[Cell]) -> None:
        super().__init__(embedding_size, encoder_size, cell)
        self.forwards = cell(embedding_size, encoder_size)
        self.annotation_size = self.summary_size = encoder_size

    def forward(self, embedded: Embedded, mask: SourceMask, dropout: float = 0.0) -> Encoded:
        """Computes h_j = →h_j, and the summary →h_Tx."""
        forwards = run_cell(self.forwards, embedded, mask, dropout)
        return Encoded(forwards, forwards[:, -1])  # padding repeats the last real state


class EmbeddingEncoder(Encoder):
    """h_j = E x_j, without hidden units (the proposal, part 4). The summary is the mean of the real
    annotations."""

    def __init__(self, embedding_size: int, encoder_size: int, cell: type[Cell]) -> None:
        super().__init__(embedding_size, encoder_size, cell)
        self.annotation_size = self.summary_size = embedding_size

    def forward(self, embedded: Embedded, mask: SourceMask, dropout: float = 0.0) -> Encoded:
        """Computes h_j = E x_j, and their mean."""
        real = mask.unsqueeze(-1).to(embedded.dtype)
        return Encoded(embedded, (embedded * real).sum(1) / real.sum(1))


class PositionedEmbeddingEncoder(EmbeddingEncoder):
    """h_j = E x_j + λ p_j with the sinusoids p_j of Vaswani et al. 2017; λ is learned, and
    initialised with an embedding's standard deviation."""

    def __init__(self, embedding_size: int, encoder_size: int, cell: type[Cell]) -> None:
        super().__init__(embedding_size, encoder_size, cell)
        self.scale = nn.Parameter(torch.tensor([0.01]))

    def forward(self, embedded: Embedded, mask: SourceMask, dropout: float = 0.0) -> Encoded:
        """Computes h_j = E x_j + λ p_j, and their mean."""
        return super().forward(embedded + self.scale * sinusoids(embedded), mask, dropout)


def sinusoids(like: Embedded) -> Float[Tensor, "source embedding"]:
    """Returns p_j = [sin(j ω); cos(j ω)] for geometrically spaced frequencies ω."""
    positions, size = like.shape[1], like.shape[2]
    half = (size + 1) // 2
    numbers = torch.arange(max(positions, half), device=like.device, dtype=like.dtype)
    frequencies = torch.exp(numbers[:half] * (-math.log(10_000.0) / half))
    angles = numbers[:positions, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), -1)[:, :size]


def run_cell(
    cell: Cell, embedded: Embedded, mask: SourceMask, dropout: float = 0.0, reverse: bool = False
) -> Float[Tensor, "batch source hidden"]:
    """Computes →h_j = f(E x_j, →h_{j−1}) with →h_0 = 0 (A.2.1), or in reverse ←h_j = f(E x_j,
    ←h_{j+1}). Padding leaves the state unchanged."""
    words = cell.project(embedded).unbind(1)
    batch, positions, _ = embedded.shape
    state = embedded.new_zeros(batch, cell.state_size)
    keep = recurrent_dropout(state[:, : cell.hidden_size], dropout)
    hidden = [state] * positions
    for j in reversed(range(positions)) if reverse else range(positions):
        state = torch.where(mask[:, j, None], cell(words[j], state, None, keep), state)
        hidden[j] = cell.hidden(state)
    return torch.stack(hidden, 1)


ENCODERS: dict[str, type[Encoder]] = {
    "bidirectional": BidirectionalEncoder,
    "forward": ForwardEncoder,
    "embedding": EmbeddingEncoder,
    "embedding-position": PositionedEmbeddingEncoder,
}
