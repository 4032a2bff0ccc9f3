"""Initial weights: as appendix B.1 says, or with the variances of Glorot & Bengio 2010, from which small
networks learn sooner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import torch
from torch import Tensor, nn

Initialiser = Callable[[Tensor], object]


_initialising: ContextVar[bool] = ContextVar("initialising", default=True)


@contextmanager
def skip_initialisation() -> Iterator[None]:
    """Lets parameters made meanwhile hold anything: for those that are read from a file next. At the paper's
    size drawing them takes seconds."""
    token = _initialising.set(False)
    try:
        yield
    finally:
        _initialising.reset(token)


def initialising() -> bool:
    """Tells whether parameters are to be initialised."""
    return _initialising.get()


def zeros(parameter: Tensor) -> None:
    """Sets v_a and every bias to 0."""
    if initialising():
        nn.init.zeros_(parameter)


def gaussian(deviation: float) -> Initialiser:
    """Returns what draws from N(0, deviation²): 0.001 for W_a and U_a, 0.01 for every other matrix that is
    not recurrent."""
    return partial(_gaussian, deviation=deviation)


def _gaussian(parameter: Tensor, deviation: float) -> None:
    if initialising():
        nn.init.normal_(parameter, 0.0, deviation)


def orthogonal(parameter: Tensor) -> None:
    """Draws recurrent matrices: every square block of (blocks · n, n) is a random orthogonal matrix of its
    own."""
    if not initialising():
        return
    size = parameter.shape[1]
    with torch.no_grad():
        for block in parameter.split(size):
            nn.init.orthogonal_(block)
