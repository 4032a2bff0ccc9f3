"""Search with a bidirectional decoder (the proposal, part 3): each direction searches, and both rank the
pooled hypotheses.

Like beam search, it sees only step functions. A translation is scored by the mean of the two directions' log
p(y | x), that is by the geometric mean of two probabilities. Over all translations these sum to 1 at most
(Cauchy–Schwarz), so that the score is comparable with log p(y | x) of one direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.errors import SearchStoppedError
from rnnsearch.records import Hypothesis
from rnnsearch.translation.beam import (
    EOS,
    Beam,
    SearchState,
    StepFunction,
    StepResult,
    beam_search,
    final_score,
)

Ids = tuple[int, ...]


class Reader(NamedTuple):
    """One decoding direction as the search sees it. state: the state before the first step. backward: whether
    it writes the translation's last word first."""

    step: StepFunction
    state: SearchState
    backward: bool

    def cancelled_by(self, cancelled: Callable[[], bool]) -> Reader:
        """Returns a reader that calls `cancelled` before every step, and raises SearchStoppedError once that
        returns True."""

        def step(previous: Tensor | None, state: SearchState) -> StepResult:
            if cancelled():
                raise SearchStoppedError
            return self.step(previous, state)

        return self._replace(step=step)


def search(
    readers: Sequence[Reader],
    source_lengths: Int[Tensor, " batch"],
    settings: SearchSettings,
    watch: Callable[[Beam], None] | None = None,
) -> list[list[Hypothesis]]:
    """Searches as `beam_search` does, in one direction or in both. Words are in the order of the translation.

    watch: called only if there is one direction and it reads from left to right.
    """
    if len(readers) > 1:
        return joint_search(readers, source_lengths, settings)
    return search_one_way(readers[0], source_lengths, settings, None if readers[0].backward else watch)


def search_one_way(
    reader: Reader,
    source_lengths: Int[Tensor, " batch"],
    settings: SearchSettings,
    watch: Callable[[Beam], None] | None = None,
) -> list[list[Hypothesis]]:
    """Runs a beam search in one direction."""
    found = beam_search(reader.step, reader.state, source_lengths, settings, watch)
    return [[in_order(hypothesis) for hypothesis in one] for one in found] if reader.backward else found


def joint_search(
    readers: Sequence[Reader], source_lengths: Int[Tensor, " batch"], settings: SearchSettings
) -> list[list[Hypothesis]]:
    """Pools the finished hypotheses of all directions' beams, scores them in every direction, and returns the
    best `settings.nbest`, best first.

    log p of each word and the alignment are means over the directions; `final_score` normalises as in beam
    search. If no direction finished a sentence, the first direction's result is returned.
    """
    whole_beam = settings.model_copy(update={"nbest": settings.beam})
    found = [search_one_way(reader, source_lengths, whole_beam) for reader in readers]
    finished = [
        [{one.ids: one for one in beam if one.finished} for beam in every] for every in found
    ]  # direction, sentence, ids
    pools = [
        list(dict.fromkeys(ids for beam in beams for ids in beam)) for beams in zip(*finished, strict=True)
    ]
    for reader, known in zip(readers, finished, strict=True):
        missing = [[ids for ids in pool if ids not in beam] for pool, beam in zip(pools, known, strict=True)]
        for beam, scored in zip(known, force_decode(reader, missing, source_lengths), strict=True):
            beam.update((one.ids, one) for one in scored)
    results = []
    for number, pool in enumerate(pools):
        ranked = [mean([known[number][ids] for known in finished], settings) for ids in pool]
        results.append(
            sorted(ranked, key=lambda hypothesis: -hypothesis.score)[: settings.nbest]
            or found[0][number][: settings.nbest]
        )
    return results


def mean(readings: Sequence[Hypothesis], settings: SearchSettings) -> Hypothesis:
    """Averages the hypotheses that the directions have for one translation."""
    log_probabilities = np.mean([reading.log_probabilities for reading in readings], axis=0)
    weights = mean_alignment([torch.from_numpy(reading.weights) for reading in readings]).numpy()
    score = final_score(float(log_probabilities.sum()), weights, settings)
    return replace(
        readings[0], score=score, log_probabilities=tuple(log_probabilities.tolist()), weights=weights
    )


@torch.no_grad()
def force_decode(
    reader: Reader, given: Sequence[Sequence[Ids]], source_lengths: Int[Tensor, " batch"]
) -> list[list[Hypothesis]]:
    """Force-decodes translations in one direction, any number per sentence. Returns log p and α of every
    word.

    Ids end with the end of sentence. The score is log p(y | x).
    """
    rows = [number for number, some in enumerate(given) if some]
    results: list[list[Hypothesis]] = [[] for _ in given]
    if not rows:
        return results
    ids = padded(
        [[reversed_words(ids) if reader.backward else ids for ids in given[row]] for row in rows]
    ).to(source_lengths.device)
    none_yet = torch.zeros_like(ids[:, :, 0])
    state = reader.state.select(
        torch.tensor(rows, device=ids.device), none_yet
    )  # the empty hypothesis in every slot
    of_words, alignments = [], []
    for i in range(ids.shape[2]):
        result = reader.step(ids[:, :, i - 1] if i else None, state)
        state = result.state
        of_words.append(result.log_probabilities.gather(2, ids[:, :, i : i + 1]).squeeze(2))
        alignments.append(result.weights)
    log_p, weights = torch.stack(of_words, 2).cpu().numpy(), torch.stack(alignments, 2).cpu().numpy()
    lengths = source_lengths.tolist()
    for place, row in enumerate(rows):
        for slot, one in enumerate(given[row]):
            order = list(reversed_words(tuple(range(len(one))))) if reader.backward else slice(len(one))
            words, alpha = log_p[place, slot, order], weights[place, slot, order, : lengths[row]].copy()
            results[row].append(
                Hypothesis(
                    one, float(words.sum(dtype=np.float64)), tuple(words.tolist()), alpha, finished=True
                )
            )
    return results


def padded(given: Sequence[Sequence[Ids]]) -> Int64[Tensor, "batch hypotheses target"]:
    """Returns the ids as one tensor, padded with ends of sentence."""
    ids = np.full((len(given), max(map(len, given)), max(len(ids) for some in given for ids in some)), EOS)
    for row, some in zip(ids, given, strict=True):
        for slot, words in zip(row, some, strict=False):
            slot[: len(words)] = words
    return torch.from_numpy(ids)


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
    read = every.any(-1, keepdim=True).sum(0).clamp(min=1)
    return every.sum(0) / read
