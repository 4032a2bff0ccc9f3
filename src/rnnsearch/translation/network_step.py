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


def network_step(network: TranslationNetwork, maps: Maps | None = None, words: Tensor | None = None) -> StepFunction:
    """previous ids, state → log p(y_i | y_<i, x), α_i, state. maps: of the weights that all steps share; ordinary products without.

    words: (candidates,) the ids of the target words that may be written; p is then over them only. The step still takes ids of words.
    """
    with sequence(maps) if maps else nullcontext():
        output = None if words is None else network.output.of_words(words)

    def step(previous: Tensor | None, state: NetworkState) -> StepResult:
        with sequence(maps) if maps else nullcontext():
            log_probabilities, seen, decoder = network.step(previous, state.decoder, SourceReader(state.source), output)
        return StepResult(log_probabilities, seen.weights, NetworkState(state.source, decoder))

    return step
