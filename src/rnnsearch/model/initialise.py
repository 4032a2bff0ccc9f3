"""How parameters begin: as appendix B.1 says, or with the variances of Glorot & Bengio 2010, from which small networks learn sooner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

Initialiser = Callable[[Tensor], object]


def zeros(parameter: Tensor) -> None:
    """v_a and every bias."""
    nn.init.zeros_(parameter)


def gaussian(deviation: float) -> Initialiser:
    """N(0, deviation²): 0.001 for W_a and U_a, 0.01 for every other matrix that is not recurrent."""
    return partial(nn.init.normal_, mean=0.0, std=deviation)


def orthogonal(parameter: Tensor) -> None:
    """Recurrent matrices: every square block of (blocks · n, n) is a random orthogonal matrix of its own."""
    size = parameter.shape[1]
    with torch.no_grad():
        for block in parameter.split(size):
            nn.init.orthogonal_(block)
