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
from collections.abc import Callable, Sequence
from copy import copy

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from rnnsearch.model.decoder import Source
from rnnsearch.model.layers import once, product_dtype
from rnnsearch.model.network import Direction
from rnnsearch.model.readout import MaxoutReadout, OutputLayer, Readout

LOSS = 0.1
"""Maximum total variation between a row and the exact posterior of the same state, apart from rounding. The
actual difference is mostly far smaller. Later states depend on estimated rows; this further error has no
bound."""
FIRST = 0.1
"""Positions whose bound is at least this share of the row's highest bound are computed exactly from the
start; others only if LOSS requires it."""
FREQUENT = 256
"""Number of frequent words that are summed in every bound, besides those of the sentence."""
ROWS_AT_ONCE, WORDS_AT_ONCE = 256, 2560
"""Positions and words of a product over all words: weights and logits fit in a core's cache."""
SENTENCES_AT_ONCE = 32
"""Sentences whose bounds are computed together, without the padding beyond their longest source."""
MULTIPLE = 32
"""Sizes of products are padded to multiples of this. A CPU kernel is compiled for each new number of rows,
which takes as long as many products. For some numbers of words, kernels are ten times slower."""
SMALLEST_SUM = 1e-30
"""Smallest reliable sum of exponentials: below it, important terms may have underflowed."""


class BoundedPosterior:
    """The posterior of one direction of a network for one batch. It must be made and used inside the open
    weight cache.

    source: the encoded sentences. targets: all words of the batch, in the order in which they are read.
    """

    def __init__(self, direction: Direction, source: Source, targets: Int64[Tensor, "batch target"]) -> None:
        self.readout, self.output, self.annotations = direction.readout, direction.output, source.annotations
        self.all = _all_words(self.output)
        low = self.all[0].by_feature.dtype
        # t̃_ij = (U_o s + V_o E y) + C_o h_j: each part is computed once, unless a custom
        # readout is no such sum. The units of maxout are stored as [odd; even], which is faster.
        self.is_sum = type(self.readout).forward is Readout.forward
        self.is_maxout = type(self.readout) is MaxoutReadout and self.output.factor is None
        self.contexts = self._layer(self.readout.C_o(source.annotations)) if self.is_sum else None
        if self.contexts is not None and self.is_maxout:
            self.contexts = self.contexts.to(low)
        lengths, groups = source.mask.sum(-1).squeeze(1), range(0, len(targets), SENTENCES_AT_ONCE)
        self.groups = [slice(begin, begin + SENTENCES_AT_ONCE) for begin in groups]
        self.widths = [int(lengths[group].max()) for group in self.groups]
        weight, bias = self.output.weight, self.output.bias
        padded = torch.nn.functional.pad(targets, (0, -targets.shape[1] % MULTIPLE))
        self.target_weights, self.target_biases = weight[padded], bias[padded]  # (batch, target, feature), …
        frequent = min(FREQUENT, len(weight), WORDS_AT_ONCE)
        own = self.target_biases.masked_fill(~_counted_once(padded, frequent), -torch.inf)
        self.own = _Words(self.target_weights.to(low).mT, own)
        self.frequent = _Words(self.all[0].by_feature[:, :frequent].contiguous(), bias[:frequent])

    def row(
        self,
        i: int,
        hidden: Float[Tensor, "rows 1 hidden"],
        previous: Float[Tensor, "rows 1 embedding"],
        weights: Float[Tensor, "rows 1 source"],
        wanted: Bool[Tensor, " rows"],
    ) -> Float[Tensor, "rows 1 source"]:
        """Returns the row of the i-th words of the first sentences, as many as there are weights. Rows sum to
        1. hidden, previous, weights: as in `TeacherForced`.

        A row that is not wanted, or was read from no context, is 0.
        """
        layer = self._layer(self.readout.U_o(hidden) + self.readout.V_o(previous)) if self.is_sum else None
        log_weights = weights.squeeze(1).log()
        bounds, joint = torch.full_like(log_weights, -torch.inf), torch.full_like(log_weights, -torch.inf)
        features = []  # of each group
        for group, width in zip(self.groups, self.widths, strict=True):
            if group.start >= len(weights):
                break
            group = slice(group.start, min(group.stop, len(weights)))
            exact = self._features(group, width, layer, hidden, previous)
            of_target = torch.bmm(exact.to(hidden.dtype), self.target_weights[group, i].unsqueeze(2))
            joint[group, :width] = (
                log_weights[group, :width] + of_target.squeeze(2) + self.target_biases[group, i : i + 1]
            )
            features.append(exact.to(self.frequent.by_feature.dtype))
            few = _log_sum(features[-1], [self.own[group], self.frequent])
            torch.sub(joint[group, :width], few, out=bounds[group, :width])
        found = weights.new_zeros(weights.shape)
        some = (wanted & weights.any(-1).squeeze(1)).nonzero().squeeze(1)

        def normalisers(chosen: Bool[Tensor, "some source"]) -> Float[Tensor, " positions"]:
            places = torch.zeros_like(bounds, dtype=torch.bool).index_put_((some,), chosen)
            parts = zip(places.split(SENTENCES_AT_ONCE), features, strict=True)
            return self._normaliser(torch.cat([part[place[:, : part.shape[1]]] for place, part in parts]))

        if len(some):
            found[some, 0] = refined(bounds[some], joint[some], normalisers)
        return found

    def _layer(self, layer: Float[Tensor, "batch rows layer"]) -> Float[Tensor, "batch rows layer"]:
        return torch.cat((layer[..., 0::2], layer[..., 1::2]), -1) if self.is_maxout else layer

    def _features(
        self, group: slice, width: int, layer: Tensor | None, hidden: Tensor, previous: Tensor
    ) -> Float[Tensor, "group width feature"]:
        """Returns the input of W_o if the i-th words of these sentences are read from h_j alone."""
        if self.contexts is None or layer is None:
            read = self.readout(
                hidden[group].expand(-1, width, -1),
                previous[group].expand(-1, width, -1),
                self.annotations[group, :width],
            )
            return self.output.features(read)
        layer = layer[group].to(self.contexts.dtype) + self.contexts[group, :width]
        if self.is_maxout:
            return torch.maximum(*layer.chunk(2, -1))
        return self.output.features(self.readout.activation(layer))

    def _normaliser(self, features: Float[Tensor, "positions feature"]) -> Float[Tensor, " positions"]:
        """Returns log Σ_w exp(logit of w) over all words."""
        count = len(features)
        filled = torch.nn.functional.pad(features, (0, 0, 0, -count % MULTIPLE))
        return torch.cat([_log_sum(some, self.all) for some in filled.split(ROWS_AT_ONCE)])[:count]


def refined(
    bounds: Float[Tensor, "rows source"],
    joint: Float[Tensor, "rows source"],
    normalisers: Callable[[Bool[Tensor, "rows source"]], Float[Tensor, " positions"]],
) -> Float[Tensor, "rows source"]:
    """Returns the posterior. bounds: logarithms of upper bounds of α_ij p(y_i | h_j). joint: log α_ij + z_ij.

    normalisers: computes log Σ_w exp(logit of w) at the chosen positions.
    """
    highest = bounds.amax(1, keepdim=True)
    exact = torch.full_like(bounds, -torch.inf)
    computed = bounds >= highest + math.log(FIRST)
    exact[computed] = joint[computed] - normalisers(computed)
    # Shares are relative to the row's highest bound: none overflows, and those that underflow do not
    # matter.
    known = (exact - highest).exp().sum(1, keepdim=True)
    others = (bounds - highest).exp().masked_fill_(computed, 0.0)
    # The smallest shares stay estimates while their sum is at most LOSS · known. Computing further
    # positions only increases `known`.
    smallest, order = others.sort(dim=1)
    further = torch.zeros_like(computed).scatter_(1, order, smallest.cumsum(1) > LOSS * known)
    if bool(further.any()):
        exact[further] = joint[further] - normalisers(further)
        computed = computed | further
    excess = (bounds - exact).masked_fill(~computed, 0.0).sum(1, keepdim=True)
    gap = excess / computed.sum(1, keepdim=True)
    return torch.softmax(torch.where(computed, exact, bounds - gap.clamp(min=0.0)), 1)


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

    def __getitem__(self, some: slice) -> _Words:
        found = copy(self)
        found.by_feature, found.bias, found.factors = (
            self.by_feature[some],
            self.bias[some],
            self.factors[some],
        )
        return found


def _log_sum(
    features: Float[Tensor, "*batch rows feature"], parts: Sequence[_Words]
) -> Float[Tensor, "*batch rows"]:
    """Returns log Σ_w exp(logit of w) over the words of all parts, in the dtype of their bias. Logits are
    small, so their maximum rarely has to be subtracted."""
    dtype = parts[0].bias.dtype
    sums = (
        torch.stack([(features @ words.by_feature).exp_() @ words.factors for words in parts])
        .sum(0, dtype=dtype)
        .squeeze(-1)
    )
    if bool(((sums > SMALLEST_SUM) & sums.isfinite()).all()):
        return sums.log_()
    logits = [(features @ words.by_feature).to(dtype) + words.bias.unsqueeze(-2) for words in parts]
    return torch.cat(logits, -1).logsumexp(-1)


def _all_words(output: OutputLayer) -> list[_Words]:
    """Returns all words in blocks, prepared once for the open cache, in the dtype of its products. The last
    block is filled up with words that are left out."""

    def make() -> list[_Words]:
        blocks = zip(output.weight.split(WORDS_AT_ONCE), output.bias.split(WORDS_AT_ONCE), strict=True)
        return [_filled(weight.to(product_dtype(output.weight)), bias) for weight, bias in blocks]

    return once(output.bias, make)  # not of the matrix, which two tied layers share


def _filled(weight: Float[Tensor, "words feature"], bias: Float[Tensor, " words"]) -> _Words:
    missing = -len(weight) % MULTIPLE
    pad = torch.nn.functional.pad
    by_feature = pad(weight, (0, 0, 0, missing)).t().contiguous()  # twice as fast as rows
    return _Words(by_feature, pad(bias, (0, missing), value=-torch.inf))


def _counted_once(targets: Int64[Tensor, "batch target"], frequent: int) -> Bool[Tensor, "batch target"]:
    """Returns the mask of first occurrences of words that are not among the frequent ones."""
    order = targets.sort(dim=1, stable=True)
    first = torch.ones_like(targets, dtype=torch.bool)
    first[:, 1:] = order.values[:, 1:] != order.values[:, :-1]
    return torch.zeros_like(first).scatter_(1, order.indices, first) & (targets >= frequent)
