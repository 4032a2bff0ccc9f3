"""Ancestral sampling: translations drawn from p(y | x) word by word, within the limits of the search."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.records import Hypothesis
from rnnsearch.translation.beam import (
    EOS,
    IMPOSSIBLE,
    Beam,
    SearchState,
    StepFunction,
    StepResult,
    advance,
    candidates,
    empty_beam,
    forbid,
    hypotheses,
    length_limits,
)

MOST_SAMPLES = 10_000
"""Maximum number of samples of one sentence."""
SMALLEST_TEMPERATURE = torch.finfo(torch.float32).tiny
"""A smaller temperature would be 0 in float32. Here already the most probable word is always drawn."""


@torch.no_grad()
def sample(
    step: StepFunction,
    state: SearchState,
    source_lengths: Int[Tensor, " batch"],
    settings: SearchSettings,
    *,
    temperature: float = 1.0,
    samples: int = 1,
    generator: torch.Generator,
) -> list[list[Hypothesis]]:
    """Draws `samples` independent translations of every sentence, in the order drawn (no ranking).

    Every id is drawn from softmax(log p / temperature) of the ids that the limits of the search allow; the
    recorded log p stay the model's. At the longest allowed length the end of sentence may still be drawn; a
    word drawn there is dropped and the hypothesis is unfinished. The draws depend on the generator (on the
    model's device) and on the other sentences of the batch. Raises InputError if the temperature is not above
    0, or `samples` is not from 1 to MOST_SAMPLES.
    """
    if not 0 < temperature < math.inf:
        raise InputError(
            f"temperature {temperature} is not above 0",
            remedy="to get the most probable words, use beam 1 without samples",
        )
    if not 1 <= samples <= MOST_SAMPLES:
        raise InputError(f"cannot draw {samples} samples", remedy=f"ask for 1 to {MOST_SAMPLES:,}")
    limits = length_limits(source_lengths, settings)
    found: list[dict[int, Hypothesis]] = [{} for _ in range(len(source_lengths))]
    every = np.arange(samples)
    history = [
        empty_beam(source_lengths).select(
            np.arange(len(source_lengths)), np.zeros((len(source_lengths), samples), dtype=np.int64)
        )
    ]
    previous: Tensor | None = None
    while history[-1].sentences.size:
        live, words = history[-1], len(history) - 1
        result = step(previous, state)
        drawn = draw(
            result, live, words < limits.shortest[live.sentences], settings.no_unk, temperature, generator
        )
        ends = drawn.filled & (drawn.ids == EOS)
        goes = drawn.filled & ~ends & (words < limits.longest[live.sentences])[:, None]
        cut = live.filled & ~ends & ~goes
        for some, which, finished in (([*history, drawn], ends, True), (history, cut, False)):
            for sentence, slot, one in hypotheses(some, which, source_lengths, settings, finished=finished):
                found[sentence][slot] = one

        rows = np.flatnonzero(goes.any(axis=1))
        if not rows.size:
            break
        # A sample keeps its slot to the end: moving the unended ones together would order the samples by
        # length.
        drawn = replace(drawn, scores=np.where(goes, drawn.scores, np.float32(IMPOSSIBLE)))
        history.append(drawn.select(rows, np.broadcast_to(every, (rows.size, samples))))
        previous, state = advance(result, history[-1], rows)
    return [[by_slot[slot] for slot in range(samples)] for by_slot in found]


def draw(
    result: StepResult,
    live: Beam,
    early: NDArray[np.bool_],
    no_unk: bool,
    temperature: float,
    generator: torch.Generator,
) -> Beam:
    """Returns one id for every slot, as a beam; its score is −∞ where no id is possible or the sample has
    ended."""
    size, slots, _ = result.log_probabilities.shape
    samples = live.scores.shape[1]
    log_p = result.log_probabilities.repeat(
        1, samples // slots, 1
    )  # (B, samples, K); the first step has one slot for all
    forbid(log_p, early, no_unk)
    stuck = (log_p == IMPOSSIBLE).all(dim=2, keepdim=True)
    log_p_or_any = log_p.masked_fill(stuck, 0.0)
    relative = log_p_or_any - log_p_or_any.amax(
        dim=2, keepdim=True
    )  # so that no temperature sends all of them to −∞
    probabilities = torch.softmax(relative / max(temperature, SMALLEST_TEMPERATURE), dim=2)
    ids = torch.multinomial(probabilities.flatten(0, 1), 1, generator=generator).view(size, samples)
    scores = torch.from_numpy(live.scores).to(log_p.device) + log_p.gather(2, ids[:, :, None])[:, :, 0]
    parents = torch.arange(samples, device=ids.device) % slots
    return candidates(result, live.sentences, scores, parents.expand(size, -1), ids)
