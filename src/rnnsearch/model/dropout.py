"""Dropout, which the paper does not use: of embeddings and readouts, and one mask per sequence of the states
inside the recurrences."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

_LEVELS = 1 << 16


@dataclass(frozen=True)
class Dropout:
    """Probabilities, all 0 in the paper: of embeddings, of states inside the recurrences (one mask per
    sequence), of t_i."""

    embedding: float = 0.0
    recurrent: float = 0.0
    readout: float = 0.0


def dropped(x: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"]:
    """Returns x with elements 0 with this probability, and else divided by that of being kept (Srivastava et
    al. 2014)."""
    return x if probability == 0.0 else x * keep_mask(x, probability)


def recurrent_dropout(like: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"] | None:
    """Returns a mask to be used at every step of one sequence (Gal & Ghahramani 2016); None if the
    probability is 0."""
    return None if probability == 0.0 else keep_mask(like, probability)


def keep_mask(like: Float[Tensor, "*shape"], probability: float) -> Float[Tensor, "*shape"]:
    """Returns a mask: 0 with this probability (to the next 65,536th, so that 16 random bits decide), and else
    what makes the expectation 1."""
    cut = min(round(probability * _LEVELS), _LEVELS - 1)
    draws = torch.empty(-(-like.numel() // 4), dtype=torch.int64, device=like.device).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: like.numel()].view(like.shape)  # one draw of 64 bits for four elements
    return (bits >= cut - _LEVELS // 2).to(like.dtype).mul_(_LEVELS / (_LEVELS - cut))
