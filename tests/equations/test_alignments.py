"""Alignment models against A.1.2, A.2.2 and Sec. 6.1 in plain loops: energies over several steps, weights (Eq. 6) and contexts (Eq. 5)."""

from __future__ import annotations

import pytest
import torch
from plain.alignments import attend
from plain.parameters import Parameters, alignment_model
from small import ALIGNMENTS, randomised, sentences, small_network

from rnnsearch.model.alignment import ALIGNMENTS as ALIGNMENT_CLASSES
from rnnsearch.model.decoder import SourceReader

STATE, ANNOTATION, SIZE = 4, 6, 5
STEPS = 3


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_energies(name: str) -> None:
    """Two sentences of unequal lengths, three hypotheses each, three steps: a memory must belong to its hypothesis."""
    state_size = ANNOTATION if name == "dot" else STATE
    module = ALIGNMENT_CLASSES[name](state_size, ANNOTATION, SIZE).double()
    randomised(module)
    parameters = Parameters(module.state_dict())
    by_hand = alignment_model(parameters, name)
    assert not parameters.unused

    lengths = torch.tensor([4, 6])
    annotations = torch.randn(2, 6, ANNOTATION, dtype=torch.float64)
    states = torch.randn(STEPS, 2, 3, state_size, dtype=torch.float64)
    keys = module.keys(annotations)
    memory = module.start(keys, lengths)
    memory = None if memory is None else memory.expand(-1, 3, *memory.shape[2:])
    found = []
    for i in range(STEPS):
        energies, memory = module.energies(states[i], keys, memory)
        found.append(energies)

    for b, length in enumerate(lengths.tolist()):
        h = annotations[b, :length].tolist()
        for k in range(3):
            before = by_hand.begin(h)
            for i in range(STEPS):
                expected, before = by_hand.energies(states[i, b, k].tolist(), h, before)
                torch.testing.assert_close(found[i][b, k, :length], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_weights_and_context(name: str) -> None:
    """Decoder.attend: α_i sums to one over the real positions and is zero on padding; c_i = Σ_j α_ij h_j."""
    network, batch = small_network(alignment=name), sentences()
    by_hand = alignment_model(Parameters(network.decoder.alignment.state_dict()), name)
    source, state = network.encode(batch.source, batch.lengths)
    attended = network.decoder.attend(state, SourceReader(source))
    for b, length in enumerate(batch.lengths.tolist()):
        h = source.annotations[b, :length].tolist()
        weights, context, _ = attend(by_hand, state.cell[b, 0].tolist(), h, by_hand.begin(h))
        padding = source.annotations.shape[1] - length
        expected = torch.tensor([*weights, *[0.0] * padding], dtype=torch.float64)
        torch.testing.assert_close(attended.weights[b, 0], expected, rtol=0, atol=1e-14)
        torch.testing.assert_close(attended.context[b, 0], torch.tensor(context, dtype=torch.float64), rtol=0, atol=1e-13)
        assert attended.weights[b, 0, length:].count_nonzero() == 0


def test_window_moves_to_the_right_only() -> None:
    """Graves 2013: κ_i = κ_{i−1} + exp(κ̂_i)."""
    module = ALIGNMENT_CLASSES["window"](STATE, ANNOTATION, SIZE).double()
    randomised(module)
    keys = module.keys(torch.randn(1, 5, ANNOTATION, dtype=torch.float64))
    centres = module.start(keys, torch.tensor([5]))
    for _ in range(4):
        assert centres is not None
        before = centres
        _, centres = module.energies(torch.randn(1, 1, STATE, dtype=torch.float64), keys, centres)
        assert centres is not None
        assert bool((centres > before).all())
