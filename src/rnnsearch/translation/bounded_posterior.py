"""The alignment posterior with most of its work left out, and a bound on what that can change.

    p(a_i = j | y_≤i, x) ∝ α_ij p(y_i | h_j),  p(y_i | h_j) = exp(z_ij) / Σ_w exp(logit of w)        (translation/posterior.py)

z_ij, the logit of y_i, is one product of two vectors; the sum over all words is what costs. A sum over a few of the words is no larger,
so that with it in the denominator every position has a bound above α_ij p(y_i | h_j). The few are the sentence's own target words, to
which its source words mostly translate, and the most frequent ones: then the bound is close. Only the positions with high bounds meet
the whole output layer; the true posterior of the others is LOSS of their row at most, together. What they get is estimated: their
bounds, lowered as those of the positions that met all words turned out to be too high.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from rnnsearch.model.linear import linear
from rnnsearch.model.network import Direction
from rnnsearch.model.readout import Readout

LOSS = 0.1
"""No row is further than this from the exact posterior, as total variation. Mostly it is nearer by far, since bounds are not reached."""
FIRST = 0.1
"""Positions with this share of the row's highest bound meet the whole output layer at once; others only where LOSS demands it."""
FREQUENT = 64
"""How many of the most frequent words are summed in every bound, beside those of the sentence."""
ROWS_AT_ONCE = 128
"""Positions that meet all words at once: their logits stay in a CPU's cache."""
SMALLEST_SUM = 1e-30
"""Of exponentials: below it terms that count could have vanished."""


class BoundedPosterior:
    """Of one direction of a network and one batch. Made and asked inside the `sequence` that has the weights.

    annotations: h_j. targets: all words of the batch, in the order in which they are read.
    """

    def __init__(
        self,
        direction: Direction,
        annotations: Float[Tensor, "batch source annotation"],
        targets: Int64[Tensor, "batch target"],
    ) -> None:
        self.readout, self.output, self.annotations = direction.readout, direction.output, annotations
        # t̃_ij = (U_o s + V_o E y) + C_o h_j: the two parts are computed once each, unless somebody's own readout is no such sum.
        self.is_sum = type(self.readout).forward is Readout.forward
        self.contexts = self.readout.C_o(annotations) if self.is_sum else None
        words = self.output.weight.shape[0]
        frequent = torch.arange(min(FREQUENT, words), device=targets.device).expand(len(targets), -1)
        few = torch.cat((targets, frequent), 1)  # of each sentence; its own words first, so that y_i stands at i
        self.few_weights = self.output.weight[few].mT  # (batch, feature, few)
        self.few_biases = self.output.bias[few].unsqueeze(1)
        self.counts = _counted_once(targets, frequent.shape[1]).to(self.few_weights.dtype).unsqueeze(2)  # (batch, few, 1)

    def row(
        self,
        i: int,
        hidden: Float[Tensor, "batch 1 hidden"],
        previous: Float[Tensor, "batch 1 embedding"],
        weights: Float[Tensor, "batch 1 source"],
        wanted: Bool[Tensor, " batch"],
    ) -> Float[Tensor, "batch 1 source"]:
        """Of the i-th words; hidden, previous, weights as in `TeacherForced`. Rows sum to 1.

        A row that nobody wants, and one that was read from no context, is 0.
        """
        if self.contexts is None:
            size = weights.shape[2]
            read = self.readout(hidden.expand(-1, size, -1), previous.expand(-1, size, -1), self.annotations)
        else:
            read = self.readout.activation(self.readout.U_o(hidden) + self.readout.V_o(previous) + self.contexts)
        features = self.output.features(read)  # (batch, source, feature)
        logits = torch.baddbmm(self.few_biases, features, self.few_weights)  # (batch, source, few)
        joint = weights.squeeze(1).log() + logits[..., i]
        found = weights.new_zeros(weights.shape)
        some = (wanted & weights.any(-1).squeeze(1)).nonzero().squeeze(1)
        if len(some):
            bounds = joint[some] - self._few_sum(logits, features)[some]
            found[some, 0] = self._refined(bounds, joint[some], features[some])
        return found

    def _few_sum(
        self, logits: Float[Tensor, "batch source few"], features: Float[Tensor, "batch source feature"]
    ) -> Float[Tensor, "batch source"]:
        """log Σ exp of the few words, each counted once. The logits are overwritten."""
        sums = torch.bmm(logits.exp_(), self.counts).squeeze(2)
        if bool(((sums > SMALLEST_SUM) & sums.isfinite()).all()):
            return sums.log_()
        again = torch.baddbmm(self.few_biases, features, self.few_weights)
        return again.masked_fill_(self.counts.mT == 0, -torch.inf).logsumexp(2)

    def _refined(
        self,
        bounds: Float[Tensor, "rows source"],
        joint: Float[Tensor, "rows source"],
        features: Float[Tensor, "rows source feature"],
    ) -> Float[Tensor, "rows source"]:
        """bounds: log of those above α_ij p(y_i | h_j). joint: log α_ij + z_ij."""
        highest = bounds.amax(1, keepdim=True)
        exact = torch.full_like(bounds, -torch.inf)

        def meet(chosen: Bool[Tensor, "rows source"]) -> None:
            exact[chosen] = joint[chosen] - self._normaliser(features[chosen])

        met = bounds >= highest + math.log(FIRST)
        meet(met)
        # All shares are of the row's highest bound: none overflows, and what vanishes is no part of the posterior.
        known, others = (exact - highest).exp().sum(1, keepdim=True), (bounds - highest).exp().masked_fill_(met, 0.0)
        lacking = others.sum(1, keepdim=True) > LOSS * known
        # What stays below this in the rows that lack something adds up to LOSS · known at most.
        smallest = LOSS * known / (others > 0).sum(1, keepdim=True).clamp(min=1)
        further = lacking & (others > smallest)
        if bool(further.any()):
            meet(further)
            met = met | further
        gap = (bounds - exact).masked_fill(~met, 0.0).sum(1, keepdim=True) / met.sum(1, keepdim=True)
        return torch.softmax(torch.where(met, exact, bounds - gap.clamp(min=0.0)), 1)

    def _normaliser(self, features: Float[Tensor, "positions feature"]) -> Float[Tensor, " positions"]:
        """log Σ_w exp(logit of w) over all words."""
        logits = partial(linear, self.output)
        return torch.cat([log_sum(logits(some), partial(logits, some)) for some in features.split(ROWS_AT_ONCE)])


def _counted_once(targets: Int64[Tensor, "batch target"], frequent: int) -> Bool[Tensor, "batch few"]:
    """Which of a sentence's words, followed by the frequent ones, a sum has to count so that it counts none twice."""
    order = targets.sort(dim=1, stable=True)
    first = torch.ones_like(targets, dtype=torch.bool)
    first[:, 1:] = order.values[:, 1:] != order.values[:, :-1]
    own = torch.zeros_like(first).scatter_(1, order.indices, first) & (targets >= frequent)
    return torch.cat((own, own.new_ones(len(own), frequent)), 1)


def log_sum(logits: Float[Tensor, "rows words"], again: Callable[[], Tensor]) -> Float[Tensor, " rows"]:
    """log Σ exp of each row of the logits, which are overwritten; `again` computes them anew.

    A network's logits are small, so that their maximum need hardly ever be found and subtracted first.
    """
    sums = logits.exp_().sum(1)
    if bool(((sums > SMALLEST_SUM) & sums.isfinite()).all()):
        return sums.log_()
    return again().logsumexp(1)
