"""Graves's window (Sec. 6.1)."""

from __future__ import annotations

import torch
from torch import Tensor

from rnnsearch.model.alignment.base import Alignment, Energies, Keys, Memory, State
from rnnsearch.model.linear import Linear


class WindowAlignment(Alignment):
    """Graves 2013 (Sec. 6.1): a mixture of Gaussians over positions whose centres κ only move to the right.

    φ(i, j) = Σ_m α_im exp(−β_im (κ_im − j)²) with κ_i = κ_{i−1} + exp(κ̂_i) and [log α, log β, κ̂]_i = W s_{i−1} + b. The energy is
    log φ, so that the softmax outside normalises the window over the sentence. Positions count from 1; memory: κ.
    """

    gaussians = 10

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W = Linear(state_size, 3 * self.gaussians, bias=True)

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        return keys.new_zeros(keys.shape[0], 1, self.gaussians)

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        assert memory is not None
        log_alpha, log_beta, step = self.W(state).chunk(3, -1)  # each (batch, hypotheses, gaussians)
        centres = memory + step.exp()
        positions = torch.arange(1, keys.shape[1] + 1, device=keys.device, dtype=keys.dtype)
        distance = (centres.unsqueeze(-1) - positions).square()  # (batch, hypotheses, gaussians, source)
        log_window = torch.logsumexp(log_alpha.unsqueeze(-1) - log_beta.exp().unsqueeze(-1) * distance, 2)
        return log_window, centres
