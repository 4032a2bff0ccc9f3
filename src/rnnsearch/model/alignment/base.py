"""The alignment model a: energies e_ij = a(s_{i−1}, h_j) (Sec. 3.1; A.1.2). Masking, softmax (Eq. 6) and
context (Eq. 5) stay outside.

A scorer of one's own is one class with these methods, named `package.module:Class` in `model.alignment`.
Whatever it must remember between steps goes through `memory`, which training and beam search carry along with
the hypothesis; nothing is kept on `self`.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

Keys = Float[Tensor, "batch source key"]
State = Float[Tensor, "batch hypotheses hidden"]
Energies = Float[Tensor, "batch hypotheses source"]
Weights = Float[Tensor, "batch hypotheses source"]
Memory = Float[Tensor, "batch hypotheses *memory"]


class Alignment(nn.Module):
    """The interface of a scorer. state_size: n; annotation_size: of h_j (2n for the paper's encoder);
    alignment_size: n'."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__()

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        """Returns what can be computed of the annotations once per sentence."""
        return annotations

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        """Returns the memory before the first step, for one hypothesis per sentence; None if nothing is
        remembered.
        lengths: (batch,)."""
        return None

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        """Returns e_ij for every source position j (padding is masked outside), and the memory after this
        step."""
        raise NotImplementedError

    def attended(self, state: State, keys: Keys, memory: Memory | None, weights: Weights) -> Memory | None:
        """Returns the memory after this step, once α_i is known; state and keys are those that `energies`
        had, memory is what it returned.

        weights: the α_i that the context is made of, 0 on padding. Only a scorer that remembers them needs
        this.
        """
        return memory
