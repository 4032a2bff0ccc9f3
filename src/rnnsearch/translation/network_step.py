"""A network as the step function that search asks for."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from torch import Tensor

from rnnsearch.model.decoder import DecoderState, Source, SourceReader
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.sequence_linear import Maps, sequence
from rnnsearch.translation.beam import StepFunction, StepResult


@dataclass(frozen=True)
class NetworkState:
    """Annotations of the sentences (batch, …) and decoder states of their hypotheses (batch, hypotheses, …)."""

    source: Source
    decoder: DecoderState

    def select(self, sentences: Tensor | None, hypotheses: Tensor) -> NetworkState:
        source = self.source if sentences is None else self.source.select(sentences)
        return NetworkState(source, self.decoder.select(sentences, hypotheses))


def network_step(network: TranslationNetwork, maps: Maps | None = None) -> StepFunction:
    """previous ids, state → log p(y_i | y_<i, x), α_i, state. maps: of the weights that all steps share; ordinary products without."""

    def step(previous: Tensor | None, state: NetworkState) -> StepResult:
        with sequence(maps) if maps else nullcontext():
            log_probabilities, seen, decoder = network.step(previous, state.decoder, SourceReader(state.source))
        return StepResult(log_probabilities, seen.weights, NetworkState(state.source, decoder))

    return step
