"""Fast alignment of given pairs by the alignment posterior or α: one pass over the target words,
without log p.

    p(a_i = j | y_≤i, x) ∝ α_ij p(y_i | h_j)    (translation/forced.py)
    p(y_i | h_j) = exp(z_ij) / Σ_w exp(logit of w)

The posterior of a word determines the context of the next state at once. Exact forced decoding
(translation/forced.py) makes three passes instead, each with the posteriors of the previous pass:
there, row i is final after i passes; here, after one.

z_ij, the logit of y_i, is one dot product; the sum over all words is expensive. A sum over a few
words is smaller, so with it as the denominator the quotient is an upper bound of α_ij p(y_i | h_j).
The few words are the sentence's own target words, to which its source words mostly translate, and
the most frequent words: they make the bound tight.

Only positions with high bounds are computed with the whole output layer. The others together have
at most LOSS of their row's exact posterior. Their values are their bounds, lowered by the mean
excess of the bounds at the computed positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional

from rnnsearch.batch import Batch
from rnnsearch.kernels.digest import plain_instead
from rnnsearch.kernels.products import FastOutput
from rnnsearch.model.alignment import Alignment
from rnnsearch.model.decoder import DecoderState, Source
from rnnsearch.model.network import Direction, TranslationNetwork, reordered, right_to_left
from rnnsearch.model.readout import MaxoutReadout, OutputLayer, Readout
from rnnsearch.search.step import mean_alignment

POSTERIOR_EQUALS = (
    "model.readout:Readout.forward",
    "model.readout:MaxoutReadout.activation",
    "model.readout:OutputLayer.features",
    "model.readout:OutputLayer.logits",
    "model.decoder:Decoder.attend",
    "translation.forced:alignment_posterior",
    "translation.forced:log_p",
)
"""Functions whose values are computed here in another way."""
LOSS = 0.1
"""A row may misplace at most this share of its weight, apart from rounding; errors of earlier rows,
which change its state, add to it."""
FIRST = 0.1
"""Positions whose bound is at least this share of the row's highest bound are computed exactly from
the start; others only if LOSS requires it."""
FREQUENT = 256
"""Number of frequent words that are summed in every bound, besides those of the sentence."""
ROWS_AT_ONCE, WORDS_AT_ONCE = 256, 2560
"""Positions and words of a product over all words: weights and logits fit in a core's cache."""
SENTENCES_AT_ONCE = 32
"""Sentences whose bounds are computed together, without the padding beyond their longest source."""
MULTIPLE = 32
"""Sizes of products are padded to multiples of this. A CPU kernel is compiled for each new number
of rows, which takes as long as many products. For some numbers of words, kernels are ten times
slower."""
SMALLEST_SUM = 1e-30
"""Smallest reliable sum of exponentials: below it, important terms may have underflowed."""


PosteriorRow = Float[Tensor, "rows 1 source"]
"""Row i of the first sentences."""


@torch.no_grad()
def quick_alignment(
    networks: Sequence[TranslationNetwork],
    batch: Batch,
    *,
    posterior: bool = False,
    each_step: Callable[[], object] = lambda: None,
) -> Float[Tensor, "batch target source"]:
    """Returns α, or the alignment posterior, of the words of each target. In a posterior, the rows
    of the end of sentence and of padding are 0.

    The longest target comes first: a pair leaves the batch when it ends. Its later rows may be 0.

    posterior: only for networks that `has_quick_posterior` accepts. each_step: called before every
    row; what it raises ends the work.
    Ensembles give the mean, and so do the two directions of a decoder, as in `forced_decoding`.
    """
    longest_first = batch.target_lengths.argsort(descending=True, stable=True)
    batch = Batch(**{name: part[longest_first] for name, part in batch.parts().items()})
    sizes = batch.target_lengths.tolist()
    feeds = posterior and all(network.decoder.wiring == "released" for network in networks)
    starts = [network.begin(batch.source, batch.source_lengths) for network in networks]
    found = []
    for number, direction in enumerate(networks[0].directions):
        order = (
            right_to_left(batch.target_lengths, batch.target.shape[1])
            if direction.backward
            else None
        )
        read = batch if order is None else replace(batch, target=batch.target.gather(1, order))
        walkers = [
            _Walker(network, number, start[number], read, posterior)
            for network, start in zip(networks, starts, strict=True)
        ]
        rows = walkers[0].source.annotations.new_zeros(*batch.target.shape, batch.source.shape[1])
        for i in range(sizes[0]):
            each_step()
            left = sum(size > i for size in sizes)
            left = min(len(sizes), left + -left % MULTIPLE)
            row = mean_alignment([walker.row(i, left) for walker in walkers])
            for walker in walkers if feeds else ():
                walker.feed(row)
            rows[:left, i] = row.squeeze(1)
        found.append(rows if order is None else reordered(rows, order))
    return mean_alignment(found)[longest_first.argsort()]


def has_quick_posterior(networks: Sequence[TranslationNetwork]) -> bool:
    """Tells whether `quick_alignment` can compute posteriors: never once one of POSTERIOR_EQUALS is
    edited.

    A custom readout may be no sum of parts, which the bounds need. The two directions of a
    bidirectional decoder start at opposite ends, so neither can wait for the other's posterior.
    """
    if plain_instead(POSTERIOR_EQUALS, "`align` computes every posterior"):
        return False
    directions = [direction for network in networks for direction in network.directions]
    summed = all(type(direction.readout).forward is Readout.forward for direction in directions)
    return summed and len(directions) == len(networks)


class _Walker:
    """One decoder, stepped over the target words. number: that of its direction. start: the encoded
    sentences and the first state. posterior: whether rows are posteriors, not α."""

    def __init__(
        self,
        network: TranslationNetwork,
        number: int,
        start: tuple[Source, DecoderState],
        batch: Batch,
        posterior: bool,
    ) -> None:
        direction = network.directions[number]
        self.decoder = direction.decoder
        self.source, self.state = start
        self.memory = self.state.memory
        """The alignment model's memory before the last row."""
        words, self.word_of = batch.target[:, :-1].unique(return_inverse=True)
        self.embedded = network.target_embedding(words.unsqueeze(0)).squeeze(0)
        self.projected = self.decoder.cell.project(self.embedded)
        self.posterior = BoundedPosterior(direction, self.source, batch) if posterior else None

    def row(self, i: int, left: int) -> PosteriorRow:
        """Returns row i of the first `left` pairs, with which later rows continue."""
        if left < len(self.state.cell):
            self.source, self.state = self.source.first(left), self.state.first(left)
        self.memory = self.state.memory
        numbers = self.word_of[:left, i - 1 : i]  # of y_{i−1}
        word, embedded = (self.projected[numbers], self.embedded[numbers]) if i else (None, None)
        predicting_state, self.state = self.decoder.step(word, self.state, self.source)
        if self.posterior is None:
            return predicting_state.weights
        hidden = self.decoder.cell.hidden(predicting_state.cell)
        return self.posterior.row(i, hidden, embedded, predicting_state.weights)

    def feed(self, row: PosteriorRow) -> None:
        """Replaces the context of α by that of this alignment, in the decoder variant
        `released`."""
        if type(self.decoder.alignment).attended is Alignment.attended:
            # The state holds no earlier weights, so only the context changes.
            any_weight = row.any(-1, keepdim=True)
            context = torch.where(any_weight, self.source.context(row), self.state.context)
            self.state = replace(self.state, context=context)
        else:
            before = replace(self.state, memory=self.memory)
            self.state, _ = self.decoder.attend(before, self.source, row)


class BoundedPosterior:
    """The posterior of one direction of a network for one batch.

    source: the encoded sentences. batch: its targets are in reading order.
    """

    def __init__(self, direction: Direction, source: Source, batch: Batch) -> None:
        self.readout, self.output = direction.readout, direction.output
        self.all = _all_words(self.output)
        low = self.all[0].by_feature.dtype
        # t̃_ij = (U_o s + V_o E y) + C_o h_j: each part is computed once. The units of maxout are
        # stored as [odd; even], which is faster.
        self.is_maxout = type(self.readout) is MaxoutReadout and self.output.factor is None
        contexts = self._layer(self.readout.C_o(source.annotations))
        self.contexts = contexts.to(low) if self.is_maxout else contexts
        self.words = batch.target_lengths - 1
        self.widths = [
            int(lengths.max()) for lengths in batch.source_lengths.split(SENTENCES_AT_ONCE)
        ]
        weight, bias = self.output.weight, self.output.bias
        padded = functional.pad(batch.target, (0, -batch.target.shape[1] % MULTIPLE))
        # (batch, target, feature), …
        self.target_weights, self.target_biases = weight[padded], bias[padded]
        frequent = min(FREQUENT, len(weight), WORDS_AT_ONCE)
        own = self.target_biases.masked_fill(~_counted_once(padded, frequent), -torch.inf)
        self.own = _Words(self.target_weights.to(low).mT, own)
        self.frequent = _Words(self.all[0].by_feature[:, :frequent].contiguous(), bias[:frequent])

    def row(
        self,
        i: int,
        hidden: Float[Tensor, "rows 1 hidden"],
        previous: Float[Tensor, "rows 1 embedding"] | None,
        weights: PosteriorRow,
    ) -> PosteriorRow:
        """Returns the row of the i-th words of the first sentences, as many as there are weights.
        Rows sum to 1. hidden, previous, weights: as in `TeacherForced`; previous is None for the
        first word.

        A row of the end of sentence or of padding, or one that was read from no context, is 0.
        """
        layer = self.readout.U_o(hidden)
        layer = self._layer(layer if previous is None else layer + self.readout.V_o(previous))
        log_weights, count = weights.squeeze(1).log(), len(weights)
        bounds, joint = (
            torch.full_like(log_weights, -torch.inf),
            torch.full_like(log_weights, -torch.inf),
        )
        features = []  # of each group of sentences
        for first, width in zip(range(0, count, SENTENCES_AT_ONCE), self.widths, strict=False):
            group = slice(first, min(first + SENTENCES_AT_ONCE, count))
            place = group, slice(width)
            exact = self._features(self.contexts[place], layer[group])
            of_target = torch.bmm(
                exact.to(hidden.dtype), self.target_weights[group, i].unsqueeze(2)
            )
            joint[place] = (
                log_weights[place] + of_target.squeeze(2) + self.target_biases[group, i : i + 1]
            )
            features.append(exact.to(self.frequent.by_feature.dtype))
            bounds[place] = joint[place] - _log_sum(features[-1], [self.own[group], self.frequent])
        found = torch.zeros_like(weights)
        some = ((self.words[:count] > i) & weights.any(-1).squeeze(1)).nonzero().squeeze(1)

        def normalisers(chosen: Bool[Tensor, "some source"]) -> Float[Tensor, " positions"]:
            places = torch.zeros_like(bounds, dtype=torch.bool).index_put_((some,), chosen)
            parts = zip(places.split(SENTENCES_AT_ONCE), features, strict=True)
            return self._normaliser(
                torch.cat([part[place[:, : part.shape[1]]] for place, part in parts])
            )

        if len(some):
            found[some, 0] = refined(bounds[some], joint[some], normalisers)
        return found

    def _layer(self, layer: Float[Tensor, "batch rows layer"]) -> Float[Tensor, "batch rows layer"]:
        return torch.cat((layer[..., 0::2], layer[..., 1::2]), -1) if self.is_maxout else layer

    def _features(
        self,
        contexts: Float[Tensor, "group width layer"],
        layer: Float[Tensor, "group 1 layer"],
    ) -> Float[Tensor, "group width feature"]:
        """Returns the input of W_o if the i-th words of these sentences are read from h_j alone."""
        layer = layer.to(contexts.dtype) + contexts
        if self.is_maxout:
            return torch.maximum(*layer.chunk(2, -1))
        return self.output.features(self.readout.activation(layer))

    def _normaliser(
        self, features: Float[Tensor, "positions feature"]
    ) -> Float[Tensor, " positions"]:
        """Returns log Σ_w exp(logit of w) over all words."""
        count = len(features)
        filled = functional.pad(features, (0, 0, 0, -count % MULTIPLE))
        return torch.cat([_log_sum(some, self.all) for some in filled.split(ROWS_AT_ONCE)])[:count]


def refined(
    bounds: Float[Tensor, "rows source"],
    joint: Float[Tensor, "rows source"],
    normalisers: Callable[[Bool[Tensor, "rows source"]], Float[Tensor, " positions"]],
) -> Float[Tensor, "rows source"]:
    """Returns the posterior. bounds: logarithms of upper bounds of α_ij p(y_i | h_j). joint: log
    α_ij + z_ij.

    normalisers: computes log Σ_w exp(logit of w) at the chosen positions.
    """
    highest = bounds.amax(1, keepdim=True)
    exact = torch.full_like(bounds, -torch.inf)
    computed = bounds >= highest + math.log(FIRST)
    exact[computed] = joint[computed] - normalisers(computed)
    # Shares are relative to the row's highest bound: none overflows, and those that underflow do
    # not matter.
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
    """Some words of the output layer. by_feature: in the dtype of the products. bias: −∞ leaves a
    word out.

    In bfloat16 a sum is rounded as its products are, so a bound may be too low by such a rounding
    error.
    """

    def __init__(
        self, by_feature: Float[Tensor, "*batch feature words"], bias: Float[Tensor, "*batch words"]
    ) -> None:
        self.by_feature, self.bias = by_feature, bias
        self.factors = bias.exp().to(by_feature.dtype).unsqueeze(-1)
        """exp(logit + b) = exp(logit) exp(b): so b costs no pass over the logits, and their sum is
        a product.
        """

    def __getitem__(self, some: slice) -> _Words:
        return _Words(self.by_feature[some], self.bias[some])


def _log_sum(
    features: Float[Tensor, "*batch rows feature"], parts: Sequence[_Words]
) -> Float[Tensor, "*batch rows"]:
    """Returns log Σ_w exp(logit of w) over the words of all parts, in the dtype of their bias.
    Logits are small, so their maximum rarely has to be subtracted."""
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
    """Returns all words in blocks, in the dtype of the products, once for a layer with converted
    weights. The last block is filled up with words that are left out."""
    if output in _converted_words:
        return _converted_words[output]
    dtype = (
        output.precision.of(output.weight)
        if isinstance(output, FastOutput)
        else output.weight.dtype
    )
    found = []
    for rows, bias in zip(
        output.weight.split(WORDS_AT_ONCE), output.bias.split(WORDS_AT_ONCE), strict=True
    ):
        missing = -len(rows) % MULTIPLE
        # faster than rows
        by_feature = functional.pad(rows.to(dtype), (0, 0, 0, missing)).t().contiguous()
        found.append(_Words(by_feature, functional.pad(bias, (0, missing), value=-torch.inf)))
    if isinstance(output, FastOutput):
        _converted_words[output] = found
    return found


_converted_words: WeakKeyDictionary[OutputLayer, list[_Words]] = WeakKeyDictionary()


def _counted_once(
    targets: Int64[Tensor, "batch target"], frequent: int
) -> Bool[Tensor, "batch target"]:
    """Returns the mask of first occurrences of words that are not among the frequent ones."""
    order = targets.sort(dim=1, stable=True)
    first = torch.ones_like(targets, dtype=torch.bool)
    first[:, 1:] = order.values[:, 1:] != order.values[:, :-1]
    return torch.zeros_like(first).scatter_(1, order.indices, first) & (targets >= frequent)
