"""Linear layers in int8: the matrix is quantised once, the input at every call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from rnnsearch.errors import InputError
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
    shared = _shared.get()
    version = -1 if shared is None or x.is_inference() else x._version
    for known, its_version, made in shared or () if version >= 0 else ():
        if known is x and its_version == version:
            return made
    rows = x.reshape(-1, x.shape[-1]).float()
    scales = scales_of(rows, limit)
    # To int8 first: torch converts to uint8 several times more slowly. The sum wraps around, as it should.
    integers = (rows / scales).round_().to(torch.int8).view(torch.uint8).add_(limit + 1)
    if shared is not None:
        shared.append((x, version, (integers, scales)))
    return integers, scales


def has_int8(device: torch.device) -> bool:
    """Tells whether torch has oneDNN's int8 products, which are not public, on this device."""
    onednn = torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_pointwise")
    return device.type == "cpu" and onednn


def fastest_precision(device: torch.device) -> str:
    """Returns bfloat16 if its products are faster on this device, else float32.

    CPUs with AMX, and AMD's with AVX-512 BF16, are twice as fast in bfloat16. Intel's AVX-512 BF16 without
    AMX, as in many virtual machines, is slower than float32. If torch does not know the CPU's features, the
    result is float32.
    """
    if device.type != "cpu":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    cpu: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    amd = cpu.get("avx512_bf16") and "Intel" not in cpu.get("cpu_name", "Intel")
    return "bfloat16" if cpu.get("amx_bf16") or amd else "float32"


def input_limit() -> int:
    """Returns the largest absolute value of a quantised input: 127, or 63 if the CPU has no VNNI or torch
    does not know.

    Without VNNI pairs of products are summed in 16 bits, which 8-bit inputs could overflow.
    """
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", None)
    return 127 if has_vnni is not None and has_vnni() else 63
