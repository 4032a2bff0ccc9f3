"""Readers: networks as the search sees them. A reader takes previous ids and a state, and gives log p and α.

One reader stands for one direction of the decoder, of one network or of an ensemble.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.model.decoder import DecoderState, Source
from rnnsearch.model.layers import Cache
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.translation.beam import SearchState, StepFunction, StepResult
from rnnsearch.translation.joint import Reader, mean_alignment


@dataclass(frozen=True)
class NetworkState:
    """Annotations of the sentences (batch, …) and decoder states of their hypotheses (batch, hypotheses,
    …)."""

    source: Source
    decoder: DecoderState

    def select(
        self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]
    ) -> NetworkState:
        source = self.source if sentences is None else self.source.select(sentences)
        return NetworkState(source, self.decoder.select(sentences, hypotheses))


def network_step(
    network: TranslationNetwork,
    cache: Cache = nullcontext,
    direction: int = 0,
    factors: Mapping[int, Float[Tensor, " source"]] | None = None,
) -> StepFunction:
    """Returns the step function previous ids, state → log p(y_i | y_<i, x), α_i, state, in one of the
    network's directions.

    cache: the weight cache, as `linear_cache` makes it.
    factors: for a search of one sentence: word i → factors by which α_i is multiplied before it is normalised
    again.
    """
    numbers = count(network.decoder.first_attended)  # numbers of the words that read the contexts

    def step(previous: Int64[Tensor, "batch hypotheses"] | None, state: NetworkState) -> StepResult:
        ask = partial(network.step, previous, state.decoder, state.source, direction)
        with cache():
            log_probabilities, seen, decoder = ask()
            changed = (factors or {}).get(next(numbers))
            if changed is not None:
                weights = reweighted(decoder.weights, changed)
                log_probabilities, seen, after = ask(known=weights)
                decoder = replace(after, weights=weights)
                seen = decoder if seen is after else seen
        return StepResult(log_probabilities, seen.weights, NetworkState(state.source, decoder))

    return step


def reweighted(
    weights: Float[Tensor, "batch hypotheses source"], factors: Float[Tensor, " source"]
) -> Float[Tensor, "batch hypotheses source"]:
    """Returns α ∘ factors, normalised; the normalised factors where that product is 0."""
    product = weights * factors
    total = product.sum(-1, keepdim=True)
    return torch.where(total > 0, product / total, factors / factors.sum())


@torch.no_grad()
def begin_search(
    networks: Sequence[TranslationNetwork],
    caches: Sequence[Cache],
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
    factors: Mapping[int, Float[Tensor, " source"]] | None = None,
) -> list[Reader]:
    """Returns one reader for each decoding direction. Several networks form an ensemble. Annotations are
    computed once for each network.

    caches: the cache of each network. source: ids. lengths: with the end of sentence. factors: as in
    `network_step`.
    """
    states = []
    for network, own in zip(networks, caches, strict=True):
        with own():
            states.append([NetworkState(*start) for start in network.begin(source, lengths)])
    readers = []
    for number, (direction, members) in enumerate(
        zip(networks[0].directions, zip(*states, strict=True), strict=True)
    ):
        steps = [
            network_step(network, own, number, factors) for network, own in zip(networks, caches, strict=True)
        ]
        step: StepFunction = steps[0]
        state: SearchState = members[0]
        if len(steps) > 1:
            step, state = ensemble(steps), EnsembleState(members)
        readers.append(Reader(step, state, direction.backward))
    return readers


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """The members' states, in the order of their step functions."""

    members: Sequence[SearchState]

    def select(
        self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]
    ) -> EnsembleState:
        """Selects the same in every member."""
        return EnsembleState(tuple(member.select(sentences, hypotheses) for member in self.members))


def ensemble(steps: Sequence[StepFunction]) -> StepFunction:
    """Combines the step functions of several models with one vocabulary. Its state is an EnsembleState.

    The mean is taken of the probabilities, not of their logarithms: log p = logsumexp_m log p_m − log M; α is
    `mean_alignment`. Raises InputError without a member.
    """
    if not steps:
        raise InputError("an ensemble needs at least one model")

    def step(previous: Tensor | None, state: EnsembleState) -> StepResult:
        results = [member(previous, own) for member, own in zip(steps, state.members, strict=True)]
        log_probabilities = torch.stack([result.log_probabilities for result in results]).logsumexp(
            dim=0
        ) - math.log(len(results))
        weights = mean_alignment([result.weights for result in results])
        return StepResult(
            log_probabilities, weights, EnsembleState(tuple(result.state for result in results))
        )

    return step
