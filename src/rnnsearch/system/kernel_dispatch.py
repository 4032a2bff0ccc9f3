"""Reference functions and their kernels. A reference function is written as in the paper; `rnnsearch.kernels`
may have an equivalent that is faster, its kernel.

Without that package, or inside `kernels_used(False)`, the reference functions themselves are called.

A cache keeps what kernels make of the weights, for the steps of a sequence; reference functions need none:

cache = linear_cache(torch.bfloat16)
with cache():                      # opened by the loop over the steps
    for i in range(steps):
        state = step(state)        # calls `Linear` modules like any other
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")
Cache = Callable[[], AbstractContextManager[object]]

LOADED: dict[str, Callable[..., Any] | None] = {}
"""Name of each reference function called so far → its kernel; None if it has none."""

_used: ContextVar[bool] = ContextVar("kernels used", default=True)


def plain(function: Callable[P, T]) -> Callable[P, T]:
    """Marks a reference function: calls go to its kernel in `rnnsearch.kernels`, if it has one."""
    name = f"{function.__module__.removeprefix('rnnsearch.')}:{function.__qualname__}"

    @wraps(function)
    def chosen(*args: P.args, **kwargs: P.kwargs) -> T:
        if not _used.get():
            return function(*args, **kwargs)
        if name not in LOADED:
            LOADED[name] = _kernel(name)
        return (LOADED[name] or function)(*args, **kwargs)

    return chosen


def reference(function: Callable[P, T]) -> Callable[P, T]:
    """Returns the reference function itself, for a kernel that cannot handle all inputs."""
    return function.__wrapped__  # type: ignore[attr-defined,no-any-return]


@contextmanager
def kernels_used(used: bool) -> Iterator[None]:
    """Switches the kernels on or off in this thread, as a context manager."""
    token = _used.set(used)
    try:
        yield
    finally:
        _used.reset(token)


def _kernel(name: str) -> Callable[..., Any] | None:
    try:
        kernels: dict[str, str] = import_module("rnnsearch.kernels").KERNELS
    except ModuleNotFoundError as error:
        if error.name != "rnnsearch.kernels":
            raise
        return None
    if name not in kernels:
        return None
    module, function = kernels[name].split(":")
    return getattr(import_module(f"rnnsearch.kernels.{module}"), function)  # type: ignore[no-any-return]


@plain
def linear_cache(dtype: torch.dtype = torch.float32) -> Cache:
    """Returns a function whose context is entered around the steps of a sequence. dtype: of the products of
    float32 layers."""
    return nullcontext


@plain
def once(tensor: torch.Tensor, make: Callable[[], T]) -> T:
    """Returns `make()`, a value that depends only on `tensor`, which stays the same for all steps."""
    return make()


@plain
def product_dtype(weight: torch.Tensor) -> torch.dtype:
    """Returns the dtype in which a layer with this weight computes now."""
    return weight.dtype
