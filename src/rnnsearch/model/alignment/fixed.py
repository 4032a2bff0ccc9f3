"""No alignment at all: RNNencdec."""

from __future__ import annotations

import torch
from torch import Tensor

from rnnsearch.model.alignment.base import Alignment, Energies, Keys, Memory, State


class FixedAlignment(Alignment):
    """All weight on the last annotation. With the forward encoder c_i = →h_Tx for every i, which makes the network RNNencdec (A.2.2)."""

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        positions = torch.arange(keys.shape[1], device=keys.device)
        last = positions == (lengths - 1).unsqueeze(1)  # (batch, source)
        return torch.zeros(last.shape, dtype=keys.dtype, device=keys.device).masked_fill(~last, -torch.inf).unsqueeze(1)

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        assert memory is not None
        return memory, memory
