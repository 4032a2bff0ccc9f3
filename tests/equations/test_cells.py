"""Activation functions f against A.1.1 in plain loops: one step, with and without context, and the first step
without a word."""

from __future__ import annotations

import pytest
import torch
from plain.parameters import UNITS, Parameters
from small import CELLS as NAMES
from small import assert_by_hand, drawn, randomised

from rnnsearch.model.cells import CELLS

INPUT, HIDDEN, CONTEXT = 5, 4, 3
BATCH = 3


@pytest.mark.parametrize("with_word", [True, False], ids=["word", "no word"])
@pytest.mark.parametrize("context_size", [CONTEXT, 0], ids=["decoder", "encoder"])
@pytest.mark.parametrize("name", NAMES)
def test_one_step(name: str, context_size: int, with_word: bool) -> None:
    cell = CELLS[name](INPUT, HIDDEN, context_size).double()
    randomised(cell)
    parameters = Parameters(cell.state_dict())
    unit = UNITS[name](parameters, "")
    assert not parameters.unused

    words = drawn(BATCH, INPUT) * with_word
    states = drawn(BATCH, cell.state_size)
    contexts = drawn(BATCH, context_size) if context_size else None
    found = cell(cell.project(words), states, contexts)

    for b in range(BATCH):
        state = states[b].tolist()
        before = (state[:HIDDEN], state[HIDDEN:]) if name == "lstm" else state
        after = unit.next(
            words[b].tolist() if with_word else None,
            before,
            None if contexts is None else contexts[b].tolist(),
        )
        expected = [*after[0], *after[1]] if name == "lstm" else after
        assert_by_hand(found[b], expected, 1e-14)
        assert_by_hand(cell.hidden(found)[b], unit.hidden(after), 1e-14)


def test_closed_and_open_update_gate() -> None:
    """z weighs the candidate (A.1.1): at z = 0 the state stays, at z = 1 it is forgotten. torch.nn.GRU does
    the opposite."""
    cell = CELLS["gated"](INPUT, HIDDEN).double()
    randomised(cell)
    state = drawn(1, HIDDEN)
    for gate, expected in ((-1e3, state), (1e3, None)):
        projected = torch.cat(
            (
                torch.full((1, HIDDEN), 0.3),
                torch.full((1, HIDDEN), gate),
                torch.full((1, HIDDEN), -1e3),
            ),
            1,
        ).double()
        # r = 0: the candidate is tanh(W e + b) alone
        after = torch.tanh(projected[:, :HIDDEN]) if expected is None else expected
        torch.testing.assert_close(cell(projected, state), after, rtol=0, atol=1e-14)
