"""Beam search for translations with a given beginning, as a step function around another one.

A beginning is a list of places. At each, some ids are allowed, and each leads so many places
further: a forced id one place, a subword of an unfinished word as many places as it has letters.
Past the last place everything is allowed. log p of an allowed id is the model's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from rnnsearch.search.beam import (
    EOS,
    IMPOSSIBLE,
    UNK,
    Beams,
    Indices,
    SearchState,
    StepFunction,
    StepResult,
)
from rnnsearch.search.step import BeamSearch
from rnnsearch.settings import SearchSettings

Places = Sequence[Mapping[int, int]]
"""The places of a beginning: allowed id → number of places that it leads further."""


@dataclass(frozen=True, slots=True)
class PrefixState:
    """The state of another step function, with the place (batch, hypotheses) of each hypothesis in
    its sentence's beginning."""

    inner: SearchState
    beginnings: Sequence[Places]
    places: Indices

    def select(
        self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]
    ) -> PrefixState:
        rows = range(len(self.places)) if sentences is None else sentences.tolist()
        places = np.take_along_axis(self.places[list(rows)], hypotheses.cpu().numpy(), axis=1)
        return PrefixState(
            self.inner.select(sentences, hypotheses), [self.beginnings[row] for row in rows], places
        )


def with_beginnings(
    find: BeamSearch, beginnings: Sequence[Places], word_ends: Sequence[int] = ()
) -> BeamSearch:
    """Returns a search for translations that begin as given. beginnings: one for each sentence; an
    empty one allows everything.

    A forced id is allowed although the settings forbid UNK. word_ends: if given, only the next word
    after the beginning is searched: these ids come after a whole word, and together they are its
    end.
    """

    def search(
        step: StepFunction, state: SearchState, lengths: Tensor, settings: SearchSettings
    ) -> Beams:
        places = np.zeros((len(beginnings), 1), dtype=np.int64)
        held = partial(_held_step, step, settings.no_unk, list(word_ends))
        settings = settings.model_copy(update={"no_unk": False})
        return find(held, PrefixState(state, beginnings, places), lengths, settings)

    return search


def _held_step(
    step: StepFunction,
    no_unk: bool,
    word_ends: list[int],
    previous: Tensor | None,
    state: PrefixState,
) -> StepResult:
    """Does a step, and sets the scores of ids that are not allowed to −∞."""
    sizes = np.array([[len(beginning)] for beginning in state.beginnings])
    places = state.places.copy()
    if previous is not None:
        ids = previous.tolist()
        for row, slot in np.argwhere(places < sizes):
            allowed = state.beginnings[row][places[row, slot]]
            places[row, slot] += allowed.get(ids[row][slot], 0)  # 0: the slot is empty
    result = step(previous, state.inner)
    scores = result.log_probabilities
    inside = torch.from_numpy(places >= sizes).to(scores.device)
    if word_ends and inside.any():
        rows, ends = scores[inside], torch.tensor(word_ends, device=scores.device)
        end = rows[:, ends].logsumexp(1)
        rows[:, ends] = IMPOSSIBLE
        rows[:, EOS] = end
        scores[inside] = rows
    if no_unk:
        scores[:, :, UNK].masked_fill_(inside, IMPOSSIBLE)
    for row, slot in np.argwhere(places < sizes):
        own, ids = scores[row, slot], list(state.beginnings[row][places[row, slot]])
        kept = own[ids]
        own.fill_(IMPOSSIBLE)[ids] = kept
    return StepResult(scores, result.weights, PrefixState(result.state, state.beginnings, places))
