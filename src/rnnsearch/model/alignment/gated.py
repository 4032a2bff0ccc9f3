"""The gated unit (A.1.1) with one state per source position, for scorers that remember."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.model.initialise import orthogonal
from rnnsearch.model.linear import Linear
from rnnsearch.model.tanh import tanh_

Sums = Float[Tensor, "batch hypotheses source sums"]
States = Float[Tensor, "batch hypotheses source size"]


class GatedPositions(nn.Module):
    """v_ij = (1 − z_ij)∘v_{i−1,j} + z_ij∘v̄_ij for every source position j; the matrices are the same for all of them."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.U = Linear(size, size, init=orthogonal)
        self.U_zr = Linear(size, 2 * size, init=orthogonal)

    def forward(self, sums: Sums, states: States) -> States:
        """v̄ = tanh(sum + U(r∘v)), z = σ(sum_z + U_z v), r = σ(sum_r + U_r v). sums: [sum; sum_z; sum_r], all but the U terms."""
        inner, gates = sums.split((self.size, 2 * self.size), -1)
        z, r = torch.sigmoid(gates + self.U_zr(states)).chunk(2, -1)
        return torch.lerp(states, tanh_(inner + self.U(r * states)), z)
