"""Weights as they are kept in a quarter of the space: every matrix as 8-bit integers with a scale for each row.

The integers and scales are those that `inference_weights.Int8Linear` would make of the matrix itself, so that a search in int8 is
the same; only the embeddings, which a search reads as they are, are rounded too.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.model.inference_weights import FEWEST_OUTPUTS, WEIGHT_LIMIT, scales_of

SCALE = ".scale"
"""Ends the name of the scales of a matrix."""
OUTPUT, EMBEDDING = "output.weight", "target_embedding.weight"


def quantise(tensors: Mapping[str, Tensor], *, tied: bool) -> dict[str, Tensor]:
    """Float32 tensors by name → int8 matrices with their scales; vectors and matrices of few rows stay as they are.

    tied: W_o is the target embedding, and `output.weight` is left out.
    """
    kept: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tied and name == OUTPUT:
            continue
        if tensor.dim() != 2 or tensor.shape[0] < FEWEST_OUTPUTS:
            kept[name] = tensor
            continue
        weights = tensor.detach().float()
        scales = scales_of(weights, WEIGHT_LIMIT)
        kept[name] = (weights / scales).round_().to(torch.int8)
        kept[name + SCALE] = scales.squeeze(1)
    return kept


def dequantise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Float32 tensors from what `quantise` made; without an int8 matrix they stay as they are. Wrong scales raise InputError."""
    if not any(tensor.dtype == torch.int8 for tensor in tensors.values()):
        return dict(tensors)
    whole: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            scales = tensors.get(name + SCALE)
            if scales is None or tensor.dim() != 2 or scales.shape != tensor.shape[:1] or scales.dtype != torch.float32:
                raise InputError(f"does not hold the scales of the int8 matrix {name}")
            whole[name] = tensor.float() * scales.unsqueeze(1)
        elif not (name.endswith(SCALE) and name.removesuffix(SCALE) in tensors):
            whole[name] = tensor
    if OUTPUT not in whole and EMBEDDING in whole:
        whole[OUTPUT] = whole[EMBEDDING]
    return whole
