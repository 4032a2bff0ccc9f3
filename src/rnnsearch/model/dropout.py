"""Dropout, which the paper does not use: on embeddings and readouts, and with one mask per sequence on
recurrent states."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

_LEVELS = 1 << 16


@dataclass(frozen=True)
class Dropout:
    """Dropout probabilities, all 0 in the paper. recurrent: of recurrent states, with one mask per sequence.
    readout: of t_i."""

    embedding: float = 0.0
    recurrent: float = 0.0
    readout: float = 0.0


def dropped(x: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"]:
    """Sets each element of x to 0 with this probability, and else divides it by 1 − probability (Srivastava
    et al. 2014)."""
    return x if probability == 0.0 else x * keep_mask(x, probability)


def recurrent_dropout(like: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"] | None:
    """Returns one mask for all steps of a sequence (Gal & Ghahramani 2016); None if the probability is 0."""
    return None if probability == 0.0 else keep_mask(like, probability)


def keep_mask(like: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"]:
    """Returns a mask that is 0 with this probability, and else 1 / (1 − probability). Each element uses 16
    random bits, so the probability is rounded to multiples of 1/65,536."""
    cut = min(round(probability * _LEVELS), _LEVELS - 1)
    draws = torch.empty(-(-like.numel() // 4), dtype=torch.int64, device=like.device).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: like.numel()].view(like.shape)  # one draw of 64 bits for four elements
    return (bits >= cut - _LEVELS // 2).to(like.dtype).mul_(_LEVELS / (_LEVELS - cut))
