"""The products of Luong et al. 2015."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from rnnsearch.model.alignment.base import Alignment, Energies, Keys, Memory, State
from rnnsearch.model.linear import Linear


class DotAlignment(Alignment):
    """e_ij = s_{i−1}ᵀ h_j (Luong et al. 2015, "dot")."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        if state_size != annotation_size:
            raise ValueError(
                f'model.alignment = "dot" needs annotations as long as states ({annotation_size} is not {state_size}): choose "general", '
                f"or model.encoder_size = {state_size // 2} with the bidirectional encoder, "
                f"or model.embedding_size = {state_size} with an encoder of embeddings"
            )

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        return state @ keys.mT, memory


class GeneralAlignment(Alignment):
    """e_ij = s_{i−1}ᵀ W h_j, W h_j once per sentence (Luong et al. 2015, "general")."""

    def __init__(self, state_size: int, annotation_size: int, alignment_size: int) -> None:
        super().__init__(state_size, annotation_size, alignment_size)
        self.W = Linear(annotation_size, state_size)

    def keys(self, annotations: Float[Tensor, "batch source annotation"]) -> Keys:
        return self.W(annotations)  # type: ignore[no-any-return]

    def energies(self, state: State, keys: Keys, memory: Memory | None) -> tuple[Energies, Memory | None]:
        return state @ keys.mT, memory
