"""Linear layers that are used at every step of a sequence: each weight is converted once, and its gradient formed once.

    with sequence(LinearCache(torch.bfloat16)):    # opened by whoever drives the steps
        for i in range(steps):
            state = step(state)                    # calls `Linear` modules like any other

The step function stays ordinary code, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from rnnsearch.model.deferred_gradients import Product, linear_product
from rnnsearch.model.initialise import Initialiser, gaussian, zeros

T = TypeVar("T")


@runtime_checkable
class HasWeight(Protocol):
    """A module with a matrix (out, in) and perhaps a bias (out,)."""

    @property
    def weight(self) -> Tensor: ...

    @property
    def bias(self) -> Tensor | None: ...


class LinearCache:
    """The weights of a sequence that is being computed, each converted at its first use. dtype: of the products of float32 modules."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        self.dtype = dtype
        self._products: dict[int, Product] = {}
        self._made: dict[int, tuple[Tensor, Any]] = {}

    def of(self, module: HasWeight) -> Product:
        if id(module) not in self._products:
            self._products[id(module)] = self.make(module.weight, module.bias)
        return self._products[id(module)]

    def once(self, tensor: Tensor, make: Callable[[], T]) -> T:
        """What is made of a tensor at its first use: the same for all steps."""
        if id(tensor) not in self._made:
            self._made[id(tensor)] = tensor, make()
        return self._made[id(tensor)][1]  # type: ignore[no-any-return]

    def make(self, matrix: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> Product:
        """The product with a matrix; parts of a module that are not float32 keep their dtype."""
        return linear_product(matrix, bias, self.dtype if matrix.dtype == torch.float32 else None)


_open: ContextVar[LinearCache | None] = ContextVar("sequence", default=None)


@contextmanager
def sequence(cache: LinearCache) -> Iterator[None]:
    """The time steps of one batch. Inputs, outputs and gradients stay float32 whatever the products' dtype."""
    token = _open.set(cache)
    try:
        yield
    finally:
        _open.reset(token)


def linear(module: HasWeight, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
    """W x (+ b). Outside a `sequence` an ordinary linear layer; inside one by way of its cache."""
    cache = _open.get()
    return F.linear(x, module.weight, module.bias) if cache is None else cache.of(module)(x)


def open_sequence() -> LinearCache | None:
    """The cache of the sequence that is being computed; None outside."""
    return _open.get()


def selected(module: HasWeight, rows: Int[Tensor, " chosen"]) -> Product:
    """(..., in) → (..., chosen): some rows of a module's matrix, in the precision of the open `sequence`."""
    cache = _open.get() or LinearCache(module.weight.dtype)
    return cache.make(module.weight[rows], None if module.bias is None else module.bias[rows])


class Linear(nn.Module):
    """y = W x (+ b) on the last dimension, by way of `linear`. init: of W, N(0, 0.01²) by default; a bias begins at 0."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    init: Initialiser

    def __init__(self, in_size: int, out_size: int, *, bias: bool = False, init: Initialiser | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_size, in_size))
        self.bias = nn.Parameter(torch.empty(out_size)) if bias else None
        self.init = init or gaussian(0.01)
        self.init(self.weight)
        if self.bias is not None:
            zeros(self.bias)

    def forward(self, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
        return linear(self, x)
