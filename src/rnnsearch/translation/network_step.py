"""Networks as the search sees them: step functions of one network or an ensemble, one for each direction of
the decoder.

With a bidirectional decoder (the proposal, part 3), each direction searches, and the pooled hypotheses are
ranked by forced decoding, in which both take part. A translation is scored by the mean of the two directions'
log p(y | x), that is by the geometric mean of two probabilities. Over all translations these sum to 1 at most
(Cauchy–Schwarz), so that the score is comparable with log p(y | x) of one direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.model.decoder import DecoderState, Source
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Hypothesis
from rnnsearch.system.kernel_dispatch import Cache
from rnnsearch.text.batches import Batch, pad
from rnnsearch.translation.batching import batched_by_length
from rnnsearch.translation.beam import (
    SearchState,
    StepFunction,
    StepResult,
    beam_search,
    final_score,
)
from rnnsearch.translation.forced import force_in_batches, forced_decoding, mean_alignment

Ids = tuple[int, ...]
FORCED_TOGETHER = 256
"""Hypotheses of one batch in forced decoding."""


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
) -> StepFunction:
    """Returns the step function previous ids, state → log p(y_i | y_<i, x), α_i, state, in one of the
    network's directions.

    cache: the weight cache, as `linear_cache` makes it.
    """

    def step(previous: Int64[Tensor, "batch hypotheses"] | None, state: NetworkState) -> StepResult:
        with cache():
            log_probabilities, predicting_state, decoder = network.step(
                previous, state.decoder, state.source, direction
            )
        return StepResult(log_probabilities, predicting_state.weights, NetworkState(state.source, decoder))

    return step


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
    `mean_alignment`.
    """

    def step(previous: Tensor | None, state: EnsembleState) -> StepResult:
        results = [member(previous, own) for member, own in zip(steps, state.members, strict=True)]
        log_p = torch.stack([result.log_probabilities for result in results]).logsumexp(dim=0)
        weights = mean_alignment([result.weights for result in results])
        states = EnsembleState(tuple(result.state for result in results))
        return StepResult(log_p - math.log(len(results)), weights, states)

    return step


@torch.no_grad()
def search(
    networks: Sequence[TranslationNetwork],
    caches: Sequence[Cache],
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
    settings: SearchSettings,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[list[Hypothesis]]:
    """Searches as `beam_search` does, in one direction or in both. Words are in the order of the translation.
    Several networks form an ensemble. Annotations are computed once for each network.

    caches: the cache of each network. source: ids. lengths: with the end of sentence. cancelled: as in
    `beam_search`.
    """
    directions, starts, found = networks[0].directions, [], []
    for network, cache in zip(networks, caches, strict=True):
        with cache():
            starts.append(network.begin(source, lengths))
    of_each = settings if len(directions) == 1 else settings.model_copy(update={"nbest": settings.beam})
    for number, direction in enumerate(directions):
        members = [
            network_step(network, cache, number) for network, cache in zip(networks, caches, strict=True)
        ]
        states = [NetworkState(*start[number]) for start in starts]
        step, state = (
            (members[0], states[0]) if len(members) == 1 else (ensemble(members), EnsembleState(states))
        )
        beams = beam_search(step, state, lengths, of_each, cancelled)
        found.append([list(map(in_order, beam)) for beam in beams] if direction.backward else beams)
    return found[0] if len(found) == 1 else ranked_by_all(found, networks, source, lengths, settings)


def ranked_by_all(
    found: Sequence[list[list[Hypothesis]]],
    networks: Sequence[TranslationNetwork],
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
    settings: SearchSettings,
) -> list[list[Hypothesis]]:
    """Pools the finished hypotheses of all directions' beams, and returns the best `settings.nbest` of each
    sentence, best first.

    log p of each word and the alignment are means over the directions (`forced_decoding`); `final_score`
    normalises as in beam search. If no direction finished a sentence, the first direction's result is
    returned. found: the beams of each direction. source, lengths: as in `search`.
    """
    pools = [
        list(dict.fromkeys(one.ids for one in chain.from_iterable(beams) if one.finished))
        for beams in zip(*found, strict=True)
    ]

    def forced(some: list[tuple[int, Ids]]) -> list[Hypothesis]:
        sentences, targets = map(list, zip(*some, strict=True))
        batch = Batch(source[sentences], lengths[sentences], *pad(targets)).to(source.device)
        log_p, alpha = (part.cpu().numpy() for part in forced_decoding(networks, batch))
        rows = zip(targets, batch.source_lengths.tolist(), log_p, alpha, strict=True)
        results = []
        for ids, length, values, weights in rows:
            own, alignment = values[: len(ids)], weights[: len(ids), :length].copy()
            score = final_score(float(own.sum(dtype=np.float64)), alignment, settings)
            results.append(Hypothesis(ids, score, tuple(own.tolist()), alignment, finished=True))
        return results

    def sides(one: tuple[int, Ids]) -> tuple[int, int]:
        return source.shape[1], len(one[1])

    work = partial(force_in_batches, networks, lengths=sides, work=forced)
    every = [(sentence, ids) for sentence, pool in enumerate(pools) for ids in pool]
    scored = iter(batched_by_length(every, lambda one: len(one[1]), FORCED_TOGETHER, work))
    ranked = [[next(scored) for _ in pool] for pool in pools]
    return [
        sorted(some or first, key=lambda one: -one.score)[: settings.nbest]
        for some, first in zip(ranked, found[0], strict=True)
    ]


def in_order(hypothesis: Hypothesis) -> Hypothesis:
    """Returns a right-to-left hypothesis in the order of the translation; the end of sentence stays last."""
    words = len(hypothesis.ids) - hypothesis.finished
    order = [*reversed(range(words)), *range(words, len(hypothesis.ids))]
    return replace(
        hypothesis,
        ids=tuple(hypothesis.ids[place] for place in order),
        log_probabilities=tuple(hypothesis.log_probabilities[place] for place in order),
        weights=hypothesis.weights[order],
    )
