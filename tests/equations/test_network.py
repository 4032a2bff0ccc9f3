"""Whole sentences, teacher-forced, against the three readings of the decoder in plain loops
(plain/network.py)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from agreement import assert_as_by_hand
from small import (
    ALIGNMENTS,
    CELLS,
    ENCODERS,
    WIRINGS,
    Sentences,
    sentences,
    small_network,
    small_settings,
    teacher_forced,
)

OUTPUTS: list[dict[str, Any]] = [{}, {"factored_output": True}, {"tie_output": True}]


def compare(settings: dict[str, Any], batch: Sentences) -> None:
    assert_as_by_hand(small_network(**settings), small_settings(**settings), batch)


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("cell", CELLS)
def test_every_alignment(cell: str, encoder: str, wiring: str) -> None:
    """All networks; readouts and output layers take turns: each pair of them meets each wiring."""
    number = CELLS.index(cell) * 12 + ENCODERS.index(encoder) * 3 + WIRINGS.index(wiring)
    for k, alignment in enumerate(ALIGNMENTS):
        parts = {"cell": cell, "encoder": encoder, "alignment": alignment, "wiring": wiring}
        compare(
            parts | {"readout": ("maxout", "tanh")[(number + k) % 2]} | OUTPUTS[(number + k) % 3],
            sentences(),
        )


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_translation_of_nothing_but_its_end(cell: str, wiring: str) -> None:
    """A batch whose targets are all one end of sentence: there is no previous word anywhere."""
    batch = sentences()
    ends = torch.zeros(3, 1, dtype=torch.long)
    compare(
        {"cell": cell, "wiring": wiring},
        Sentences(batch.source, batch.lengths, ends, torch.ones(3, dtype=torch.long)),
    )


@pytest.mark.parametrize("wiring", WIRINGS)
def test_end_of_source_can_be_attended(wiring: str) -> None:
    """The end of sentence is a real position (id 0): with an embedding encoder, another embedding of it
    changes p and α."""
    network, batch = small_network(wiring=wiring, encoder="embedding"), sentences()
    with torch.no_grad():
        before, weights = teacher_forced(network, batch)
        network.source_embedding.weight[0] += 1.0
        after, _ = teacher_forced(network, batch)
    assert bool((weights[0, 1:3, 3] > 0).all())  # sentence 0 has 4 positions, its end is the last
    assert not torch.allclose(before[0, :3], after[0, :3])


def test_fixed_alignment_makes_rnnencdec() -> None:
    """c_i = →h_Tx for every i, and s_0 from that same state: nothing of →h_1 … →h_{Tx−1} is read directly."""
    network, batch = small_network(encoder="forward", alignment="fixed"), sentences()
    source, state = network.encode(batch.source, batch.lengths)
    last = source.annotations[torch.arange(3), batch.lengths - 1]
    expected = torch.tanh(network.decoder.W_s(last))
    torch.testing.assert_close(state.cell[:, 0], expected, rtol=0, atol=1e-14)
    _, weights = teacher_forced(network, batch)
    assert torch.equal(
        weights,
        torch.nn.functional.one_hot(batch.lengths - 1, 6)[:, None].expand(-1, 5, -1).double(),
    )
