"""Beam search for the most probable translation (Sec. 4.2). It sees only a step function and an
opaque state, never a model or a word.

Arrays that follow the hypotheses are small and live on the CPU; only log p and α of the step stay
where the model is. Throughout: B sentences still searched, k slots per sentence, J source
positions, K target ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.settings import SearchSettings

EOS, UNK = 0, 1
"""Ids of the end of sentence and of the unknown word in every vocabulary; repeated here because the
search knows no vocabulary."""

Indices = NDArray[np.int64]
FloatArray = NDArray[np.float32]
Mask = NDArray[np.bool_]

IMPOSSIBLE = -math.inf
SMALLEST_COVERAGE = float(np.finfo(np.float32).tiny)
"""Stands for a coverage of 0, whose logarithm is −∞: a position never attended to costs β·87.3."""


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """The result of a search for one sentence: ids, never words.

    ids: the target ids, with the end of sentence as the last one if `finished`.
    score: the value by which a sentence's hypotheses are ranked (after length normalisation and
    penalties).
    log_probabilities: log p(y_i | y_<i, x) of every id; they sum to log p(y | x). With a
    right-to-left decoder, the condition is the words after y_i; with a bidirectional one, they are
    means over both directions.
    weights: (len(ids), source length) float32; row i is α_i (Eq. 6), with the end of the source
    sentence. Rows sum to 1, or to 0 if the word read no context (the first one of the decoder
    variant `appendix`).
    finished: False if the length limit cut it off.
    """

    ids: tuple[int, ...]
    score: float
    log_probabilities: tuple[float, ...]
    weights: NDArray[np.float32]
    finished: bool

    def __eq__(self, other: object) -> bool:
        """Tells whether all fields are equal."""
        if not isinstance(other, Hypothesis):
            return NotImplemented
        mine, theirs = (
            (one.ids, one.score, one.log_probabilities, one.finished) for one in (self, other)
        )
        return mine == theirs and np.array_equal(self.weights, other.weights)


Beams = list[list[Hypothesis]]
"""The hypotheses of each sentence, best first."""


@runtime_checkable
class SearchState(Protocol):
    """State of a step function: tensors (B, k, …) per hypothesis and (B, …) per sentence. The
    latter are never copied for each hypothesis."""

    def select(
        self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]
    ) -> SearchState:
        """Selects the sentences and hypotheses to continue with.

        sentences: indices of the sentences to keep, ascending; None keeps all. hypotheses: for each
        of them, the slots to continue with.
        """
        ...


@dataclass(slots=True)
class StepResult:
    # float32: log p(y_i | y_<i, x), normalised
    log_probabilities: Float[Tensor, "batch hypotheses target"]
    weights: Float[
        Tensor, "batch hypotheses source"
    ]  # float32: α_i (Eq. 6), rows sum to 1 (or are 0 if no context was read), zero on padding
    state: SearchState


BestSums = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""The signature of `best_sums`."""
StepFunction = Callable[[Tensor | None, Any], StepResult]
"""(previous ids (B, k) int64, its own state) → StepResult. The previous ids are None at the first
step (k = 1), since there is no beginning-of-sentence word."""


def best_sums(
    before: Float[Tensor, "batch hypotheses"],
    after: Float[Tensor, "batch hypotheses words"],
    count: int,
) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """Returns the `count` largest sums before + after of each row, or all if there are fewer, and
    their indices in the flattened row. Equal sums are ordered by index."""
    values, indices = (
        (before.unsqueeze(2) + after).flatten(1).sort(dim=1, descending=True, stable=True)
    )
    return values[:, :count], indices[:, :count]


@dataclass(frozen=True, slots=True)
class Beam:
    """The hypotheses y_1 … y_i of every sentence still searched, all of one length. A slot whose
    score is −∞ is empty."""

    sentences: Indices  # (B,) their numbers in the batch, ascending
    scores: FloatArray  # (B, k) log p(y_1 … y_i | x)
    parents: Indices  # (B, k) the slot of y_1 … y_{i−1} in the beam before
    ids: Indices  # (B, k) y_i
    log_probabilities: FloatArray  # (B, k) log p(y_i | y_<i, x), the model's own
    weights: FloatArray  # (B, k, J) α_i

    @property
    def filled(self) -> Mask:
        """Returns a mask (B, k): false for empty slots and for NaN scores of a broken model."""
        return self.scores > IMPOSSIBLE

    def select(self, rows: Indices, slots: Indices) -> Beam:
        """Returns the beam of the sentences `rows` (B',), each with its hypotheses `slots` (B',
        k')."""
        at = (rows[:, None], slots)
        return Beam(
            self.sentences[rows],
            self.scores[at],
            self.parents[at],
            self.ids[at],
            self.log_probabilities[at],
            self.weights[at],
        )


@torch.no_grad()
def beam_search(
    step: StepFunction,
    state: SearchState,
    source_lengths: Int[Tensor, " batch"],
    settings: SearchSettings,
    each_step: Callable[[], object] = lambda: None,
    sums: BestSums = best_sums,
) -> Beams:
    """Searches for the most probable translations. A finished hypothesis leaves its sentence's
    beam, which shrinks by one.

    source_lengths: (B,) end of sentence included. each_step: called before every step; what it
    raises ends the search. sums: a faster equal of `best_sums`.

    Returns, per sentence, at least one and at most `settings.nbest` hypotheses, best first: the
    finished ones, or the best unfinished ones if none is finished (an empty one if no first word is
    possible). At the longest allowed length the end of sentence may still be chosen, but no further
    word.

    Equal scores are ordered by hypothesis, then by id; at the final choice the one finished first
    wins. Therefore the other sentences of the batch do not change a sentence's result, except
    through rounding in the step function.
    """
    progress = SearchProgress(source_lengths, settings)
    previous: Tensor | None = None
    while progress.live.sentences.size:
        each_step()
        result = step(previous, state)
        progress.forbid(result.log_probabilities)
        chosen = best_candidates(result, progress.live, progress.widths, sums)
        rows = progress.take(chosen)
        if not rows.size:
            break
        previous, state = advance(result, progress.live, rows)
    return progress.best()


class SearchProgress:
    """The state of a search. source_lengths: on any device. history: a beam for each word, and one
    before the first.

    shortest, longest: (all sentences,) the least and the largest number of words of each
    translation, without the end of sentence, by |x| without its own; one word is always allowed,
    also for an empty source.
    finished: the finished hypotheses of each sentence. widths: (B,) the remaining beam size of each
    sentence of the last beam.
    """

    def __init__(self, source_lengths: Int[Tensor, " batch"], settings: SearchSettings) -> None:
        self.lengths, self.settings = source_lengths.cpu().numpy(), settings
        self.shortest = np.floor(settings.min_length_ratio * (self.lengths - 1))
        self.longest = np.array([longest(length, settings) for length in self.lengths.tolist()])
        self.history = [empty_beam(self.lengths)]
        self.finished: Beams = [[] for _ in self.lengths]
        self.widths = np.full(len(self.lengths), settings.beam)

    @property
    def live(self) -> Beam:
        """Returns the last beam."""
        return self.history[-1]

    @property
    def words(self) -> int:
        """Returns the number of words of each live hypothesis."""
        return len(self.history) - 1

    def forbid(self, scores: Tensor) -> None:
        """Sets the scores (B, k, K) of ids that must not come next to −∞, in place."""
        if self.settings.no_unk:
            scores[:, :, UNK] = IMPOSSIBLE
        early = self.words < self.shortest[self.live.sentences]
        if early.any():
            scores[torch.from_numpy(early).to(scores.device), :, EOS] = IMPOSSIBLE

    def take(self, chosen: Beam) -> Indices:
        """Stores the hypotheses that end with this word, and continues with the others.

        chosen: continuations of the last beam, as `best_candidates` gives them. Returns the rows
        (B',) of the sentences that stay.
        """
        live = self.live
        ends = chosen.filled & (chosen.ids == EOS)
        continues = chosen.filled & ~ends & (self.words < self.longest[live.sentences])[:, None]
        self._keep([*self.history, chosen], ends, finished=True)
        chosen = replace(chosen, scores=np.where(continues, chosen.scores, np.float32(IMPOSSIBLE)))

        unfinished = continues.any(axis=1) & ~self._settled(chosen)
        failed = ~unfinished & np.array(
            [not self.finished[sentence] for sentence in live.sentences]
        )
        self._keep(self.history, live.filled & failed[:, None], finished=False)
        rows, slots = survivors(unfinished, continues)
        self.widths = (self.widths - ends.sum(axis=1))[rows]
        if rows.size:
            self.history.append(chosen.select(rows, slots))
        return rows

    def _settled(self, beam: Beam) -> Mask:
        """Returns a mask (B,): true where no hypothesis of the beam can still enter the n-best
        list.

        This is known only without length normalisation: log p can only fall, and the coverage
        penalty is never above 0."""
        if self.settings.normalise != "none":
            return np.zeros(len(beam.sentences), dtype=np.bool_)
        nbest, worst = self.settings.nbest, []
        for sentence in beam.sentences:
            scores = [one.score for one in self.finished[sentence]]
            worst.append(sorted([IMPOSSIBLE] * nbest + scores)[-nbest])
        settled: Mask = np.array(worst) >= beam.scores.max(axis=1)
        return settled

    def _keep(self, history: Sequence[Beam], which: Mask, *, finished: bool) -> None:
        """Stores the hypotheses marked in `which` (B, k), traced back from the last beam of the
        history."""
        rows, slots = np.nonzero(which)
        if not rows.size:
            return
        sentences, scores = history[-1].sentences[rows], history[-1].scores[which].tolist()
        ids, log_probabilities, weights = trace(history, sentences, slots)
        for n, sentence in enumerate(sentences):
            alignment = weights[n, :, : self.lengths[sentence]].copy()
            score = final_score(scores[n], alignment, self.settings)
            words = tuple(ids[n].tolist()), score, tuple(log_probabilities[n].tolist())
            self.finished[sentence].append(Hypothesis(*words, alignment, finished))

    def best(self) -> Beams:
        """Returns the hypotheses of each sentence, `settings.nbest` at most, best first."""
        return [
            sorted(collected, key=lambda hypothesis: -hypothesis.score)[: self.settings.nbest]
            for collected in self.finished
        ]


def longest(length: int, settings: SearchSettings) -> int:
    """Returns the largest number of words of a translation, without the end of sentence. length: of
    the source, with it."""
    return max(1, math.floor(settings.max_length_ratio * (length - 1)))


def empty_beam(lengths: Indices) -> Beam:
    """Returns the beam before the first word: one hypothesis per sentence, the empty one, with log
    p = 0."""
    size, positions = len(lengths), lengths.max(initial=0)
    none = np.zeros((size, 1), dtype=np.int64)
    zero = np.zeros((size, 1), dtype=np.float32)
    return Beam(
        np.arange(size), zero, none, none, zero, np.zeros((size, 1, positions), dtype=np.float32)
    )


def best_candidates(result: StepResult, live: Beam, widths: Indices, sums: BestSums) -> Beam:
    """Returns the best continuations of each sentence by one id, `widths[b]` at most, best
    first."""
    log_p = result.log_probabilities
    so_far = torch.from_numpy(live.scores).to(log_p.device)  # (B, k)
    values, indices = sums(so_far, log_p, int(widths.max()))  # (B, n)
    parents, ids = indices // log_p.shape[2], indices % log_p.shape[2]
    rows = torch.arange(len(log_p), device=log_p.device)[:, None]
    own = log_p[rows, parents, ids], result.weights[rows, parents]
    scores, *arrays = (tensor.cpu().numpy() for tensor in (values, parents, ids, *own))
    beyond = np.arange(values.shape[1]) >= widths[:, None]
    return Beam(live.sentences, np.where(beyond, np.float32(IMPOSSIBLE), scores), *arrays)


def survivors(unfinished: Mask, continues: Mask) -> tuple[Indices, Indices]:
    """Converts the masks of continuing sentences (B,) and hypotheses (B, k) to rows (B',) and slots
    (B', k'). The order is kept; empty slots are last."""
    rows = np.flatnonzero(unfinished)
    order = np.argsort(~continues[rows], axis=1, kind="stable")
    return rows, order[:, : continues[rows].sum(axis=1).max(initial=0)]


def advance(result: StepResult, beam: Beam, rows: Indices) -> tuple[Tensor, SearchState]:
    """Returns the previous ids and the state of the next step: for the sentences `rows`, with the
    hypotheses of the new beam."""
    device = result.log_probabilities.device
    kept = None if rows.size == len(result.log_probabilities) else torch.from_numpy(rows).to(device)
    ids, parents = (torch.from_numpy(each).to(device) for each in (beam.ids, beam.parents))
    return ids, result.state.select(kept, parents)


def trace(
    history: Sequence[Beam], sentences: Indices, slots: Indices
) -> tuple[Indices, FloatArray, FloatArray]:
    """Follows the parents from slots (n,) of the last beam to the first word: ids (n, I), log p (n,
    I) and α (n, I, J)."""
    size, words, positions = len(slots), len(history) - 1, history[-1].weights.shape[2]
    ids = np.zeros((size, words), dtype=np.int64)
    log_probabilities = np.zeros((size, words), dtype=np.float32)
    weights = np.zeros((size, words, positions), dtype=np.float32)
    for i in reversed(range(words)):
        beam = history[i + 1]  # the first of the history has no word yet
        at = (np.searchsorted(beam.sentences, sentences), slots)
        ids[:, i] = beam.ids[at]
        log_probabilities[:, i] = beam.log_probabilities[at]
        weights[:, i] = beam.weights[at]
        slots = beam.parents[at]
    return ids, log_probabilities, weights


def final_score(log_probability: float, weights: FloatArray, settings: SearchSettings) -> float:
    """Returns the score that the final choice ranks by: log p / penalty(n) + β Σ_j log min(Σ_i
    α_ij, 1) (GNMT, Wu et al. 2016, Eq. 14).

    weights: (n, source length) without padding; n counts the end of sentence.
    """
    n = max(len(weights), 1)
    penalty: float = {"none": 1.0, "length": n, "gnmt": ((5 + n) / 6) ** settings.length_alpha}[
        settings.normalise
    ]
    covered = np.clip(weights.sum(axis=0, dtype=np.float64), SMALLEST_COVERAGE, 1.0)
    return log_probability / penalty + settings.coverage_beta * float(np.log(covered).sum())
