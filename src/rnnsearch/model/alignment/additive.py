"""The paper's alignment model (A.1.2)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from rnnsearch.model.additive_energies import AdditiveEnergies, additive_energies
from rnnsearch.model.alignment.base import Alignment, Energies, Keys, Memory, State
from rnnsearch.model.deferred_gradients import backward_pass
from rnnsearch.model.initialise import gaussian, zeros
from rnnsearch.model.linear import Linear, open_sequence
from rnnsearch.model.tanh import tanh_


class AdditiveAlignment(Alignment):
    """e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j), U_a h_j once per sentence (A.1.2)."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W_a = Linear(state_size, alignment_size, init=gaussian(0.001))
        self.U_a = Linear(annotation_size, alignment_size, init=gaussian(0.001))
        self.v_a = Linear(alignment_size, 1, init=zeros)

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        return self.U_a(annotations)  # type: ignore[no-any-return]

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        steps = open_sequence()
        if keys.device.type == "cpu" and not torch.is_grad_enabled():
            return additive_energies(self.W_a(state), keys, self.v_a.weight), memory
        if keys.device.type == "cpu" and steps is not None and backward_pass is not None:
            return steps.once(keys, lambda: AdditiveEnergies(keys, self.v_a.weight))(self.W_a(state)), memory
        hidden = tanh_(self.W_a(state).unsqueeze(2) + keys.unsqueeze(1))  # (batch, hypotheses, source, n')
        return self.v_a(hidden).squeeze(-1), memory
