"""The paper's alignment model (A.1.2)."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from rnnsearch.model.alignment.base import Alignment, Energies, Keys, Memory, Query
from rnnsearch.model.layers import Linear, gaussian, tanh, zeros


class AdditiveAlignment(Alignment):
    """e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j), with U_a h_j computed once per sentence (A.1.2)."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W_a = Linear(state_size, alignment_size, init=gaussian(0.001))
        self.U_a = Linear(annotation_size, alignment_size, init=gaussian(0.001))
        self.v_a = Linear(alignment_size, 1, init=zeros)

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        """Returns U_a h_j."""
        return self.U_a(annotations)  # type: ignore[no-any-return]

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        """Returns e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)."""
        # (batch, hypotheses, source, 1)
        e = self.v_a(tanh(self.W_a(state).unsqueeze(2) + keys.unsqueeze(1)))
        return e.squeeze(-1), memory
