"""A batch of sentence pairs as padded tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs of one update. Lengths count the end of sentence; positions beyond are
    padding, whatever their ids."""

    source: Int64[Tensor, "batch source"]
    source_lengths: Int64[Tensor, " batch"]
    target: Int64[Tensor, "batch target"]
    target_lengths: Int64[Tensor, " batch"]
    known_alignment: Float[Tensor, "batch target source"] | None = None
    """Word links as weights: a row with k links has 1/k at each; a row without links is 0."""

    def parts(self) -> dict[str, Tensor]:
        """Returns the tensors that are not None, by the constructor's names."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: part for name, part in parts.items() if part is not None}

    def to(self, device: torch.device | str) -> Batch:
        """Copies the batch. For a GPU, it is copied from pinned memory: other copies would make the
        host wait for the GPU's earlier work."""
        cuda, parts = torch.device(device).type == "cuda", self.parts().items()
        pinned = {
            name: part.pin_memory() if cuda and not part.is_cuda else part for name, part in parts
        }
        return Batch(**{name: part.to(device, non_blocking=cuda) for name, part in pinned.items()})

    def share(self, rank: int, world: int) -> Batch:
        """Returns the pairs of process `rank` of `world`: every world-th, so that all shares are
        about equally long."""
        return Batch(**{name: part[rank::world] for name, part in self.parts().items()})


def pad(
    sentences: Sequence[Sequence[int] | UInt[np.ndarray, " _"]],
) -> tuple[Int64[Tensor, "batch position"], Int64[Tensor, " batch"]]:
    """Pads sentences of ids, which include the end of sentence, on the right with id 0. Returns
    (ids, lengths)."""
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
    ids = np.zeros((len(sentences), int(lengths.max())), dtype=np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.from_numpy(ids), lengths
