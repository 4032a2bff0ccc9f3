"""Linear layers in int8: the matrix is quantised once, the input at every call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
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
        rows = x.reshape(-1, x.shape[-1]).float()
        scales, zero = scales_of(rows, self.limit), self.limit + 1
        integers = (rows / scales).round_().add_(zero).to(torch.uint8)  # shifted, so that none is negative
        y = torch.ops.onednn.qlinear_pointwise(
            integers,
            1.0,
            zero,
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
