"""Weights that stay as they are, as search needs them: each matrix is converted once, to 8-bit integers if that is wanted.

A search multiplies few rows, a dozen for one sentence, so that most of a product's time goes into reading the matrix. Bytes are read four
times as fast as float32, and CPUs that multiply them do so about twice as fast as bfloat16.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.model.deferred_gradients import Product
from rnnsearch.model.linear import LinearCache
from rnnsearch.system.machine import PRECISIONS

WEIGHT_LIMIT = 127
"""Largest absolute value of the 8-bit integers that stand for the weights of a row."""
FEWEST_OUTPUTS = 16
"""Layers with fewer outputs, such as v_a, stay in float32: there is little to read, and quantising their input would take the time."""


class InferenceWeights(LinearCache):
    """Weights that a search keeps for all its sentences. precision: one of `PRECISIONS`, or "int8"."""

    def __init__(self, precision: str = "float32") -> None:
        super().__init__(torch.float32 if precision == "int8" else PRECISIONS[precision])
        self.int8 = precision == "int8"

    def make(self, matrix: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> Product:
        if self.int8 and matrix.shape[0] >= FEWEST_OUTPUTS:
            return Int8Linear(matrix, bias)
        return super().make(matrix, bias)


class Int8Linear:
    """y ≈ W x + b, quantised to 8 bits: W once, with a scale for each row, and every x as it comes, with a scale of its own.

    A row of W becomes the nearest multiples of its largest absolute weight over 127, each x those of its own largest absolute number over
    127. Sums of integers are exact, y is float32, and no x knows of the others. Raises InputError where torch has no such products.
    """

    def __init__(self, matrix: Float[Tensor, "out in"], bias: Float[Tensor, " out"] | None) -> None:
        if matrix.device.type != "cpu" or not available():
            raise InputError("there are no int8 products on this device", remedy='set search.precision = "bfloat16"')
        weights = matrix.detach().float()
        self.scales = scales_of(weights, WEIGHT_LIMIT).squeeze(1)  # (out,)
        quantised = (weights / self.scales.unsqueeze(1)).round_().to(torch.int8)
        self.prepared = torch.ops.onednn.qlinear_prepack(quantised, None)
        self.zeros = torch.zeros(len(weights), dtype=torch.int32)
        self.bias = None if bias is None else bias.detach().float()
        self.limit = input_limit()

    def __call__(self, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
        """y in x's dtype."""
        rows = x.reshape(-1, x.shape[-1]).float()
        scales, zero = scales_of(rows, self.limit), self.limit + 1
        quantised = (rows / scales).round_().add_(zero).to(torch.uint8)  # of either sign, above 0
        y = torch.ops.onednn.qlinear_pointwise(
            quantised, 1.0, zero, self.prepared, self.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        y = y.mul_(scales) if self.bias is None else torch.addcmul(self.bias, y, scales, out=y)
        return y.view(*x.shape[:-1], len(self.scales)).to(x.dtype)


def scales_of(rows: Float[Tensor, "rows n"], limit: int) -> Float[Tensor, "rows 1"]:
    """What one integer step stands for in each row, so that no quantised value is above the limit."""
    return (rows.abs().amax(1, keepdim=True) / limit).clamp_min(torch.finfo(torch.float32).tiny)


def available() -> bool:
    """Whether this torch has oneDNN's int8 products, which are no public part of it."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_pointwise")


def fastest_precision(device: torch.device) -> str:
    """The precision that this device multiplies fastest without a visible loss: bfloat16 where it has such products, else float32.

    Where torch does not say, it is float32: bfloat16 on a CPU without it is slower by far.
    """
    if device.type != "cpu":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    has_bfloat16 = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return "bfloat16" if has_bfloat16 is not None and has_bfloat16() else "float32"


def input_limit() -> int:
    """The largest absolute value of a quantised input: 127, or 63 where there is no VNNI, or where torch does not say.

    Without it pairs of products are summed in 16 bits, which 8 bits of x could overflow.
    """
    has_vnni = getattr(torch.cpu, "_is_vnni_supported", None)
    return 127 if has_vnni is not None and has_vnni() else 63
