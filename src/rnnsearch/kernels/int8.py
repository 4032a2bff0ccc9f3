"""Linear layers in int8: the matrix is quantised once, the input at every call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.system.machine import has_int8, input_limit
from rnnsearch.system.tensors import quantised, scales_of


class Int8Linear:
    """y ≈ W x + b in int8: W is quantised once, with a scale for each row, and every x when it is multiplied,
    with its own scale.

    The scale of a row of W is its largest absolute weight / 127, that of an x its largest absolute element /
    `input_limit()`. Integer sums are exact, and the result for one x does not depend on the others. Raises
    InputError if torch has no int8 products.
    """

    def __init__(self, matrix: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        if not has_int8(matrix.device):
            raise InputError(
                "there are no int8 products on this device", remedy='set search.precision = "bfloat16"'
            )
        integers, self.scales = quantised(matrix)
        self.prepared = torch.ops.onednn.qlinear_prepack(integers, None)
        self.zeros = torch.zeros(len(integers), dtype=torch.int32)
        self.bias = None if bias is None else bias.detach().float()
        self.limit = input_limit()

    def __call__(self, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
        """Returns y in x's dtype."""
        integers, scales = quantised_input(x, self.limit)
        y = torch.ops.onednn.qlinear_pointwise(
            integers,
            1.0,
            self.limit + 1,
            self.prepared,
            self.scales,
            self.zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        y = y.mul_(scales) if self.bias is None else torch.addcmul(self.bias, y, scales, out=y)
        return y.view(*x.shape[:-1], len(self.scales)).to(x.dtype)


_shared: ContextVar[deque[tuple[Tensor, int, tuple[Tensor, Tensor]]] | None] = ContextVar(
    "quantised inputs", default=None
)
"""The last quantised inputs: (x, its version, integers and scales)."""
MOST_SHARED = 5
"""Inputs of a step, of which the first, E y, is also the last: E y, s, c, r∘s, the new s."""


@contextmanager
def shared_inputs() -> Iterator[None]:
    """Quantises an input of several layers once, inside the context."""
    token = _shared.set(deque(maxlen=MOST_SHARED))
    try:
        yield
    finally:
        _shared.reset(token)


def quantised_input(
    x: Float[Tensor, "*rest in"], limit: int
) -> tuple[UInt8[Tensor, "rows in"], Float[Tensor, "rows 1"]]:
    """Returns (the rows of x in units of their scales, shifted by limit + 1 so that none is negative; their
    scales)."""
    shared = None if x.is_inference() else _shared.get()  # inference tensors do not count their changes
    for known, version, result in shared or ():
        if known is x and version == x._version:
            return result
    rows = x.reshape(-1, x.shape[-1]).float()
    scales = scales_of(rows, limit)
    # To int8 first: torch converts to uint8 several times more slowly. The sum wraps around, as it should.
    integers = (rows / scales).round_().to(torch.int8).view(torch.uint8).add_(limit + 1)
    if shared is not None:
        shared.append((x, x._version, (integers, scales)))
    return integers, scales
