"""Baseline alignment models: none (RNNencdec), the products of Luong et al. 2015, Graves's window
(Sec. 6.1)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from rnnsearch.model.alignment.base import Alignment, Energies, Keys, Memory, Query
from rnnsearch.model.layers import Linear


class FixedAlignment(Alignment):
    """All weight on the last annotation. With the forward encoder, c_i = →h_Tx for every i: the
    network is RNNencdec (A.2.2)."""

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        """Returns the energies of all steps: 0 at h_Tx, −∞ elsewhere."""
        positions = torch.arange(keys.shape[1], device=keys.device)
        others = positions != (lengths - 1).unsqueeze(1)  # (batch, source)
        return keys.new_zeros(others.shape).masked_fill(others, -torch.inf).unsqueeze(1)

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        assert memory is not None
        return memory, memory


class DotAlignment(Alignment):
    """e_ij = s_{i−1}ᵀ h_j (Luong et al. 2015, "dot")."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        if state_size != annotation_size:
            raise ValueError(
                f'model.alignment = "dot" needs annotations as long as states ({annotation_size} is'
                f' not {state_size}): choose "general", or model.encoder_size = {state_size // 2}'
                f" with the bidirectional encoder, or model.embedding_size = {state_size} with an"
                " encoder of embeddings"
            )

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        """Returns e_ij = s_{i−1}ᵀ h_j."""
        return state @ keys.mT, memory


class GeneralAlignment(Alignment):
    """e_ij = s_{i−1}ᵀ W h_j, with W h_j computed once per sentence (Luong et al. 2015,
    "general")."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W = Linear(annotation_size, state_size)

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        """Returns W h_j."""
        return self.W(annotations)  # type: ignore[no-any-return]

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        """Returns e_ij = s_{i−1}ᵀ W h_j."""
        return state @ keys.mT, memory


class WindowAlignment(Alignment):
    """Graves 2013 (Sec. 6.1): a mixture of Gaussians over positions whose centres κ only move to
    the right.

    φ(i, j) = Σ_m α_im exp(−β_im (κ_im − j)²) with κ_i = κ_{i−1} + exp(κ̂_i) and [log α, log β,
    κ̂]_i = W s_{i−1} + b. The energy is log φ, so that the softmax normalises the window over the
    sentence. Positions count from 1; memory: κ.
    """

    gaussians = 10

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W = Linear(state_size, 3 * self.gaussians, bias=True)

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        """Returns κ_0 = 0, (batch, 1, gaussians)."""
        return keys.new_zeros(keys.shape[0], 1, self.gaussians)

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        """Returns log φ(i, j), and κ_i."""
        assert memory is not None
        # each (batch, hypotheses, gaussians)
        log_alpha, log_beta, step = self.W(state).chunk(3, -1)
        centres = memory + step.exp()
        positions = torch.arange(1, keys.shape[1] + 1, device=keys.device, dtype=keys.dtype)
        # (batch, hypotheses, gaussians, source)
        distance = (centres.unsqueeze(-1) - positions).square()
        log_window = torch.logsumexp(
            log_alpha.unsqueeze(-1) - log_beta.exp().unsqueeze(-1) * distance, 2
        )
        return log_window, centres
