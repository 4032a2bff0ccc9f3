"""The recurrent alignment score: for every source position, a gated unit runs over the target words
(the proposal, part 2)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.model.alignment.base import Alignment, Energies, Keys, Memory, Query
from rnnsearch.model.layers import Linear, orthogonal, tanh, zeros

Sums = Float[Tensor, "batch hypotheses source sums"]
States = Float[Tensor, "batch hypotheses source size"]


class GatedPositions(nn.Module):
    """The gated unit (A.1.1) with one state per source position, for scorers with a memory.

    v_ij = (1 − z_ij)∘v_{i−1,j} + z_ij∘v̄_ij for every source position j; all positions share the
    matrices.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.U = Linear(size, size, init=orthogonal)
        self.U_zr = Linear(size, 2 * size, init=orthogonal)

    def forward(self, sums: Sums, states: States) -> States:
        """Computes (1 − z)∘v + z∘v̄ with v̄ = tanh(sum + U(r∘v)), z = σ(sum_z + U_z v), r = σ(sum_r
        + U_r v).

        sums: [sum; sum_z; sum_r], the pre-activations without the U terms.
        """
        inner, gates = sums.split((self.size, 2 * self.size), -1)
        z, r = torch.sigmoid(gates + self.U_zr(states)).chunk(2, -1)
        return torch.lerp(states, tanh(inner + self.U(r * states)), z)


class _RecurrentScore(Alignment):
    """v_ij of size d; memory: v_i, (batch, hypotheses, source, d).

    v̄_ij = tanh(W s_{i−1} + U(r_ij∘v_{i−1,j}) + Q h_j), z_ij = σ(W_z s_{i−1} + U_z v_{i−1,j} + Q_z
    h_j), r_ij = σ(W_r s_{i−1} + U_r v_{i−1,j} + Q_r h_j), v_ij = (1 − z_ij)∘v_{i−1,j} + z_ij∘v̄_ij,
    v_0j = 0. W is stored as [W; W_z; W_r], Q as [Q; Q_z; Q_r].
    """

    def __init__(self, state_size: int, annotation_size: int, size: int) -> None:
        super().__init__(state_size, annotation_size, size)
        self.W = Linear(state_size, 3 * size)
        self.Q = Linear(annotation_size, 3 * size)
        self.unit = GatedPositions(size)

    def keys(self, annotations: Tensor) -> Keys:
        """Returns [Q h_j; Q_z h_j; Q_r h_j]."""
        return self.Q(annotations)  # type: ignore[no-any-return]

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        """Returns v_0j = 0."""
        return keys.new_zeros(keys.shape[0], 1, keys.shape[1], self.unit.size)

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        """Returns e_ij, and v_ij."""
        v = self.unit(
            self.W(state).unsqueeze(2) + keys.unsqueeze(1), memory
        )  # (batch, hypotheses, source, d)
        return self.score(v), v

    def score(self, v: Tensor) -> Energies:
        """Maps (batch, hypotheses, source, d) to e_ij."""
        raise NotImplementedError


class RecurrentAlignment(_RecurrentScore):
    """e_ij = v_aᵀ tanh(v_ij) with d = alignment_size: as the additive score, but tanh reads the
    position's memory."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.v_a = Linear(alignment_size, 1, init=zeros)

    def score(self, v: Tensor) -> Energies:
        """Returns v_aᵀ tanh(v_ij)."""
        return self.v_a(tanh(v)).squeeze(-1)  # type: ignore[no-any-return]


class ScalarRecurrentAlignment(_RecurrentScore):
    """e_ij = tanh(v_ij) with d = 1, as in the proposal, part 2; alignment_size is not used.

    |v_ij| < 1, so |e_ij| < tanh 1 = 0.76: among J positions none has a weight above c / (c + J −
    1), c = exp(2 tanh 1) = 4.59.
    """

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, 1)

    def score(self, v: Tensor) -> Energies:
        """Returns tanh(v_ij)."""
        return tanh(v).squeeze(-1)
