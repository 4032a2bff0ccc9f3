"""Scores with coverage, the attention that each position has received so far (Tu et al. 2016,
"Modeling Coverage for Neural Machine Translation")."""

from __future__ import annotations

import torch
from torch import Tensor

from rnnsearch.model.alignment.base import Alignment, Alpha, Energies, Keys, Memory, Query
from rnnsearch.model.alignment.recurrent import GatedPositions
from rnnsearch.model.layers import Linear, gaussian, tanh, zeros


class _CoverageScore(Alignment):
    """e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j + V_a C_{i−1,j}), C_0j = 0.

    Memory: [C_ij; d_j], (batch, hypotheses, source, …), where d_j is the part of C's update that
    does not depend on i. Keys: [U_a h_j; d_j].
    """

    size: int
    """Size of C_ij."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.alignment_size = alignment_size
        self.W_a = Linear(state_size, alignment_size, init=gaussian(0.001))
        self.U_a = Linear(annotation_size, alignment_size, init=gaussian(0.001))
        self.V_a = Linear(self.size, alignment_size)
        self.v_a = Linear(alignment_size, 1, init=zeros)

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        """Returns [C_0j = 0; d_j]."""
        constant = keys[..., self.alignment_size :]
        return torch.cat((keys.new_zeros(*keys.shape[:2], self.size), constant), -1).unsqueeze(1)

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        """Returns e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j + V_a C_{i−1,j})."""
        assert memory is not None
        of_words = self.W_a(state).unsqueeze(2) + keys[..., : self.alignment_size].unsqueeze(1)
        # (batch, hypotheses, source, n')
        hidden = tanh(of_words + self.V_a(memory[..., : self.size]))
        return self.v_a(hidden).squeeze(-1), memory


class LinguisticCoverageAlignment(_CoverageScore):
    """C_ij = C_{i−1,j} + α_ij / Φ_j with the fertility Φ_j = N σ(U_f h_j), N = 2: the expected
    number of target words for h_j."""

    size = 1
    largest_fertility = 2.0
    """N."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.U_f = Linear(annotation_size, 1)

    def keys(self, annotations: Tensor) -> Keys:
        """Returns [U_a h_j; 1/Φ_j]."""
        fertility = self.largest_fertility * torch.sigmoid(self.U_f(annotations))
        return torch.cat((self.U_a(annotations), fertility.reciprocal()), -1)

    def attended(
        self, state: Query, keys: Keys, memory: Memory | None, weights: Alpha
    ) -> Memory | None:
        """Returns [C_ij; 1/Φ_j]."""
        assert memory is not None
        coverage, share = memory.split(1, -1)
        return torch.cat((coverage + weights.unsqueeze(-1) * share, share), -1)


class NeuralCoverageAlignment(_CoverageScore):
    """C_ij = f(C_{i−1,j}, α_ij, h_j, s_{i−1}), where f is the gated unit of size 10.

    C̃_ij = tanh(A α_ij + Q h_j + W s_{i−1} + U(r_ij∘C_{i−1,j})), z and r likewise with their own
    matrices; A is stored as [A; A_z; A_r], and Q and W likewise.
    """

    size = 10

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.A = Linear(1, 3 * self.size)
        self.Q = Linear(annotation_size, 3 * self.size)
        self.W = Linear(state_size, 3 * self.size)
        self.unit = GatedPositions(self.size)

    def keys(self, annotations: Tensor) -> Keys:
        """Returns [U_a h_j; Q h_j]."""
        return torch.cat((self.U_a(annotations), self.Q(annotations)), -1)

    def attended(
        self, state: Query, keys: Keys, memory: Memory | None, weights: Alpha
    ) -> Memory | None:
        """Returns [C_ij; Q h_j]."""
        assert memory is not None
        coverage, projected = memory.split((self.size, 3 * self.size), -1)
        sums = projected + self.W(state).unsqueeze(2) + self.A(weights.unsqueeze(-1))
        return torch.cat((self.unit(sums, coverage), projected), -1)
