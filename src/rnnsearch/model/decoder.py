"""The decoder: one step, from s_{i−1} and y_{i−1} to the state and context for p(y_i) (Sec. 3.1;
A.2.2).

Training and search call the same `step`: teacher forcing in a loop, beam search once per word.
Hypotheses of one sentence share its annotations: states are (batch, hypotheses, …), annotations
(batch, source, …); training has one hypothesis per sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from rnnsearch.model.alignment.base import Alignment, Energies
from rnnsearch.model.cells import Cell
from rnnsearch.model.encoder import Encoded
from rnnsearch.model.layers import Linear, recurrent_dropout, tanh


@dataclass(frozen=True)
class Source:
    """The encoded sentences of a batch, which every step reads."""

    annotations: Float[Tensor, "batch source annotation"]
    keys: Float[Tensor, "batch source key"]
    mask: Bool[Tensor, "batch 1 source"]
    keep: Float[Tensor, "batch 1 hidden"] | None = None
    """The decoder's recurrent dropout mask."""

    def select(self, sentences: Int[Tensor, " kept"]) -> Source:
        """Returns the rows of the given sentences."""
        return Source(self.annotations[sentences], self.keys[sentences], self.mask[sentences])

    def first(self, count: int) -> Source:
        """Returns the rows of the first sentences, without copying them."""
        return Source(self.annotations[:count], self.keys[:count], self.mask[:count])

    def context(
        self, weights: Float[Tensor, "batch hypotheses source"]
    ) -> Float[Tensor, "batch hypotheses annotation"]:
        """Returns c_i = Σ_j α_ij h_j (Eq. 5)."""
        return weights @ self.annotations


@dataclass(frozen=True)
class DecoderState:
    """The state that one hypothesis carries from step to step."""

    cell: Float[Tensor, "batch hypotheses state"]
    context: Float[Tensor, "batch hypotheses annotation"]
    weights: Float[Tensor, "batch hypotheses source"]
    """α_i of the alignment model, even if the context is that of a known alignment; zeros before
    the first context."""
    memory: Float[Tensor, "batch hypotheses *memory"] | None
    """Memory of the alignment model."""

    def first(self, count: int) -> DecoderState:
        """Returns the rows of the first sentences, without copying them."""
        return self._each(lambda part: part[:count])

    def select(
        self, sentences: Int[Tensor, " kept"] | None, hypotheses: Int[Tensor, "kept rows"]
    ) -> DecoderState:
        """Returns the rows of the given `hypotheses` in each of the given `sentences` (None: in
        all)."""
        rows = (
            torch.arange(hypotheses.shape[0], device=hypotheses.device)
            if sentences is None
            else sentences
        )
        chosen = rows.unsqueeze(1) * self.cell.shape[1] + hypotheses  # in the flattened hypotheses
        return self._each(lambda part: part.flatten(0, 1)[chosen])

    def _each(self, change: Callable[[Tensor], Tensor]) -> DecoderState:
        memory = None if self.memory is None else change(self.memory)
        return DecoderState(change(self.cell), change(self.context), change(self.weights), memory)


WordInput = Float[Tensor, "batch hypotheses projected"] | None
"""E y_{i−1}, projected by the cell's `project`; None at the first step, because there is no y_0."""

Known = Float[Tensor, "batch hypotheses source"] | None
"""In teacher forcing, the known alignment of the word whose context a step computes. For a row of
zeros, the model's own α is used."""

StatesOfStep = tuple[DecoderState, DecoderState]
"""(the state that p(y_i) is read from, the state for the next step)."""


class Decoder(nn.Module):
    """The decoder. cell: f. alignment: a. wiring: the decoder variant, a key of WIRINGS."""

    def __init__(self, cell: Cell, alignment: Alignment, summary_size: int, wiring: str) -> None:
        super().__init__()
        self.cell, self.alignment, self.wiring = cell, alignment, wiring
        self.W_s = Linear(summary_size, cell.hidden_size, bias=True)

    def start(
        self,
        encoded: Encoded,
        lengths: Int[Tensor, " batch"],
        mask: Bool[Tensor, "batch source"],
        dropout: float = 0.0,
    ) -> tuple[Source, DecoderState]:
        """Returns the encoded sentences with the alignment model's keys, and the first state: s_0 =
        tanh(W_s ←h_1 + b) (A.2.2), c_0 = 0."""
        hidden = tanh(self.W_s(encoded.summary)).unsqueeze(1)  # (batch, 1, n)
        keys = self.alignment.keys(encoded.annotations)
        source = Source(
            encoded.annotations, keys, mask.unsqueeze(1), recurrent_dropout(hidden, dropout)
        )
        context = torch.zeros_like(encoded.annotations[:, :1])
        weights = torch.zeros_like(source.mask, dtype=hidden.dtype)
        memory = self.alignment.start(keys, lengths)
        return source, DecoderState(self.cell.begin(hidden), context, weights, memory)

    @property
    def first_attended(self) -> int:
        """Returns the index of the first word that has a context: 0 if p(y_i) reads the context of
        step i, 1 if p(y_{i+1}) does. In the latter case α of y_1 is 0."""
        return int(self.wiring == "appendix")

    def teacher_force(
        self,
        previous: Float[Tensor, "batch target embedding"],
        start: DecoderState,
        source: Source,
        known: Float[Tensor, "batch target source"] | None,
    ) -> DecoderState:
        """Runs the decoder over the words of a target. Returns the states that p(y_i) is read from,
        one row for each i.

        previous: E y_{i−1}, zeros for y_0. known: row i is the known alignment of y_i.
        """
        predicting_states = list(self.predicting_states(previous, start, source, known))
        cell, context, weights = (
            torch.cat([getattr(each, part) for each in predicting_states], 1)
            for part in ("cell", "context", "weights")
        )
        return DecoderState(cell, context, weights, None)

    def predicting_states(
        self,
        previous: Float[Tensor, "batch target embedding"],
        start: DecoderState,
        source: Source,
        known: Float[Tensor, "batch target source"] | None,
    ) -> Iterator[DecoderState]:
        """Yields the state that p(y_i) is read from for each i. Arguments: as for
        `teacher_force`."""
        # needs no state, so outside the loop
        words = self.cell.project(previous[:, 1:]).split(1, 1)
        rows = [*known.split(1, 1), None][self.first_attended :] if known is not None else None
        state = start
        for i in range(previous.shape[1]):
            word, row = words[i - 1] if i else None, rows[i] if rows else None
            predicting_state, state = self.step(word, state, source, row)
            yield predicting_state

    def step(
        self, word: WordInput, state: DecoderState, source: Source, known: Known = None
    ) -> StatesOfStep:
        """Computes one step, in the order of the decoder variant."""
        return WIRINGS[self.wiring](self, word, state, source, known)

    def attend(
        self, state: DecoderState, source: Source, known: Known
    ) -> tuple[DecoderState, Energies]:
        """Computes α_i (Eq. 6) and c_i (Eq. 5) with the present state as the query, and returns
        e_i, too. A known alignment, if there is one, replaces α_i in c_i."""
        query, keys = self.cell.hidden(state.cell), source.keys
        energies, memory = self.alignment.energies(query, keys, state.memory)
        weights = torch.softmax(energies.masked_fill(~source.mask, -torch.inf), -1)  # Eq. 6
        attended_weights = (
            weights if known is None else torch.where(known.any(-1, keepdim=True), known, weights)
        )
        memory = self.alignment.attended(query, keys, memory, attended_weights)
        context = source.context(attended_weights)  # Eq. 5
        return DecoderState(state.cell, context, weights, memory), energies

    def advance(self, word: WordInput, state: DecoderState, source: Source) -> DecoderState:
        """Computes s_i = f(s_{i−1}, y_{i−1}, c_i) (Eq. 4) from the word and the present state and
        context."""
        if word is None:
            word = self.cell.project(
                state.cell.new_zeros(*state.cell.shape[:2], self.cell.input_size)
            )
        cell = self.cell(word, state.cell, state.context, source.keep)
        return DecoderState(cell, state.context, state.weights, state.memory)


def eq4(
    decoder: Decoder, word: WordInput, state: DecoderState, source: Source, known: Known
) -> StatesOfStep:
    """Computes c_i from s_{i−1} and s_i = f(s_{i−1}, y_{i−1}, c_i).

    p(y_i) is read from s_i, y_{i−1}, c_i (Sec. 3.1, Eq. 4, Fig. 1).
    """
    state, _ = decoder.attend(state, source, known)
    state = decoder.advance(word, state, source)
    return state, state


def appendix(
    decoder: Decoder, word: WordInput, state: DecoderState, source: Source, known: Known
) -> StatesOfStep:
    """Computes c_i and s_i as `eq4` does, but p(y_i) is read from s_{i−1}, y_{i−1}, c_{i−1}.

    This is A.2.2 taken literally, with c_0 = 0. The alignment of y_i is therefore α_{i−1}, that of
    its context; y_1 has none, so its row is 0.
    """
    predicting_state = state
    state, _ = decoder.attend(state, source, known)
    state = decoder.advance(word, state, source)
    return predicting_state, state


def released(
    decoder: Decoder, word: WordInput, state: DecoderState, source: Source, known: Known
) -> StatesOfStep:
    """Computes s_{i−1} = f(s_{i−2}, y_{i−1}, c_{i−1}), and then c_i from s_{i−1}.

    p(y_i) is read from s_{i−1}, y_{i−1}, c_i, as in the authors' implementation.
    """
    if word is not None:
        state = decoder.advance(word, state, source)
    state, _ = decoder.attend(state, source, known)
    return state, state


WIRINGS: dict[str, Callable[[Decoder, WordInput, DecoderState, Source, Known], StatesOfStep]] = {
    "eq4": eq4,
    "appendix": appendix,
    "released": released,
}
"""Value of `model.wiring` → the step of this decoder variant."""
