"""Padding and neighbours change nothing: neither losses nor gradients."""

from __future__ import annotations

import pytest
import torch
from small import (
    ALIGNMENTS,
    CELLS,
    ENCODERS,
    WIRINGS,
    Sentences,
    gradients,
    nll,
    sentences,
    small_network,
)

COMBINATIONS = [
    (cell, encoder, "additive", "released") for cell in CELLS for encoder in ENCODERS
] + [
    ("gated", "bidirectional", alignment, wiring) for alignment in ALIGNMENTS for wiring in WIRINGS
]
every_combination = pytest.mark.parametrize(
    ("cell", "encoder", "alignment", "wiring"), COMBINATIONS
)


def trimmed(batch: Sentences, b: int) -> Sentences:
    J, I = int(batch.lengths[b]), int(batch.target_lengths[b])  # noqa: E741
    return Sentences(
        batch.source[b : b + 1, :J],
        batch.lengths[b : b + 1],
        batch.target[b : b + 1, :I],
        batch.target_lengths[b : b + 1],
    )


@every_combination
def test_alone_as_in_company(cell: str, encoder: str, alignment: str, wiring: str) -> None:
    """The gradient of a batch is the sum of its sentences' gradients, each alone and without padding; so are
    the losses."""
    network = small_network(cell=cell, encoder=encoder, alignment=alignment, wiring=wiring)
    batch = sentences()
    loss = nll(network, batch)
    singles = [nll(network, trimmed(batch, b)) for b in range(3)]
    torch.testing.assert_close(loss, torch.stack(singles).sum(), rtol=0, atol=1e-12)
    alone = [gradients(network, single) for single in singles]
    for name, together in gradients(network, loss).items():
        torch.testing.assert_close(
            together, sum(one[name] for one in alone), rtol=0, atol=1e-11, msg=name
        )
