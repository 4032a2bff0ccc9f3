"""Kernels of `model/layers.py`. Their main gain: weights of linear layers are converted once for all steps
of a sequence, in search once for all sentences.

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
from jaxtyping import Bool, Float
from torch import Tensor, nn

from rnnsearch.kernels.int8_linear import Int8Linear, shared_inputs
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
        self._products: dict[int, Product] = {}
        self._together: dict[tuple[int, ...], Product] = {}
        self._made: dict[tuple[int, ...], tuple[tuple[Tensor, ...], Any]] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        token = _open.set(self)
        try:
            with shared_inputs() if self.int8 else nullcontext():
                yield
        finally:
            _open.reset(token)

    def of(self, module: HasWeight) -> Product:
        if id(module) not in self._products:
            self._products[id(module)] = self.make(module.weight, module.bias)
        return self._products[id(module)]

    def together(self, modules: Sequence[HasWeight]) -> Product:
        """Returns the product with the matrices of several layers."""
        key = tuple(map(id, modules))
        if key not in self._together:
            biases = [
                module.weight.new_zeros(len(module.weight)) if module.bias is None else module.bias
                for module in modules
            ]
            bias = None if all(module.bias is None for module in modules) else torch.cat(biases)
            self._together[key] = self.make(torch.cat([module.weight for module in modules]), bias)
        return self._together[key]

    def once(self, tensors: tuple[Tensor, ...], make: Callable[[], T]) -> T:
        """Returns what `make` made of these tensors, which must be all that it depends on."""
        key = tuple(map(id, tensors))
        if key not in self._made:
            self._made[key] = tensors, make()  # the tensors are kept, so that no other one gets their ids
        return self._made[key][1]  # type: ignore[no-any-return]

    def make(self, matrix: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> Product:
        if self.int8 and matrix.shape[0] >= FEWEST_OUTPUTS:
            return Int8Linear(matrix, bias)
        dtype = self.dtype if matrix.dtype == torch.float32 else matrix.dtype
        low, low_bias = matrix.to(dtype), None if bias is None else bias.to(dtype)
        return lambda x: F.linear(x.to(dtype), low, low_bias).to(x.dtype)


_open: ContextVar[LinearCache | None] = ContextVar("linear cache", default=None)


def open_cache() -> LinearCache | None:
    """Returns the open cache; None if there is none."""
    return _open.get()


def linear(module: HasWeight, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
    """Computes the same as `model.layers:linear`."""
    cache = _open.get()
    return F.linear(x, module.weight, module.bias) if cache is None else cache.of(module)(x)


def linear_together(modules: Sequence[nn.Module], x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
    """Computes the same as `model.layers:linear_together`, as one product of an open cache."""
    cache, known = _open.get(), [module for module in modules if type(module) is layers.Linear]
    if cache is None or torch.is_grad_enabled() or len(known) < len(modules):
        return reference(layers.linear_together)(modules, x)
    return cache.together(known)(x)


def once(tensor: Tensor, make: Callable[[], T]) -> T:
    """Computes the same as `system.kernel_dispatch:once`, only once for each open cache."""
    cache = _open.get()
    return make() if cache is None else cache.once((tensor,), make)


def product_dtype(weight: Tensor) -> torch.dtype:
    """Returns the dtype of the open cache for float32 weights (see
    `system.kernel_dispatch:product_dtype`)."""
    cache = _open.get()
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


def where_real(
    real: Bool[Tensor, " batch"], new: Float[Tensor, "batch state"], old: Float[Tensor, "batch state"]
) -> Float[Tensor, "batch state"]:
    """Computes the same as `model.layers:where_real`. If no sentence is padded, as at most
    positions, it returns `new` itself. On a GPU this check would wait for the device."""
    if real.device.type == "cpu" and bool(real.all()):
        return new
    return reference(layers.where_real)(real, new, old)
