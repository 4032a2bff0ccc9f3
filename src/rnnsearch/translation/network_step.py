"""Networks as the search sees them: step functions of one network or an ensemble, one for each direction of
the decoder.

With a bidirectional decoder (the proposal, part 3), each direction searches, and both rank the pooled
hypotheses. A translation is scored by the mean of the two directions' log p(y | x), that is by the geometric
mean of two probabilities. Over all translations these sum to 1 at most (Cauchy–Schwarz), so that the score is
comparable with log p(y | x) of one direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError, SearchStoppedError
from rnnsearch.model.decoder import DecoderState, Source
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Hypothesis
from rnnsearch.system.kernel_dispatch import Cache
from rnnsearch.text.store.batches import pad
from rnnsearch.translation.beam import (
    SearchState,
    StepFunction,
    StepResult,
    beam_search,
    final_score,
)

Ids = tuple[int, ...]


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
    `mean_alignment`. Raises InputError without a member.
    """
    if not steps:
        raise InputError("an ensemble needs at least one model")

    def step(previous: Tensor | None, state: EnsembleState) -> StepResult:
        results = [member(previous, own) for member, own in zip(steps, state.members, strict=True)]
        log_p = torch.stack([result.log_probabilities for result in results]).logsumexp(dim=0)
        weights = mean_alignment([result.weights for result in results])
        states = EnsembleState(tuple(result.state for result in results))
        return StepResult(log_p - math.log(len(results)), weights, states)

    return step


class DirectionSearch(NamedTuple):
    """The search in one direction of the decoder. state: the state before the first step. backward: whether
    it writes the translation's last word first."""

    step: StepFunction
    state: SearchState
    backward: bool

    def cancelled_by(self, cancelled: Callable[[], bool]) -> DirectionSearch:
        """Returns a search that calls `cancelled` before every step, and raises SearchStoppedError once that
        returns True."""

        def step(previous: Tensor | None, state: SearchState) -> StepResult:
            if cancelled():
                raise SearchStoppedError
            return self.step(previous, state)

        return self._replace(step=step)

    def search(
        self, source_lengths: Int[Tensor, " batch"], settings: SearchSettings
    ) -> list[list[Hypothesis]]:
        """Runs a beam search in this direction."""
        found = beam_search(self.step, self.state, source_lengths, settings)
        return [[in_order(one) for one in every] for every in found] if self.backward else found

    @torch.no_grad()
    def force_decode(
        self, translations: Sequence[Sequence[Ids]], source_lengths: Int[Tensor, " batch"]
    ) -> list[list[Hypothesis]]:
        """Returns log p and α of every word of translations, any number per sentence.

        Ids end with the end of sentence. The score is log p(y | x).
        """
        flat = [(row, ids) for row, every in enumerate(translations) for ids in every]
        results: list[list[Hypothesis]] = [[] for _ in translations]
        if not flat:
            return results
        targets = pad([reversed_words(ids) if self.backward else ids for _, ids in flat])[0]
        targets = targets.unsqueeze(1).to(source_lengths.device)  # (translation, 1, word)
        rows = torch.tensor([row for row, _ in flat], device=targets.device)
        state = self.state.select(rows, torch.zeros_like(targets[:, :, 0]))
        log_p, weights = [], []
        for i in range(targets.shape[2]):
            result = self.step(targets[:, :, i - 1] if i else None, state)
            state = result.state
            log_p.append(result.log_probabilities.gather(2, targets[:, :, i : i + 1])[:, 0, 0])
            weights.append(result.weights[:, 0])
        lengths = source_lengths.tolist()
        decoded = zip(flat, torch.stack(log_p, 1).cpu(), torch.stack(weights, 1).cpu(), strict=True)
        for (row, ids), words, alpha in decoded:
            values, own = words[: len(ids)].numpy(), alpha[: len(ids), : lengths[row]].numpy().copy()
            score = float(values.sum(dtype=np.float64))
            read = reversed_words(ids) if self.backward else ids
            one = Hypothesis(read, score, tuple(values.tolist()), own, finished=True)
            results[row].append(in_order(one) if self.backward else one)
        return results


@torch.no_grad()
def begin_search(
    networks: Sequence[TranslationNetwork],
    caches: Sequence[Cache],
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
) -> list[DirectionSearch]:
    """Returns the search of each decoding direction. Several networks form an ensemble. Annotations are
    computed once for each network.

    caches: the cache of each network. source: ids. lengths: with the end of sentence.
    """
    directions = networks[0].directions
    states = []
    for network, own in zip(networks, caches, strict=True):
        with own():
            states.append([NetworkState(*start) for start in network.begin(source, lengths)])
    searches = []
    for number, members in enumerate(zip(*states, strict=True)):
        steps = [network_step(network, own, number) for network, own in zip(networks, caches, strict=True)]
        step, state = (steps[0], members[0]) if len(steps) == 1 else (ensemble(steps), EnsembleState(members))
        searches.append(DirectionSearch(step, state, directions[number].backward))
    return searches


def search(
    directions: Sequence[DirectionSearch],
    source_lengths: Int[Tensor, " batch"],
    settings: SearchSettings,
) -> list[list[Hypothesis]]:
    """Searches as `beam_search` does, in one direction or in both. Words are in the order of the
    translation."""
    if len(directions) > 1:
        return joint_search(directions, source_lengths, settings)
    return directions[0].search(source_lengths, settings)


def joint_search(
    directions: Sequence[DirectionSearch], source_lengths: Int[Tensor, " batch"], settings: SearchSettings
) -> list[list[Hypothesis]]:
    """Pools the finished hypotheses of all directions' beams, scores them in every direction, and returns the
    best `settings.nbest`, best first.

    log p of each word and the alignment are means over the directions; `final_score` normalises as in beam
    search. If no direction finished a sentence, the first direction's result is returned.
    """
    whole_beam = settings.model_copy(update={"nbest": settings.beam})
    found = [direction.search(source_lengths, whole_beam) for direction in directions]
    # direction, sentence, ids → hypothesis
    scored = [[{one.ids: one for one in beam if one.finished} for beam in every] for every in found]
    pools = [
        list(dict.fromkeys(ids for beam in beams for ids in beam)) for beams in zip(*scored, strict=True)
    ]
    for direction, known in zip(directions, scored, strict=True):
        missing = [[ids for ids in pool if ids not in beam] for pool, beam in zip(pools, known, strict=True)]
        for own, more in zip(known, direction.force_decode(missing, source_lengths), strict=True):
            own.update((one.ids, one) for one in more)
    results = []
    for number, pool in enumerate(pools):
        ranked = [mean([known[number][ids] for known in scored], settings) for ids in pool]
        best = sorted(ranked, key=lambda hypothesis: -hypothesis.score) or found[0][number]
        results.append(best[: settings.nbest])
    return results


def mean(hypotheses: Sequence[Hypothesis], settings: SearchSettings) -> Hypothesis:
    """Averages the hypotheses that the directions have for one translation."""
    log_p = np.mean([one.log_probabilities for one in hypotheses], axis=0)
    weights = mean_alignment([torch.from_numpy(one.weights) for one in hypotheses]).numpy()
    score = final_score(float(log_p.sum()), weights, settings)
    return replace(hypotheses[0], score=score, log_probabilities=tuple(log_p.tolist()), weights=weights)


def in_order(hypothesis: Hypothesis) -> Hypothesis:
    """Returns a right-to-left hypothesis in the order of the translation; the end of sentence stays last."""
    places = tuple(range(len(hypothesis.ids)))
    order = reversed_words(places) if hypothesis.finished else places[::-1]
    return replace(
        hypothesis,
        ids=tuple(hypothesis.ids[place] for place in order),
        log_probabilities=tuple(hypothesis.log_probabilities[place] for place in order),
        weights=hypothesis.weights[list(order)],
    )


def reversed_words(ids: Ids) -> Ids:
    """Returns the words before the end of sentence from their last to their first, and the end of
    sentence."""
    return (*reversed(ids[:-1]), *ids[-1:])


def mean_alignment(weights: Sequence[Float[Tensor, "*rest source"]]) -> Float[Tensor, "*rest source"]:
    """Averages α of several models or directions; for each word, over those that read a context.

    A row of zeros means that no context was read (the first word of the decoder variant `appendix`). The mean
    is 0 if all rows are.
    """
    every = torch.stack(list(weights))
    attended = every.any(-1, keepdim=True).sum(0).clamp(min=1)
    return every.sum(0) / attended
