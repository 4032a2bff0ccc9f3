"""Alignment models against A.1.2, A.2.2 and Sec. 6.1 in plain loops: energies over several steps. Weights (Eq. 6) and
contexts (Eq. 5) are those of test_network.py."""

from __future__ import annotations

import math

import pytest
import torch
from plain.parameters import Parameters, alignment_model
from plain.vectors import softmax
from small import ALIGNMENTS, assert_by_hand, drawn, randomised

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
