"""A scorer such as a user may write: the additive one, which also sees how much every source position has
been scored before."""

from __future__ import annotations

import torch
from torch import Tensor

from rnnsearch.extending import Alignment, Linear


class CoverageAlignment(Alignment):
    """e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j + W_m m_{i−1,j}), m_ij = m_{i−1,j} + [σ(e_ij); tanh(e_ij)], m_0j
    = 0."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W_a = Linear(state_size, alignment_size)
        self.U_a = Linear(annotation_size, alignment_size)
        self.W_m = Linear(2, alignment_size, bias=True)
        self.v_a = Linear(alignment_size, 1)

    def keys(self, annotations: Tensor) -> Tensor:
        keys: Tensor = self.U_a(annotations)
        return keys

    def start(self, keys: Tensor, lengths: Tensor) -> Tensor:
        return keys.new_zeros(keys.shape[0], 1, keys.shape[1], 2)

    def energies(self, state: Tensor, keys: Tensor, memory: Tensor | None) -> tuple[Tensor, Tensor | None]:
        assert memory is not None
        hidden = torch.tanh(self.W_a(state).unsqueeze(2) + keys.unsqueeze(1) + self.W_m(memory))
        energies = self.v_a(hidden).squeeze(-1)
        return energies, memory + torch.stack((energies.sigmoid(), energies.tanh()), -1)
