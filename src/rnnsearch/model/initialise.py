"""Initial weights: those of appendix B.1, or of Glorot & Bengio 2010, with which small networks learn
faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import torch
from torch import Tensor, nn

Initialiser = Callable[[Tensor], object]
"""Sets the values of a parameter in place."""

_initialising: ContextVar[bool] = ContextVar("initialising", default=True)


@contextmanager
def skip_initialisation() -> Iterator[None]:
    """Leaves parameters that are created meanwhile uninitialised, for loading from a file: at the paper's
    size, initialisation takes seconds."""
    token = _initialising.set(False)
    try:
        yield
    finally:
        _initialising.reset(token)


def initialising() -> bool:
    """Tells whether parameters are to be initialised."""
    return _initialising.get()


def zeros(parameter: Tensor) -> None:
    """Sets a parameter to 0, as B.1 does for v_a and every bias."""
    if initialising():
        nn.init.zeros_(parameter)


def gaussian(deviation: float) -> Initialiser:
    """Returns an initialiser of N(0, deviation²). deviation: 0.001 for W_a and U_a, 0.01 for other matrices
    that are not recurrent."""
    return partial(_gaussian, deviation=deviation)


def _gaussian(parameter: Tensor, deviation: float) -> None:
    if initialising():
        nn.init.normal_(parameter, 0.0, deviation)


def orthogonal(parameter: Tensor) -> None:
    """Initialises a recurrent matrix, (blocks · n, n): every square block is a random orthogonal matrix."""
    if not initialising():
        return
    size = parameter.shape[1]
    with torch.no_grad():
        for block in parameter.split(size):
            nn.init.orthogonal_(block)
