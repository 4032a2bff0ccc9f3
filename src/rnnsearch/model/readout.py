"""The deep output, with one hidden layer: from state, previous word and context to the distribution
over words (Eq. 4; A.2.2)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from rnnsearch.model.layers import HasWeight, Linear, gaussian, tanh, zeros


class Readout(nn.Module):
    """The hidden layer t_i of the output. It is outside the recurrence, so training computes it
    once for all steps."""

    layer_size: int
    """Units of t̃ for each unit of t."""
    U_o: Linear
    V_o: Linear
    C_o: Linear

    def __init__(
        self, hidden_size: int, embedding_size: int, context_size: int, readout_size: int
    ) -> None:
        super().__init__()
        size = self.layer_size * readout_size
        self.U_o = Linear(hidden_size, size, bias=True)
        self.V_o = Linear(embedding_size, size)
        self.C_o = Linear(context_size, size)

    def forward(
        self,
        hidden: Float[Tensor, "batch rows hidden"],
        previous: Float[Tensor, "batch rows embedding"] | None,
        context: Float[Tensor, "batch rows context"],
    ) -> Float[Tensor, "batch rows readout"]:
        """Computes t_i (Eq. 4). rows: target positions in training, hypotheses in search. previous:
        E y_{i−1}; None at the first step."""
        layer = self.U_o(hidden) + self.C_o(context)
        return self.activation(layer if previous is None else layer + self.V_o(previous))

    def activation(self, layer: Float[Tensor, "*rest layer"]) -> Float[Tensor, "*rest readout"]:
        """Maps t̃, of layer_size · readout_size units, to t."""
        raise NotImplementedError


class MaxoutReadout(Readout):
    """t_i = [max(t̃_{i,2j−1}, t̃_{i,2j})]_{j=1…l} with t̃_i = U_o s + V_o E y_{i−1} + C_o c
    (A.2.2)."""

    layer_size = 2

    def activation(self, layer: Float[Tensor, "*rest layer"]) -> Float[Tensor, "*rest readout"]:
        """Computes the maximum of every pair of units."""
        return torch.maximum(layer[..., 0::2], layer[..., 1::2])


class TanhReadout(Readout):
    """t_i = tanh(U_o s + V_o E y_{i−1} + C_o c)."""

    layer_size = 1

    def activation(self, layer: Float[Tensor, "*rest layer"]) -> Float[Tensor, "*rest readout"]:
        """Computes tanh t̃."""
        return tanh(layer)


READOUTS: dict[str, type[Readout]] = {"maxout": MaxoutReadout, "tanh": TanhReadout}


class OutputLayer(HasWeight):
    """p(y_i) ∝ exp(y_iᵀ W_o t_i) (A.2.2): W_o is (K, l); factored, as in the released
    implementation, it is (K, m) after a layer l → m. tied: the target embedding matrix (K, m), to
    be used as W_o.
    """

    weight: nn.Parameter
    bias: nn.Parameter

    def __init__(
        self,
        readout_size: int,
        embedding_size: int,
        words: int,
        factored: bool,
        tied: nn.Parameter | None,
    ) -> None:
        super().__init__()
        self.factor = Linear(readout_size, embedding_size) if factored else None
        if tied is None:
            tied = nn.Parameter(torch.empty(words, embedding_size if factored else readout_size))
            gaussian(0.01)(tied)
        self.weight, self.bias = tied, nn.Parameter(torch.empty(words))
        zeros(self.bias)

    def features(self, readout: Float[Tensor, "*rest readout"]) -> Float[Tensor, "*rest feature"]:
        """Returns the input of W_o: t_i itself, or the output of the layer l → m."""
        return readout if self.factor is None else self.factor(readout)

    def logits(self, features: Float[Tensor, "*rest feature"]) -> Float[Tensor, "*rest words"]:
        """Returns W_o t + b. Training and forced decoding call it for a part of the rows at a time,
        because all logits of a batch need too much memory."""
        return F.linear(features, self.weight, self.bias)
