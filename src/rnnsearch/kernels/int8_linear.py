"""Linear layers in int8: the matrix is quantised once, the input as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.system.tensors import quantised, scales_of


class Int8Linear:
    """y ≈ W x + b, quantised to 8 bits: W once, with a scale for each row, and every x as it comes, with a
    scale of its own.

    A row of W becomes the nearest multiples of its largest absolute weight over 127, each x those of its own
    largest absolute number over 127. Sums of integers are exact, y is float32, and no x knows of the others.
    Raises InputError where torch has no such products.
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
        integers = (rows / scales).round_().add_(zero).to(torch.uint8)  # of either sign, above 0
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
    """Does as its plain twin `model.layers:has_int8`. oneDNN's int8 products are no public part of torch."""
    onednn = torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_pointwise")
    return device.type == "cpu" and onednn


def fastest_precision(device: torch.device) -> str:
    """Does as its plain twin `model.layers:fastest_precision`: bfloat16 where its products are faster.

    A CPU with AMX or one of AMD's with AVX-512 BF16 multiplies twice as many numbers in bfloat16. Intel's
    AVX-512 BF16 without AMX, as in many virtual machines, is slower than float32. Where torch does not say
    what the CPU has, it is float32.
    """
    if device.type != "cpu":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    cpu: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    amd = cpu.get("avx512_bf16") and "Intel" not in cpu.get("cpu_name", "Intel")
    return "bfloat16" if cpu.get("amx_bf16") or amd else "float32"


def input_limit() -> int:
    """Returns the largest absolute value of a quantised input: 127, or 63 where there is no VNNI, or where
    torch does not say.

    Without it pairs of products are summed in 16 bits, which 8 bits of x could overflow.
    """
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", None)
    return 127 if has_vnni is not None and has_vnni() else 63
