"""A network as the step function that search asks for."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from rnnsearch.model.decoder import DecoderState, Source, SourceReader
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.translation.beam import StepFunction, StepResult


@dataclass(frozen=True)
class NetworkState:
    """Annotations of the sentences (batch, …) and decoder states of their hypotheses (batch, hypotheses, …)."""

    source: Source
    decoder: DecoderState

    def select(self, sentences: Tensor | None, hypotheses: Tensor) -> NetworkState:
        source = self.source if sentences is None else self.source.select(sentences)
        return NetworkState(source, self.decoder.select(sentences, hypotheses))


def network_step(network: TranslationNetwork) -> StepFunction:
    """previous ids, state → log p(y_i | y_<i, x), α_i, state."""

    def step(previous: Tensor | None, state: NetworkState) -> StepResult:
        log_probabilities, seen, decoder = network.step(previous, state.decoder, SourceReader(state.source))
        return StepResult(log_probabilities, seen.weights, NetworkState(state.source, decoder))

    return step
