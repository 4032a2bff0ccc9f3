"""The alignment posterior with most of its work left out, and a bound on what that can change.

    p(a_i = j | y_≤i, x) ∝ α_ij p(y_i | h_j),  p(y_i | h_j) = exp(z_ij) / Σ_w exp(logit of w)        (translation/posterior.py)

z_ij, the logit of y_i, is one product of two vectors; the sum over all words is what costs. A sum over a few of the words is no larger,
so that with it in the denominator every position has a bound above α_ij p(y_i | h_j). The few are those of the batch's own targets, to
which the source words mostly translate, and the most frequent ones: then the bound is close. Only the positions with high bounds meet
the whole output layer; the others together have at most the share LOSS of the row's posterior, and get 0.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from rnnsearch.model.linear import linear, selected
from rnnsearch.model.network import Direction
from rnnsearch.model.readout import Readout

LOSS = 0.01
"""The largest share of a row's posterior that left-out positions may have together."""
FIRST = 0.03
"""Positions with this share of the row's highest bound meet the whole output layer at once; others only where LOSS demands it."""
FREQUENT = 256
"""How many of the most frequent words are summed in every bound."""
POSITIONS_AT_ONCE, ROWS_AT_ONCE = 1024, 128
"""Positions that meet the few words, and that meet all words, at once: their logits stay in a CPU's cache."""
LARGEST_STEP = 1 << 16
"""Target × source positions that are held at once."""


class BoundedPosterior:
    """Of one direction of a network and one batch. Made and asked inside the `sequence` that has the weights.

    annotations: h_j. targets: all words of the batch, from which the few words are taken.
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
        self.contexts = self.readout.C_o(annotations).flatten(0, 1) if self.is_sum else annotations.flatten(0, 1)
        frequent = torch.arange(min(FREQUENT, self.output.weight.shape[0]), device=targets.device)
        few = torch.cat((targets.flatten(), frequent)).unique()
        self.place = torch.zeros(self.output.weight.shape[0], dtype=torch.int64, device=targets.device)
        self.place[few] = torch.arange(len(few), device=targets.device)
        self.few = selected(self.output, few)

    def rows(
        self,
        hidden: Float[Tensor, "batch target hidden"],
        previous: Float[Tensor, "batch target embedding"],
        weights: Float[Tensor, "batch target source"],
        targets: Int64[Tensor, "batch target"],
        wanted: Bool[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target source"]:
        """Of these target words; hidden, previous, weights as in `TeacherForced`. Rows sum to 1.

        A row that nobody wants, and one that was read from no context, is 0.
        """
        batch, target, source = weights.shape
        asked = (wanted & weights.any(-1)).flatten().nonzero().squeeze(1)
        found = weights.new_zeros(batch * target, source)
        flat = hidden.flatten(0, 1), previous.flatten(0, 1), weights.flatten(0, 1), targets.flatten()
        for some in asked.split(max(1, LARGEST_STEP // source)):
            h, p, w, t = (each[some] for each in flat)
            found[some] = self._some(h, p, w, t, some // target)
        return found.view(batch, target, source)

    def _some(
        self,
        hidden: Float[Tensor, "rows hidden"],
        previous: Float[Tensor, "rows embedding"],
        weights: Float[Tensor, "rows source"],
        targets: Int64[Tensor, " rows"],
        sentences: Int64[Tensor, " rows"],
    ) -> Float[Tensor, "rows source"]:
        own = self.readout.U_o(hidden) + self.readout.V_o(previous) if self.is_sum else None
        row, position = weights.nonzero(as_tuple=True)
        context = sentences[row] * weights.shape[1] + position
        features, logits, few = [], [], []
        for r, c in zip(row.split(POSITIONS_AT_ONCE), context.split(POSITIONS_AT_ONCE), strict=True):
            if own is None:
                read = self.readout(hidden[r].unsqueeze(0), previous[r].unsqueeze(0), self.contexts[c].unsqueeze(0)).squeeze(0)
            else:
                read = self.readout.activation(own[r] + self.contexts[c])
            features.append(self.output.features(read))
            of_few = self.few(features[-1])
            logits.append(of_few.gather(1, self.place[targets[r]].unsqueeze(1)).squeeze(1))
            few.append(log_sum(of_few))
        read, joint = torch.cat(features), weights[row, position].log() + torch.cat(logits)
        place = torch.full(weights.shape, -1, device=weights.device)
        place[row, position] = torch.arange(len(row), device=weights.device)
        bounds = torch.full_like(weights, -torch.inf)
        bounds[row, position] = joint - torch.cat(few)
        return self._refined(bounds, place, read, joint)

    def _refined(
        self,
        bounds: Float[Tensor, "rows source"],
        place: Int64[Tensor, "rows source"],
        features: Float[Tensor, "positions feature"],
        joint: Float[Tensor, " positions"],
    ) -> Float[Tensor, "rows source"]:
        """bounds: log b_ij. place: where features and joint, log α_ij + z_ij, have a position, or −1."""
        highest = bounds.amax(1, keepdim=True)
        exact = torch.full_like(bounds, -torch.inf)

        def meet(chosen: Bool[Tensor, "rows source"]) -> None:
            which = place[chosen]
            exact[chosen] = joint[which] - self._normaliser(features[which])

        first = bounds >= highest + math.log(FIRST)
        meet(first)
        # All shares are of the row's highest bound: none overflows, and what vanishes is no part of the posterior.
        known, others = (exact - highest).exp().sum(1, keepdim=True), (bounds - highest).exp().masked_fill_(first, 0.0)
        lacking = others.sum(1, keepdim=True) > LOSS * known
        # What stays below this in the rows that lack something adds up to LOSS · known at most.
        smallest = LOSS * known / (others > 0).sum(1, keepdim=True).clamp(min=1)
        second = lacking & (others > smallest)
        if bool(second.any()):
            meet(second)
        return torch.softmax(exact, 1)

    def _normaliser(self, features: Float[Tensor, "positions feature"]) -> Float[Tensor, " positions"]:
        """log Σ_w exp(logit of w) over all words."""
        return torch.cat([log_sum(linear(self.output, some)) for some in features.split(ROWS_AT_ONCE)])


SMALLEST_SUM = 1e-30
"""Of exponentials: below it terms that count could have vanished."""


def log_sum(logits: Float[Tensor, "rows words"]) -> Float[Tensor, " rows"]:
    """log Σ exp of each row. A network's logits are small, so that their maximum need hardly ever be found and subtracted first."""
    sums = logits.exp().sum(1)
    if bool(((sums > SMALLEST_SUM) & sums.isfinite()).all()):
        return sums.log()
    return logits.logsumexp(1)
