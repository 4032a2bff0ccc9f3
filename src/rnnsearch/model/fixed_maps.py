"""Linear maps whose weights stay as they are, as search needs them: each matrix is converted once, to whole numbers if that is wanted.

A search multiplies few rows, a dozen for one sentence, so that most of a product's time goes into reading the matrix. Bytes are read four
times as fast as float32, and processors that multiply them do so about twice as fast as bfloat16.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.model.sequence_linear import Map, Maps
from rnnsearch.system.machine import PRECISIONS

WEIGHT_LIMIT = 127
"""Largest absolute value of the whole numbers that stand for the weights of a row."""
FEWEST_OUTPUTS = 16
"""Maps to fewer outputs, such as v_a, stay in float32: there is little to read, and converting their input would take the time."""


class FixedMaps(Maps):
    """Maps of weights that stay as they are: a search keeps them for all its sentences. precision: one of `PRECISIONS`, or "int8"."""

    def __init__(self, precision: str = "float32") -> None:
        super().__init__(torch.float32 if precision == "int8" else PRECISIONS[precision])
        self.whole_numbers = precision == "int8"

    def make(self, matrix: Tensor, bias: Tensor | None) -> Map:
        if self.whole_numbers and matrix.shape[0] >= FEWEST_OUTPUTS:
            return WholeNumberMap(matrix, bias)
        return super().make(matrix, bias)


class WholeNumberMap:
    """y ≈ M x + b with whole numbers in place of M (out, in) and of x.

    A row of M becomes the nearest multiples of its largest absolute weight over 127, each x those of its own largest absolute number over
    127. Sums of whole numbers are exact, y is float32, and no x knows of the others. Raises InputError where torch has none such.
    """

    def __init__(self, matrix: Tensor, bias: Tensor | None) -> None:
        if matrix.device.type != "cpu" or not torch.backends.mkldnn.is_available():
            raise InputError("there are no products of whole numbers on this device", remedy='set search.precision = "bfloat16"')
        weights = matrix.detach().float()
        self.scales = _steps(weights, WEIGHT_LIMIT).squeeze(1)  # (out,)
        whole = (weights / self.scales.unsqueeze(1)).round_().to(torch.int8)
        self.prepared = torch.ops.onednn.qlinear_prepack(whole, None)
        self.zeros = torch.zeros(len(weights), dtype=torch.int32)
        self.bias = None if bias is None else bias.detach().float()
        # Where there is no VNNI, pairs of products are summed in 16 bits, which 8 bits of x could overflow.
        self.limit = 127 if torch.cpu._is_vnni_supported() else 63

    def __call__(self, x: Tensor) -> Tensor:
        """x: (..., in) → (..., out), in x's dtype."""
        rows = x.reshape(-1, x.shape[-1]).float()
        steps, zero = _steps(rows, self.limit), self.limit + 1
        whole = (rows / steps).round_().add_(zero).to(torch.uint8)  # of either sign, above 0
        y = torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, zero, self.prepared, self.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        y = y.mul_(steps) if self.bias is None else torch.addcmul(self.bias, y, steps, out=y)
        return y.view(*x.shape[:-1], len(self.scales)).to(x.dtype)


def _steps(rows: Tensor, limit: int) -> Tensor:
    """What a whole number stands for in each row (rows, n), so that none is above the limit: (rows, 1)."""
    return (rows.abs().amax(1, keepdim=True) / limit).clamp_min(torch.finfo(torch.float32).tiny)
