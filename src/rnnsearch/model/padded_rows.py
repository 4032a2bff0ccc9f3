"""Rows of a product, made up to a number that comes back.

oneDNN compiles a kernel for every shape of a bfloat16 or 8-bit product, which takes as long as some ten products, and only some shapes are
kept (system/machine.py). In a search the number of hypotheses changes with almost every word. A few rows of zeros more cost less.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

STEPS = {16: 1, 128: 16, 512: 32}
"""Up to so many rows → their number is a multiple of this; beyond, of 64."""


def padded_rows(x: Float[Tensor, "*rest n"], dtype: torch.dtype) -> Float[Tensor, "padded n"]:
    """The rows of x in that dtype as a matrix, on a CPU with rows of zeros below them."""
    rows = x.reshape(-1, x.shape[-1])
    size = padded_size(len(rows))
    if x.device.type != "cpu" or dtype in (torch.float32, torch.float64) or size == len(rows):
        return rows.to(dtype)
    padded = rows.new_zeros((size, rows.shape[1]), dtype=dtype)
    padded[: len(rows)] = rows
    return padded


def padded_size(rows: int) -> int:
    step = next((step for most, step in STEPS.items() if rows <= most), 64)
    return -(-rows // step) * step
