"""A fast estimate of the alignment posterior, with a bound on its error.

    p(a_i = j | y_≤i, x) ∝ α_ij p(y_i | h_j)    (translation/forced.py)
    p(y_i | h_j) = exp(z_ij) / Σ_w exp(logit of w)

z_ij, the logit of y_i, is one dot product; the sum over all words is expensive. A sum over a few words is
smaller, so with it as the denominator the quotient is an upper bound of α_ij p(y_i | h_j). The few words are
the sentence's own target words, to which its source words mostly translate, and the most frequent words: they
make the bound tight.

Only positions with high bounds are computed with the whole output layer. The others together have at most
LOSS of their row's exact posterior. Their values are their bounds, lowered by the mean excess of the bounds
at the computed positions.
"""

from __future__ import annotations

import math
from copy import copy

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from rnnsearch.model.layers import once, product_dtype
from rnnsearch.model.network import Direction
from rnnsearch.model.readout import OutputLayer, Readout

LOSS = 0.1
"""Maximum total variation between a row and the exact posterior of the same state, apart from rounding. The
actual difference is mostly far smaller. Later states depend on estimated rows; this further error has no
bound."""
FIRST = 0.1
"""Positions whose bound is at least this share of the row's highest bound are computed exactly from the
start; others only if LOSS requires it."""
FREQUENT = 64
"""Number of frequent words that are summed in every bound, besides those of the sentence; a few more to fill
up `MULTIPLE`."""
ROWS_AT_ONCE = 128
"""Positions computed exactly in one product: their logits fit in a CPU's cache."""
MULTIPLE = 32
"""Sizes of products are padded to multiples of this. A CPU kernel is compiled for each new number of rows,
which takes as long as many products. For some numbers of words, kernels are ten times slower."""
SMALLEST_SUM = 1e-30
"""Smallest reliable sum of exponentials: below it, important terms may have underflowed."""


class BoundedPosterior:
    """The posterior of one direction of a network for one batch. It must be made and used inside the open
    weight cache.

    annotations: h_j. targets: all words of the batch, in the order in which they are read.
    """

    def __init__(
        self,
        direction: Direction,
        annotations: Float[Tensor, "batch source annotation"],
        targets: Int64[Tensor, "batch target"],
    ) -> None:
        self.readout, self.output, self.annotations = direction.readout, direction.output, annotations
        # t̃_ij = (U_o s + V_o E y) + C_o h_j: each part is computed once, unless a custom
        # readout is no such sum.
        self.is_sum = type(self.readout).forward is Readout.forward
        self.contexts = self.readout.C_o(annotations) if self.is_sum else None
        weight, bias = self.output.weight, self.output.bias
        self.target_weights, self.target_biases = (
            weight[targets],
            bias[targets],
        )  # (batch, target, feature), (batch, target)
        self.all = _all_words(self.output)
        count = FREQUENT + -(FREQUENT + targets.shape[1]) % MULTIPLE
        frequent = torch.arange(min(count, len(weight)), device=targets.device).expand(len(targets), -1)
        few = torch.cat((targets, frequent), 1)  # of each sentence
        counted = _counted_once(targets, frequent.shape[1])
        self.few = _Words(
            weight[few].to(self.all.by_feature.dtype).mT, bias[few].masked_fill(~counted, -torch.inf)
        )

    def select(self, chosen: Int64[Tensor, " kept"]) -> BoundedPosterior:
        """Returns the posterior of some pairs of the batch."""
        some = copy(self)
        for name in ("annotations", "contexts", "target_weights", "target_biases", "few"):
            of_all = getattr(self, name)
            setattr(some, name, None if of_all is None else of_all[chosen])
        return some

    def row(
        self,
        i: int,
        hidden: Float[Tensor, "batch 1 hidden"],
        previous: Float[Tensor, "batch 1 embedding"],
        weights: Float[Tensor, "batch 1 source"],
        wanted: Bool[Tensor, " batch"],
    ) -> Float[Tensor, "batch 1 source"]:
        """Returns the row of the i-th words. hidden, previous, weights: as in `TeacherForced`. Rows sum to 1.

        A row that is not wanted, or was read from no context, is 0.
        """
        if self.contexts is None:
            size = weights.shape[2]
            read = self.readout(hidden.expand(-1, size, -1), previous.expand(-1, size, -1), self.annotations)
        else:
            read = self.readout.activation(
                self.readout.U_o(hidden) + self.readout.V_o(previous) + self.contexts
            )
        features = self.output.features(read)  # (batch, source, feature)
        of_target = (
            torch.bmm(features, self.target_weights[:, i].unsqueeze(2)).squeeze(2)
            + self.target_biases[:, i : i + 1]
        )
        joint = weights.squeeze(1).log() + of_target
        found = weights.new_zeros(weights.shape)
        some = (wanted & weights.any(-1).squeeze(1)).nonzero().squeeze(1)
        if len(some):
            low = features.to(self.all.by_feature.dtype)
            bounds = joint[some] - self.few.log_sum(low)[some]
            found[some, 0] = self._refined(bounds, joint[some], low[some])
        return found

    def _refined(
        self,
        bounds: Float[Tensor, "rows source"],
        joint: Float[Tensor, "rows source"],
        features: Float[Tensor, "rows source feature"],
    ) -> Float[Tensor, "rows source"]:
        """Returns the posterior. bounds: logarithms of upper bounds of α_ij p(y_i | h_j). joint: log α_ij +
        z_ij."""
        highest = bounds.amax(1, keepdim=True)
        exact = torch.full_like(bounds, -torch.inf)

        def compute(chosen: Bool[Tensor, "rows source"]) -> None:
            exact[chosen] = joint[chosen] - self._normaliser(features[chosen])

        computed = bounds >= highest + math.log(FIRST)
        compute(computed)
        # Shares are relative to the row's highest bound: none overflows, and those that underflow do not
        # matter.
        known, others = (
            (exact - highest).exp().sum(1, keepdim=True),
            (bounds - highest).exp().masked_fill_(computed, 0.0),
        )
        # The smallest shares stay estimates while their sum is at most LOSS · known. Computing further
        # positions only increases `known`.
        smallest, order = others.sort(dim=1)
        further = torch.zeros_like(computed).scatter_(1, order, smallest.cumsum(1) > LOSS * known)
        if bool(further.any()):
            compute(further)
            computed = computed | further
        excess = (bounds - exact).masked_fill(~computed, 0.0).sum(1, keepdim=True)
        gap = excess / computed.sum(1, keepdim=True)
        return torch.softmax(torch.where(computed, exact, bounds - gap.clamp(min=0.0)), 1)

    def _normaliser(self, features: Float[Tensor, "positions feature"]) -> Float[Tensor, " positions"]:
        """Returns log Σ_w exp(logit of w) over all words."""
        count = len(features)
        filled = torch.nn.functional.pad(features, (0, 0, 0, -count % MULTIPLE))
        return torch.cat([self.all.log_sum(some) for some in filled.split(ROWS_AT_ONCE)])[:count]


class _Words:
    """Some words of the output layer. by_feature: in the dtype of the products. bias: −∞ leaves a word out.

    In bfloat16 a sum is rounded as its products are, so a bound may be too low by such a rounding error.
    """

    def __init__(
        self, by_feature: Float[Tensor, "*batch feature words"], bias: Float[Tensor, "*batch words"]
    ) -> None:
        self.by_feature, self.bias = by_feature, bias
        self.factors = bias.exp().to(by_feature.dtype).unsqueeze(-1)
        """exp(logit + b) = exp(logit) exp(b): so b costs no pass over the logits, and their sum is a product.
        """

    def __getitem__(self, chosen: Int64[Tensor, " kept"]) -> _Words:
        return _Words(self.by_feature[chosen], self.bias[chosen])

    def log_sum(self, features: Float[Tensor, "*batch rows feature"]) -> Float[Tensor, "*batch rows"]:
        """Returns log Σ_w exp(logit of w), in the dtype of the bias. Logits are small, so their maximum
        rarely has to be subtracted."""
        sums = (
            torch.matmul(torch.matmul(features, self.by_feature).exp_(), self.factors)
            .squeeze(-1)
            .to(self.bias.dtype)
        )
        if bool(((sums > SMALLEST_SUM) & sums.isfinite()).all()):
            return sums.log_()
        return (
            torch.matmul(features, self.by_feature).to(self.bias.dtype) + self.bias.unsqueeze(-2)
        ).logsumexp(-1)


def _all_words(output: OutputLayer) -> _Words:
    """Returns all words, prepared once for the open cache, in the dtype of its products."""

    def make() -> _Words:
        by_feature = output.weight.to(product_dtype(output.weight)).t().contiguous()  # twice as fast as rows
        return _Words(by_feature, output.bias)

    return once(output.bias, make)  # not of the matrix, which two tied layers share


def _counted_once(targets: Int64[Tensor, "batch target"], frequent: int) -> Bool[Tensor, "batch few"]:
    """Returns the mask of first occurrences in [target words, frequent words]."""
    order = targets.sort(dim=1, stable=True)
    first = torch.ones_like(targets, dtype=torch.bool)
    first[:, 1:] = order.values[:, 1:] != order.values[:, :-1]
    own = torch.zeros_like(first).scatter_(1, order.indices, first) & (targets >= frequent)
    return torch.cat((own, own.new_ones(len(own), frequent)), 1)
