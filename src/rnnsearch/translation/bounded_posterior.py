"""The alignment posterior with most of its work left out, and a bound on what that can change.

    p(a_i = j | y_≤i, x) ∝ α_ij p(y_i | h_j)    (translation/forced.py)
    p(y_i | h_j) = exp(z_ij) / Σ_w exp(logit of w)

z_ij, the logit of y_i, is one product of two vectors; the sum over all words is what costs. A sum over a few
of the words is no larger, so that with it in the denominator every position has a bound above α_ij p(y_i |
h_j). The few are the sentence's own target words, to which its source words mostly translate, and the most
frequent ones: then the bound is close. Only the positions with high bounds meet the whole output layer; the
true posterior of the others is LOSS of their row at most, together. What they get is estimated: their bounds,
lowered as those of the positions that met all words turned out to be too high.
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
"""No row is further than this from the exact posterior of the same state, as total variation, but for the
rounding of the products. Mostly it is nearer by far, since bounds are not reached. Later states are made of
what was estimated, which has no bound."""
FIRST = 0.1
"""Positions with this share of the row's highest bound meet the whole output layer at once; others only where
LOSS demands it."""
FREQUENT = 64
"""How many of the most frequent words are summed in every bound, beside those of the sentence, or a few more
(`MULTIPLE`)."""
ROWS_AT_ONCE = 128
"""Positions that meet all words at once: their logits stay in a CPU's cache."""
MULTIPLE = 32
"""What sizes of products are filled up to. A CPU's kernel is compiled for each new number of rows, which
takes as long as many products, and some numbers of words have kernels that take ten times as long as others.
"""
SMALLEST_SUM = 1e-30
"""Of exponentials: below it terms that count could have vanished."""


class BoundedPosterior:
    """The posterior of one direction of a network for one batch. Made and asked inside the open cache of the
    weights.

    annotations: h_j. targets: all words of the batch, in the order in which they are read.
    """

    def __init__(
        self,
        direction: Direction,
        annotations: Float[Tensor, "batch source annotation"],
        targets: Int64[Tensor, "batch target"],
    ) -> None:
        self.readout, self.output, self.annotations = direction.readout, direction.output, annotations
        # t̃_ij = (U_o s + V_o E y) + C_o h_j: the two parts are computed once each, unless somebody's own
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

        A row that nobody wants, and one that was read from no context, is 0.
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
        """Returns the posterior. bounds: log of those above α_ij p(y_i | h_j). joint: log α_ij + z_ij."""
        highest = bounds.amax(1, keepdim=True)
        exact = torch.full_like(bounds, -torch.inf)

        def meet(chosen: Bool[Tensor, "rows source"]) -> None:
            exact[chosen] = joint[chosen] - self._normaliser(features[chosen])

        met = bounds >= highest + math.log(FIRST)
        meet(met)
        # All shares are of the row's highest bound: none overflows, and what vanishes is no part of the
        # posterior.
        known, others = (
            (exact - highest).exp().sum(1, keepdim=True),
            (bounds - highest).exp().masked_fill_(met, 0.0),
        )
        # The smallest of them are left as long as they add up to LOSS · known at most: those that were met
        # only make `known` larger.
        smallest, order = others.sort(dim=1)
        further = torch.zeros_like(met).scatter_(1, order, smallest.cumsum(1) > LOSS * known)
        if bool(further.any()):
            meet(further)
            met = met | further
        gap = (bounds - exact).masked_fill(~met, 0.0).sum(1, keepdim=True) / met.sum(1, keepdim=True)
        return torch.softmax(torch.where(met, exact, bounds - gap.clamp(min=0.0)), 1)

    def _normaliser(self, features: Float[Tensor, "positions feature"]) -> Float[Tensor, " positions"]:
        """Returns log Σ_w exp(logit of w) over all words."""
        count = len(features)
        filled = torch.nn.functional.pad(features, (0, 0, 0, -count % MULTIPLE))
        return torch.cat([self.all.log_sum(some) for some in filled.split(ROWS_AT_ONCE)])[:count]


class _Words:
    """Some words of the output layer. by_feature: in the dtype of the products. bias: −∞ leaves a word out.

    In bfloat16 a sum is rounded like the products that it is made of, and a bound may be too low by as
    little.
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
        """Returns log Σ_w exp(logit of w), in the dtype of the bias. Logits are small: their maximum need
        hardly ever be subtracted."""
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
