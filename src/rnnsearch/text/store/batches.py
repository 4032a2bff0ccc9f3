"""Makes padded batches of tensors from pairs; `order` decides which pairs form a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64, UInt
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.text.store.corpus import Pairs
from rnnsearch.text.store.order import Indices
from rnnsearch.text.vocabulary import EOS


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs of one update. Lengths count the end of sentence; positions beyond are padding, whatever
    their ids."""

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
        """Copies the batch. For a GPU, it is copied from pinned memory: other copies would make the host wait
        for the GPU's earlier work."""
        if torch.device(device).type != "cuda":
            return Batch(**{name: part.to(device) for name, part in self.parts().items()})
        pinned = {name: part if part.is_cuda else part.pin_memory() for name, part in self.parts().items()}
        return Batch(**{name: part.to(device, non_blocking=True) for name, part in pinned.items()})

    def share(self, rank: int, world: int) -> Batch:
        """Returns the pairs of process `rank` of `world`: every world-th, so that all shares are about
        equally long."""
        return Batch(**{name: part[rank::world] for name, part in self.parts().items()})


def pad(
    sentences: Sequence[Sequence[int] | UInt[NDArray[np.unsignedinteger], " _"]],
) -> tuple[Int64[Tensor, "batch position"], Int64[Tensor, " batch"]]:
    """Pads sentences of ids, which include the end of sentence, on the right with id 0. Returns (ids,
    lengths)."""
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
    ids = np.full((len(sentences), int(lengths.max())), EOS, dtype=np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.from_numpy(ids), lengths


def collate(pairs: Pairs, indices: Sequence[int] | Indices, *, linked: bool = False) -> Batch:
    """Returns the batch of these pairs, in this order. linked: with their known alignment; raises InputError
    if the pairs have no links."""
    source, source_lengths = pad([pairs.source(int(i)) for i in indices])
    target, target_lengths = pad([pairs.target(int(i)) for i in indices])
    known = None
    if linked:
        known = known_alignment([pairs.links(int(i)) for i in indices], source_lengths, target_lengths)
    return Batch(source, source_lengths, target, target_lengths, known)


def known_alignment(
    links: Sequence[UInt[NDArray[np.unsignedinteger], "_ 2"]],
    source_lengths: Int64[Tensor, " batch"],
    target_lengths: Int64[Tensor, " batch"],
) -> Float32[Tensor, "batch target source"]:
    """Converts links (source, target) to rows of weights: the links of a target position have equal weights
    with sum 1.

    A position without links has a row of zeros: its alignment is unknown. The ends of sentence are linked to
    each other, except in a pair without any links, whose alignment is unknown.
    """
    weights = np.zeros((len(links), int(target_lengths.max()), int(source_lengths.max())), dtype=np.float32)
    ends = zip(source_lengths.tolist(), target_lengths.tolist(), strict=True)
    for rows, pair, (source, target) in zip(weights, links, ends, strict=True):
        rows[pair[:, 1], pair[:, 0]] = 1.0
        if len(pair):
            rows[target - 1, source - 1] = 1.0
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1.0)
    return torch.from_numpy(weights)
