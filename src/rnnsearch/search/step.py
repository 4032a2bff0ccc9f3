"""Networks as the search sees them: step functions of one network or of an ensemble."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from rnnsearch.model.decoder import DecoderState, Source
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.beam import (
    Beams,
    Hypothesis,
    SearchState,
    StepFunction,
    StepResult,
    beam_search,
)
from rnnsearch.settings import SearchSettings

BeamSearch = Callable[[StepFunction, SearchState, Tensor, SearchSettings], Beams]
"""The signature of `beam_search`, without its further arguments."""


@dataclass(frozen=True)
class NetworkState:
    """Annotations of the sentences (batch, …) and decoder states of their hypotheses (batch,
    hypotheses, …)."""

    source: Source
    decoder: DecoderState

    def select(
        self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]
    ) -> NetworkState:
        source = self.source if sentences is None else self.source.select(sentences)
        return NetworkState(source, self.decoder.select(sentences, hypotheses))


def network_step(network: TranslationNetwork, direction: int = 0) -> StepFunction:
    """Returns the step function previous ids, state → log p(y_i | y_<i, x), α_i, state, in one of
    the network's directions."""
    return partial(_step, network, direction)


def _step(
    network: TranslationNetwork,
    direction: int,
    previous: Int64[Tensor, "batch hypotheses"] | None,
    state: NetworkState,
) -> StepResult:
    log_p, predicting_state, decoder = network.step(
        previous, state.decoder, state.source, direction
    )
    return StepResult(log_p, predicting_state.weights, NetworkState(state.source, decoder))


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """The members' states, in the order of their step functions."""

    members: Sequence[SearchState]

    def select(
        self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]
    ) -> EnsembleState:
        """Selects the same in every member."""
        return EnsembleState(tuple(member.select(sentences, hypotheses) for member in self.members))


def ensemble(
    steps: Sequence[StepFunction], states: Sequence[SearchState]
) -> tuple[StepFunction, SearchState]:
    """Combines the step functions of several models with one vocabulary, and their first states; of
    a single model, returns its own.

    The mean is taken of the probabilities, not of their logarithms: log p = logsumexp_m log p_m −
    log M; α is `mean_alignment`.
    """
    if len(steps) == 1:
        return steps[0], states[0]
    return partial(_mean_step, steps), EnsembleState(states)


def _mean_step(
    steps: Sequence[StepFunction], previous: Tensor | None, state: EnsembleState
) -> StepResult:
    results = [member(previous, own) for member, own in zip(steps, state.members, strict=True)]
    log_p = torch.stack([result.log_probabilities for result in results]).logsumexp(dim=0)
    weights = mean_alignment([result.weights for result in results])
    states = EnsembleState(tuple(result.state for result in results))
    return StepResult(log_p - math.log(len(results)), weights, states)


@torch.no_grad()
def search(
    networks: Sequence[TranslationNetwork],
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
    settings: SearchSettings,
    find: BeamSearch = beam_search,
) -> Beams:
    """Searches with the first direction of the decoders (with both: search/two_directions.py).
    Words are in the order of the translation. Several networks form an ensemble. Annotations are
    computed once for each network.

    source: ids. lengths: with the end of sentence. find: `beam_search`, with further arguments if
    wanted.
    """
    starts = [NetworkState(*network.encode(source, lengths)) for network in networks]
    step, state = ensemble([network_step(network) for network in networks], starts)
    beams = find(step, state, lengths, settings)
    return in_order(beams) if networks[0].directions[0].backward else beams


def in_order(beams: Beams) -> Beams:
    """Returns right-to-left hypotheses in the order of the translation; the end of sentence stays
    last."""
    return [list(map(_turned, beam)) for beam in beams]


def _turned(hypothesis: Hypothesis) -> Hypothesis:
    words = len(hypothesis.ids) - hypothesis.finished
    order = [*reversed(range(words)), *range(words, len(hypothesis.ids))]
    return replace(
        hypothesis,
        ids=tuple(hypothesis.ids[place] for place in order),
        log_probabilities=tuple(hypothesis.log_probabilities[place] for place in order),
        weights=hypothesis.weights[order],
    )


def mean_alignment(
    weights: Sequence[Float[Tensor, "*rest source"]],
) -> Float[Tensor, "*rest source"]:
    """Averages α of several models or directions; for each word, over those that read a context.

    A row of zeros means that no context was read (the first word of the decoder variant
    `appendix`). The mean is 0 if all rows are.
    """
    every = torch.stack(list(weights))
    attended = every.any(-1, keepdim=True).sum(0).clamp(min=1)
    return every.sum(0) / attended
