"""Pairs to padded batches of tensors; `order` says which pairs make a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.text.corpus import Pairs
from rnnsearch.text.order import BatchOrder, Indices, Position
from rnnsearch.text.vocabulary import EOS

__all__ = ["Batch", "BatchOrder", "Indices", "Position", "collate", "pad"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs of one update. Lengths count the end of sentence; what lies beyond them is padding, whatever its id."""

    source: Int64[Tensor, "batch source"]
    source_lengths: Int64[Tensor, " batch"]
    target: Int64[Tensor, "batch target"]
    target_lengths: Int64[Tensor, " batch"]

    def to(self, device: torch.device | str) -> Batch:
        return Batch(*(part.to(device) for part in (self.source, self.source_lengths, self.target, self.target_lengths)))


def pad(
    sentences: Sequence[Sequence[int] | NDArray[np.unsignedinteger]],
) -> tuple[Int64[Tensor, "batch position"], Int64[Tensor, " batch"]]:
    """Sentences of ids, each with its end of sentence → (ids, lengths); filled up on the right with id 0."""
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
    ids = np.full((len(sentences), int(lengths.max())), EOS, dtype=np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.from_numpy(ids), lengths


def collate(pairs: Pairs, indices: Sequence[int] | Indices) -> Batch:
    """The batch of these pairs, in this order."""
    return Batch(*pad([pairs.source(int(i)) for i in indices]), *pad([pairs.target(int(i)) for i in indices]))
