"""The alignment model a: energies e_ij = a(s_{i−1}, h_j) (Sec. 3.1; A.1.2). Masking, softmax (Eq.
6) and context (Eq. 5) are not part of it.

A user's own scorer is a class with these methods; `model.alignment` names it as
`package.module:Class`. All state between steps is in `memory`, which training and beam search keep
for each hypothesis, never on `self`.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

Keys = Float[Tensor, "batch source key"]
Query = Float[Tensor, "batch hypotheses hidden"]
Energies = Float[Tensor, "batch hypotheses source"]
Alpha = Float[Tensor, "batch hypotheses source"]
Memory = Float[Tensor, "batch hypotheses *memory"]


class Alignment(nn.Module):
    """The interface of a scorer. state_size: n; annotation_size: of h_j (2n for the paper's
    encoder);
    alignment_size: n'."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__()

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        """Returns the part of the energies that depends on the annotations only, once per
        sentence."""
        return annotations

    def start(self, keys: Keys, lengths: Tensor) -> Memory | None:
        """Returns the memory before the first step, for one hypothesis per sentence; None if there
        is no memory. lengths: (batch,), the end of sentence included."""
        return None

    def energies(
        self, state: Query, keys: Keys, memory: Memory | None
    ) -> tuple[Energies, Memory | None]:
        """Returns e_ij for every source position j, and the memory after this step. The caller
        masks padding."""
        raise NotImplementedError

    def attended(
        self, state: Query, keys: Keys, memory: Memory | None, weights: Alpha
    ) -> Memory | None:
        """Returns the memory after this step, given α_i. state, keys: as for `energies`. memory: as
        `energies` returned it.

        weights: the α_i of the context, 0 on padding. Only a scorer that remembers α needs this
        method.
        """
        return memory
