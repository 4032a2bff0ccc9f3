"""Kernels of `model/layers.py`. Their main gain: weights of linear layers are converted once for all
steps of a sequence, in search once for all sentences.

Search multiplies few rows, a dozen for one sentence, so most of a product's time is spent on reading the
matrix. int8 is read four times as fast as float32, and CPUs with int8 products compute them about twice as
fast as bfloat16. In training a cache lasts for one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.kernels.int8 import Int8Linear, shared_inputs
from rnnsearch.model import layers
from rnnsearch.model.layers import HasWeight
from rnnsearch.system.kernel_dispatch import reference
from rnnsearch.system.tensors import FEWEST_OUTPUTS

T = TypeVar("T")
Product = Callable[[Tensor], Tensor]
"""(..., in) → (..., out)."""


class LinearCache:
    """Kernel of `system.kernel_dispatch:linear_cache`. dtype: of the products of float32 layers; may be int8.
    Inputs, outputs and gradients stay float32; layers of other dtypes are unchanged."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        self.int8 = dtype == torch.int8
        self.dtype = torch.float32 if self.int8 else dtype
        self._made: dict[tuple[int, ...], tuple[object, Any]] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Opens the cache."""
        token = _open.set(self)
        try:
            with shared_inputs() if self.int8 else nullcontext():
                yield
        finally:
            _open.reset(token)

    def once(self, owners: Sequence[object], make: Callable[[], T]) -> T:
        """Returns what `make` returned for these layers or tensors at the first call."""
        key = tuple(map(id, owners))
        if key not in self._made:
            self._made[key] = owners, make()  # the owners are kept, so that no other object gets their ids
        return self._made[key][1]  # type: ignore[no-any-return]

    def product(self, *modules: HasWeight) -> Product:
        """Returns the function that maps x to the outputs of these layers, concatenated."""
        return self.once(modules, lambda: self._product(modules))

    def _product(self, modules: Sequence[HasWeight]) -> Product:
        matrix: Tensor = modules[0].weight
        bias: Tensor | None = modules[0].bias
        if len(modules) > 1:
            matrix = torch.cat([each.weight for each in modules])
            bias = torch.cat([_bias_or_zeros(each) for each in modules])
        if self.int8 and matrix.shape[0] >= FEWEST_OUTPUTS:
            return Int8Linear(matrix, bias)
        dtype = self.dtype if matrix.dtype == torch.float32 else matrix.dtype
        low, low_bias = matrix.to(dtype), None if bias is None else bias.to(dtype)
        return lambda x: F.linear(x.to(dtype), low, low_bias).to(x.dtype)


def _bias_or_zeros(module: HasWeight) -> Float[Tensor, " out"]:
    return module.weight.new_zeros(len(module.weight)) if module.bias is None else module.bias


_open: ContextVar[LinearCache | None] = ContextVar("linear cache", default=None)


def open_cache() -> LinearCache | None:
    """Returns the open cache; None if there is none."""
    return _open.get()


def linear(module: HasWeight, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
    """Computes the same as `model.layers:linear`."""
    cache = open_cache()
    return F.linear(x, module.weight, module.bias) if cache is None else cache.product(module)(x)


def linear_together(modules: Sequence[nn.Module], x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
    """Computes the same as `model.layers:linear_together`, as one product of an open cache."""
    cache, known = open_cache(), [module for module in modules if type(module) is layers.Linear]
    if cache is None or torch.is_grad_enabled() or len(known) < len(modules):
        return reference(layers.linear_together)(modules, x)
    return cache.product(*known)(x)


def once(tensor: Tensor, make: Callable[[], T]) -> T:
    """Computes the same as `system.kernel_dispatch:once`, only once for each open cache."""
    cache = open_cache()
    return make() if cache is None else cache.once((tensor,), make)


def product_dtype(weight: Tensor) -> torch.dtype:
    """Returns the dtype of the open cache for float32 weights (see
    `system.kernel_dispatch:product_dtype`)."""
    cache = open_cache()
    return weight.dtype if cache is None or weight.dtype != torch.float32 else cache.dtype


def tanh(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Computes tanh x = 2 σ(2x) − 1. On a CPU this takes a quarter of the time of torch's tanh.

    The absolute error is one unit in the last place of 1 (6e-8 in float32), so the relative error is large
    only near 0.
    """
    if x.device.type != "cpu":
        return torch.tanh(x)
    return _Tanh.apply(x)  # type: ignore[no-untyped-call,no-any-return]


def tanh_(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Computes `tanh` in place, without a gradient."""
    return x.add_(x).sigmoid_().mul_(2.0).sub_(1.0)


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.add(x, x).sigmoid_().mul_(2.0).sub_(1.0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradient, y)  # type: ignore[no-any-return]
