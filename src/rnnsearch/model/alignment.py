"""The alignment model a: energies e_ij = a(s_{i−1}, h_j) (Sec. 3.1; A.1.2). Masking, softmax (Eq. 6) and context (Eq. 5) stay outside.

A scorer of one's own is one class with these methods, named `package.module:Class` in `model.alignment`. Whatever it must remember
between steps goes through `memory`, which training and beam search carry along with the hypothesis; nothing is kept on `self`.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.model.initialise import gaussian, zeros
from rnnsearch.model.sequence_linear import SequenceLinear
from rnnsearch.model.tanh import tanh

Keys = Float[Tensor, "batch source key"]
State = Float[Tensor, "batch hypotheses hidden"]
Energies = Float[Tensor, "batch hypotheses source"]
Memory = Float[Tensor, "batch hypotheses *memory"]


class Alignment(nn.Module):
    """What a scorer offers. state_size: n; annotation_size: of h_j (2n for the paper's encoder); alignment_size: n'."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__()

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        """What can be computed of the annotations once per sentence."""
        return annotations

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        """The memory before the first step, for one hypothesis a sentence; None if nothing is remembered. lengths: (batch,)."""
        return None

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        """e_ij for every source position j (padding is masked outside), and the memory after this step."""
        raise NotImplementedError


class AdditiveAlignment(Alignment):
    """e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j), U_a h_j once per sentence (A.1.2)."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W_a = SequenceLinear(state_size, alignment_size, init=gaussian(0.001))
        self.U_a = SequenceLinear(annotation_size, alignment_size, init=gaussian(0.001))
        self.v_a = SequenceLinear(alignment_size, 1, init=zeros)

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        return self.U_a(annotations)  # type: ignore[no-any-return]

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        hidden = tanh(self.W_a(state).unsqueeze(2) + keys.unsqueeze(1))  # (batch, hypotheses, source, n')
        return self.v_a(hidden).squeeze(-1), memory


class FixedAlignment(Alignment):
    """All weight on the last annotation: c_i = →h_Tx for every i, which makes the network RNNencdec (A.2.2)."""

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        positions = torch.arange(keys.shape[1], device=keys.device)
        last = positions == (lengths - 1).unsqueeze(1)  # (batch, source)
        return torch.zeros(last.shape, dtype=keys.dtype, device=keys.device).masked_fill(~last, -torch.inf).unsqueeze(1)

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        assert memory is not None
        return memory, memory


class DotAlignment(Alignment):
    """e_ij = s_{i−1}ᵀ h_j (Luong et al. 2015, "dot")."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        if state_size != annotation_size:
            raise ValueError(
                f'model.alignment = "dot" needs annotations as long as states ({annotation_size} is not {state_size}): '
                f'choose "general", or model.encoder_size = {state_size // 2} with the bidirectional encoder'
            )

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        return state @ keys.mT, memory


class GeneralAlignment(Alignment):
    """e_ij = s_{i−1}ᵀ W h_j, W h_j once per sentence (Luong et al. 2015, "general")."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W = SequenceLinear(annotation_size, state_size)

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        return self.W(annotations)  # type: ignore[no-any-return]

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        return state @ keys.mT, memory


class WindowAlignment(Alignment):
    """Graves 2013 (Sec. 6.1): a mixture of Gaussians over positions whose centres κ only move to the right.

    φ(i, j) = Σ_m α_im exp(−β_im (κ_im − j)²) with κ_i = κ_{i−1} + exp(κ̂_i) and [log α, log β, κ̂]_i = W s_{i−1} + b. The energy is
    log φ, so that the softmax outside normalises the window over the sentence. Positions count from 1; memory: κ.
    """

    gaussians = 10

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W = SequenceLinear(state_size, 3 * self.gaussians, bias=True)

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


ALIGNMENTS: dict[str, type[Alignment]] = {
    "additive": AdditiveAlignment,
    "fixed": FixedAlignment,
    "dot": DotAlignment,
    "general": GeneralAlignment,
    "window": WindowAlignment,
}
