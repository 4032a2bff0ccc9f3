"""A network as the step function that search asks for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Int, Int64
from torch import Tensor

from rnnsearch.model.decoder import DecoderState, Source, SourceReader
from rnnsearch.model.linear import LinearCache, sequence
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.translation.beam import SearchState, StepFunction, StepResult
from rnnsearch.translation.ensemble import ensemble
from rnnsearch.translation.joint import Reader


@dataclass(frozen=True)
class NetworkState:
    """Annotations of the sentences (batch, …) and decoder states of their hypotheses (batch, hypotheses, …)."""

    source: Source
    decoder: DecoderState

    def select(self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]) -> NetworkState:
        source = self.source if sentences is None else self.source.select(sentences)
        return NetworkState(source, self.decoder.select(sentences, hypotheses))


def network_step(
    network: TranslationNetwork,
    weights: LinearCache | None = None,
    words: Int[Tensor, " candidates"] | None = None,
    direction: int = 0,
) -> StepFunction:
    """previous ids, state → log p(y_i | y_<i, x), α_i, state, in one of the network's directions.

    weights: converted once for all steps; ordinary products without.
    words: the target ids that may be written; p is then over them only. The step still takes vocabulary ids.
    """
    with sequence(weights) if weights else nullcontext():
        output = None if words is None else network.directions[direction].output.of_words(words)

    def step(previous: Int64[Tensor, "batch hypotheses"] | None, state: NetworkState) -> StepResult:
        with sequence(weights) if weights else nullcontext():
            log_probabilities, seen, decoder = network.step(previous, state.decoder, SourceReader(state.source), output, direction)
        return StepResult(log_probabilities, seen.weights, NetworkState(state.source, decoder))

    return step


@torch.no_grad()
def begin_search(
    networks: Sequence[TranslationNetwork],
    weights: Sequence[LinearCache],
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
    words: Int[Tensor, " candidates"] | None = None,
) -> list[Reader]:
    """One reader for each direction of the networks, an ensemble if there are several; each network's annotations are computed once.

    weights: each network's. source: ids. lengths: the end of sentence included. words: as in `network_step`.
    """
    states = []
    for network, own in zip(networks, weights, strict=True):
        with sequence(own):
            states.append([NetworkState(*start) for start in network.begin(source, lengths)])
    readers = []
    for number, (direction, members) in enumerate(zip(networks[0].directions, zip(*states, strict=True), strict=True)):
        steps = [network_step(network, own, words, number) for network, own in zip(networks, weights, strict=True)]
        step: StepFunction = steps[0]
        state: SearchState = members[0]
        if len(steps) > 1:
            step, make_state = ensemble(steps)
            state = make_state(members)
        readers.append(Reader(step, state, direction.backward))
    return readers
