"""Linear layers whose weights are converted once, to the precision of their products.

Search multiplies few rows, a dozen for one sentence, so most of a product's time is spent on
reading the matrix. int8 is read four times as fast as float32, and CPUs with int8 products compute
them about twice as fast as bfloat16. In training a conversion lasts for one batch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from rnnsearch.kernels.int8 import Int8Linear, SharedInputs
from rnnsearch.model.layers import HasWeight, Linear
from rnnsearch.model.readout import OutputLayer
from rnnsearch.system.tensors import FEWEST_OUTPUTS

Product = Callable[[Tensor], Tensor]
"""(..., in) → (..., out)."""


class Precision:
    """The precision of a converted network's products. Inputs, outputs and gradients stay float32;
    layers of other dtypes are unchanged.

    dtype: float32, bfloat16 or int8. int8: the inputs that int8 layers share; None for other
    dtypes.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self.int8 = SharedInputs() if dtype == torch.int8 else None
        self.dtype = torch.float32 if self.int8 else dtype

    def of(self, weight: Tensor) -> torch.dtype:
        """Returns the dtype in which a layer with this weight computes what is not int8."""
        return self.dtype if weight.dtype == torch.float32 else weight.dtype

    def product(self, layer: HasWeight) -> Product:
        """Returns the function that maps x to the outputs of a layer, whose weights must not
        change."""
        matrix, bias = layer.weight, layer.bias
        if self.int8 and len(matrix) >= FEWEST_OUTPUTS:
            return Int8Linear(matrix, bias, self.int8)
        dtype = self.of(matrix)
        low, low_bias = matrix.to(dtype), None if bias is None else bias.to(dtype)
        return lambda x: F.linear(x.to(dtype), low, low_bias).to(x.dtype)


class Converted(HasWeight):
    """A layer of a converted network. The attributes are set by `convert`."""

    precision: Precision
    _product: Product | None = None

    def multiply(self, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
        """Returns W x (+ b)."""
        if self._product is None:
            self._product = self.precision.product(self)
        return self._product(x)


class FastLinear(Converted, Linear):
    """A linear layer with converted weights."""

    EQUALS = ("model.layers:Linear.forward",)
    WHAT = "linear layers are computed"

    def forward(self, x: Float[Tensor, "*rest in"]) -> Float[Tensor, "*rest out"]:
        """Computes W x (+ b)."""
        return self.multiply(x)


class FastOutput(Converted, OutputLayer):
    """An output layer with converted weights."""

    weight: torch.nn.Parameter
    bias: torch.nn.Parameter
    EQUALS = ("model.readout:OutputLayer.logits",)
    WHAT = "the output layer is computed"

    def logits(self, features: Float[Tensor, "*rest feature"]) -> Float[Tensor, "*rest words"]:
        """Returns W_o t + b."""
        return self.multiply(features)
