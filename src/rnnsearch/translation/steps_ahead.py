"""Beam search on a GPU, STEPS words ahead of the host: the beam stays on the device, and the host looks at it only now and then.

Each look makes the device wait for the host, which costs more than a step of the network. So what decides the next word is done on the
device: scores, parents, ids, the beam that a sentence has left, limits of length. Every slot stays where it is; one whose hypothesis
has ended, or was never filled, has a score of −∞. After STEPS words one transfer brings the record of them to the host, which does with
each word what `beam.beam_search` does, in the same code. A sentence that is done leaves the device then, a few words late; what was
computed of it in between is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.records import Hypothesis
from rnnsearch.translation.beam import EOS, IMPOSSIBLE, UNK, Beam, Found, SearchState, StepFunction, StepResult
from rnnsearch.translation.largest import largest

STEPS = 8
"""Words between two looks. More save little; each costs a sentence that is done half of them, on the mean."""


@dataclass(frozen=True, slots=True)
class Record:
    """One word of every sentence on the device, as in `Beam`; scores as they were before hypotheses that end were left out."""

    scores: Float[Tensor, "batch slots"]
    parents: Int64[Tensor, "batch slots"]
    ids: Int64[Tensor, "batch slots"]
    log_probabilities: Float[Tensor, "batch slots"]
    weights: Float[Tensor, "batch slots source"]

    def tensors(self) -> tuple[Tensor, ...]:
        return self.scores, self.parents, self.ids, self.log_probabilities, self.weights


@dataclass(frozen=True, slots=True)
class Ahead:
    """The sentences on the device. scores: of hypotheses that go on. widths, shortest, longest: as in `Found`."""

    scores: Float[Tensor, "batch slots"]
    widths: Int64[Tensor, " batch"]
    shortest: Int64[Tensor, " batch"]
    longest: Int64[Tensor, " batch"]

    def choose(self, result: StepResult, words: int, most: int, no_unk: bool) -> Record:
        """As `beam.best_candidates`. words: that hypotheses have now. most: no sentence's beam is larger."""
        log_p = result.log_probabilities
        scores = self.scores[:, :, None] + log_p  # (batch, slots, K)
        if no_unk:
            scores[:, :, UNK].fill_(IMPOSSIBLE)
        scores[:, :, EOS].masked_fill_((words < self.shortest)[:, None], IMPOSSIBLE)
        values, indices = largest(scores.flatten(1), most)
        beyond = torch.arange(values.shape[1], device=values.device) >= self.widths[:, None]
        parents, ids = indices // log_p.shape[2], indices % log_p.shape[2]
        rows = torch.arange(len(log_p), device=ids.device)[:, None]
        return Record(values.masked_fill(beyond, IMPOSSIBLE), parents, ids, log_p[rows, parents, ids], result.weights[rows, parents])

    def after(self, record: Record, words: int) -> Ahead:
        """Once the word is written."""
        ends = (record.ids == EOS) & (record.scores > IMPOSSIBLE)
        stop = ends | (words >= self.longest)[:, None]
        return replace(self, scores=record.scores.masked_fill(stop, IMPOSSIBLE), widths=self.widths - ends.sum(1))


@torch.no_grad()
def search_ahead(
    step: StepFunction, state: SearchState, source_lengths: Int[Tensor, " batch"], settings: SearchSettings
) -> list[list[Hypothesis]]:
    """As `beam.beam_search`, and the same hypotheses but for the rounding of the step, whose batches have other shapes."""
    device = source_lengths.device
    found = Found.begin(source_lengths.cpu(), settings)
    limits = (torch.from_numpy(one).to(device) for one in (found.limits.shortest, found.limits.longest))
    ahead = Ahead(torch.zeros(len(source_lengths), 1, device=device), torch.from_numpy(found.widths).to(device), *limits)
    previous: Tensor | None = None
    while found.live.sentences.size:
        begun, most = found.words, int(found.widths.max())
        last = int(found.limits.longest[found.live.sentences].max())  # the word at which the end of sentence alone is left
        records: list[Record] = []
        result = step(previous, state)
        for words in range(begun, min(begun + STEPS, last + 1)):
            if records:
                result = step(records[-1].ids, result.state.select(None, records[-1].parents))
            records.append(ahead.choose(result, words, most, settings.no_unk))
            ahead = ahead.after(records[-1], words)
        rows = take_all(found, records)
        if not rows.size:
            break
        previous, state, ahead = selected(found, ahead, records[-1], result, rows)
    return found.best()


def take_all(found: Found, records: Sequence[Record]) -> NDArray[np.int64]:
    """Does on the host what the device has done. Returns the rows that the sentences which stay have there; their last beam is `live`."""
    brought = iter(on_host([tensor for record in records for tensor in record.tensors()]))
    rows = np.arange(len(found.live.sentences))
    for _ in records:
        scores, parents, ids, log_probabilities, weights = (next(brought)[rows] for _ in range(5))
        rows = rows[found.take(Beam(found.live.sentences, scores, parents, ids, log_probabilities, weights), together=False)]
        if not rows.size:
            break
    return rows


def selected(found: Found, ahead: Ahead, record: Record, result: StepResult, rows: NDArray[np.int64]) -> tuple[Tensor, SearchState, Ahead]:
    """The next step's previous ids and state, and what else is on the device, of the sentences that stay, without slots that all lack."""
    live = found.live
    slots = np.argsort(~live.filled, axis=1, kind="stable")[:, : live.filled.sum(axis=1).max()]
    found.history[-1] = live.select(np.arange(len(rows)), slots)
    stay, at = (torch.from_numpy(one).to(ahead.scores.device) for one in (rows, slots))
    chosen = (stay[:, None], at)
    state = result.state.select(None if len(rows) == len(ahead.scores) else stay, record.parents[chosen])
    of_sentences = (one[stay] for one in (ahead.widths, ahead.shortest, ahead.longest))
    return record.ids[chosen], state, Ahead(ahead.scores[chosen], *of_sentences)


def on_host(tensors: Sequence[Tensor]) -> list[NDArray[Any]]:
    """Their values, in one transfer: the host waits once."""
    ordered = sorted(range(len(tensors)), key=lambda number: -tensors[number].element_size())  # so that each lies where its type may
    bytes_of = [tensors[number].contiguous().view(-1).view(torch.uint8) for number in ordered]
    whole = torch.cat(bytes_of).cpu().numpy()
    found: dict[int, NDArray[Any]] = {}
    place = 0
    for number, part in zip(ordered, bytes_of, strict=True):
        tensor = tensors[number]
        dtype = torch.empty(0, dtype=tensor.dtype).numpy().dtype
        found[number] = whole[place : place + len(part)].view(dtype).reshape(tuple(tensor.shape))
        place += len(part)
    return [found[number] for number in range(len(tensors))]
