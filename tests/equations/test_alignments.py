"""Alignment models against A.1.2, A.2.2 and Sec. 6.1 in plain loops: energies over several steps, weights
(Eq. 6) and contexts (Eq. 5)."""

from __future__ import annotations

import math

import pytest
import torch
from plain.alignments import attend
from plain.parameters import Parameters, alignment_model
from plain.vectors import softmax
from small import ALIGNMENTS, assert_by_hand, drawn, randomised, sentences, small_network

from rnnsearch.model.alignment import ALIGNMENTS as ALIGNMENT_CLASSES
from rnnsearch.model.alignment import Alignment
from rnnsearch.model.network import resolve

STATE, ANNOTATION, SIZE = 4, 6, 5
STEPS = 3


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_energies(name: str) -> None:
    """Two sentences of unequal lengths, three hypotheses each, three steps: a memory must belong to its
    hypothesis."""
    state_size = ANNOTATION if name == "dot" else STATE
    module = resolve("model.alignment", name, ALIGNMENT_CLASSES, Alignment, False)(
        state_size, ANNOTATION, SIZE
    ).double()
    randomised(module)
    parameters = Parameters(module.state_dict())
    by_hand = alignment_model(parameters, name)
    assert not parameters.unused

    lengths = torch.tensor([4, 6])
    annotations = drawn(2, 6, ANNOTATION)
    states = drawn(STEPS, 2, 3, state_size)
    keys = module.keys(annotations)
    memory = module.start(keys, lengths)
    memory = None if memory is None else memory.expand(-1, 3, *memory.shape[2:])
    padding, found = (torch.arange(6) >= lengths.unsqueeze(1)).unsqueeze(1), []
    for i in range(STEPS):
        energies, memory = module.energies(states[i], keys, memory)
        found.append(energies)
        weights = torch.softmax(energies.masked_fill(padding, -torch.inf), -1)
        memory = module.attended(states[i], keys, memory, weights)

    for b, length in enumerate(lengths.tolist()):
        h = annotations[b, :length].tolist()
        for k in range(3):
            before = by_hand.begin(h)
            for i in range(STEPS):
                s = states[i, b, k].tolist()
                expected, before = by_hand.energies(s, h, before)
                before = by_hand.attended(s, h, before, softmax(expected))
                assert_by_hand(found[i][b, k, :length], expected, 1e-12)


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_weights_and_context(name: str) -> None:
    """Decoder.attend: α_i sums to one over the real positions and is zero on padding; c_i = Σ_j α_ij h_j."""
    network, batch = small_network(alignment=name), sentences()
    by_hand = alignment_model(Parameters(network.decoder.alignment.state_dict()), name)
    source, state = network.encode(batch.source, batch.lengths)
    attended, _ = network.decoder.attend(state, source, None)
    for b, length in enumerate(batch.lengths.tolist()):
        h = source.annotations[b, :length].tolist()
        weights, context, _ = attend(by_hand, state.cell[b, 0].tolist(), h, by_hand.begin(h))
        padding = source.annotations.shape[1] - length
        assert_by_hand(attended.weights[b, 0], [*weights, *[0.0] * padding], 1e-14)
        assert_by_hand(attended.context[b, 0], context)
        assert attended.weights[b, 0, length:].count_nonzero() == 0


def test_window_moves_to_the_right_only() -> None:
    """Graves 2013: κ_i = κ_{i−1} + exp(κ̂_i)."""
    module = resolve("model.alignment", "window", ALIGNMENT_CLASSES, Alignment, False)(
        STATE, ANNOTATION, SIZE
    ).double()
    randomised(module)
    keys = module.keys(drawn(1, 5, ANNOTATION))
    centres = module.start(keys, torch.tensor([5]))
    for _ in range(4):
        assert centres is not None
        before = centres
        _, centres = module.energies(drawn(1, 1, STATE), keys, centres)
        assert centres is not None
        assert bool((centres > before).all())


def test_coverage_of_known_alignments() -> None:
    """Where links replace α_i in the context, they are also what has been attended to; elsewhere α_i is."""
    network, batch = small_network(alignment="coverage"), sentences()
    source, state = network.encode(batch.source, batch.lengths)
    known = torch.zeros(3, 1, 6, dtype=torch.float64)
    known[0, 0, 1:3] = 0.5
    attended, _ = network.decoder.attend(state, source, known)
    assert state.memory is not None
    assert attended.memory is not None
    share = state.memory[..., 1]  # 1/Φ
    covered = torch.cat((known[:1], attended.weights[1:]))
    torch.testing.assert_close(attended.memory[..., 0], covered * share)
    torch.testing.assert_close(attended.context[0, 0], source.annotations[0, 1:3].mean(0))


@torch.no_grad()
def test_scalar_score_cannot_be_sharp() -> None:
    """|e_ij| < tanh 1: the bound on α is nearly reached by a score that is driven to its limits, and never
    passed."""
    module = resolve("model.alignment", "recurrent-scalar", ALIGNMENT_CLASSES, Alignment, False)(
        STATE, ANNOTATION, SIZE
    ).double()
    randomised(module, deviation=50.0)
    annotations = drawn(1, 8, ANNOTATION)
    states = drawn(200, 1, 20, STATE)
    keys = module.keys(annotations)
    memory, largest = module.start(keys, torch.tensor([8])).expand(-1, 20, -1, -1), 0.0
    for state in states:
        energies, memory = module.energies(state, keys, memory)
        largest = max(largest, float(torch.softmax(energies, -1).max()))
    c = math.exp(2 * math.tanh(1.0))
    assert 0.9 * c / (c + 7) < largest < c / (c + 7)
