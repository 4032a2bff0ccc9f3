"""Linear layers in int8: the matrix is quantised once, the input at every call."""

from __future__ import annotations

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.system.tensors import quantised, scales_of


class Int8Linear:
    """y ≈ W x + b in int8: W is quantised once, with a scale for each row, and every x when it is
    multiplied, with its own scale.

    The scale of a row of W is its largest absolute weight / 127, that of an x its largest absolute
    element / `input_limit()`. Integer sums are exact, and the result for one x does not depend on
    the others. Raises InputError if torch has no int8 products.
    """

    def __init__(
        self,
        matrix: Float[Tensor, "out in"],
        bias: Float[Tensor, " out"] | None,
        inputs: SharedInputs | None = None,
    ) -> None:
        if not has_int8(matrix.device):
            raise InputError(
                "there are no int8 products on this device", 'set search.precision = "bfloat16"'
            )
        integers, self.scales = quantised(matrix)
        self.prepared = torch.ops.onednn.qlinear_prepack(integers, None)
        self.zeros = torch.zeros(len(integers), dtype=torch.int32)
        self.bias = None if bias is None else bias.detach().float()
        self.inputs = SharedInputs() if inputs is None else inputs

    def __call__(self, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
        """Returns y in x's dtype."""
        integers, scales = self.inputs.quantised(x)
        y = torch.ops.onednn.qlinear_pointwise(
            integers,
            1.0,
            self.inputs.limit + 1,
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


MOST_SHARED = 5
"""Inputs of a step, of which the first, E y, is also the last: E y, s, c, r∘s, the new s."""


class SharedInputs:
    """The last inputs of the layers of a network, so that an input of several layers is quantised
    once."""

    def __init__(self) -> None:
        self.limit = input_limit()
        self._last: tuple[tuple[Tensor, int, tuple[Tensor, Tensor]], ...] = ()
        """(x, its version, integers and scales) of each"""

    def quantised(
        self, x: Float[Tensor, "*rest in"]
    ) -> tuple[UInt8[Tensor, "rows in"], Float[Tensor, "rows 1"]]:
        """Returns (the rows of x in units of their scales, shifted by limit + 1 so that none is
        negative; their scales)."""
        if x.is_inference():  # such tensors do not count their changes
            return quantised_input(x, self.limit)
        for known, version, result in self._last:
            if known is x and version == x._version:
                return result
        result = quantised_input(x, self.limit)
        self._last = (*self._last[1 - MOST_SHARED :], (x, x._version, result))
        return result


def quantised_input(
    x: Float[Tensor, "*rest in"], limit: int
) -> tuple[UInt8[Tensor, "rows in"], Float[Tensor, "rows 1"]]:
    """Returns what `SharedInputs.quantised` does."""
    rows = x.reshape(-1, x.shape[-1]).float()
    scales = scales_of(rows, limit)
    # To int8 first: torch converts to uint8 several times more slowly. The sum wraps around, as it
    # should.
    integers = (rows / scales).round_().to(torch.int8).view(torch.uint8).add_(limit + 1)
    return integers, scales


def has_int8(device: torch.device) -> bool:
    """Tells whether torch has oneDNN's int8 products, which are not public, on this device."""
    onednn = torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_pointwise")
    return device.type == "cpu" and onednn


def input_limit() -> int:
    """Returns the largest absolute value of a quantised input: 127, or 63 if the CPU has no VNNI or
    torch does not know.

    Without VNNI pairs of products are summed in 16 bits, which 8-bit inputs could overflow.
    """
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", None)
    return 127 if has_vnni is not None and has_vnni() else 63
