"""Padding, neighbours and batch order change nothing: neither probabilities and alignments nor gradients."""

from __future__ import annotations

from collections.abc import Callable

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
    teacher_forced,
)

COMBINATIONS = [(cell, encoder, "additive", "released") for cell in CELLS for encoder in ENCODERS] + [
    ("gated", "bidirectional", alignment, wiring) for alignment in ALIGNMENTS for wiring in WIRINGS
]
every_combination = pytest.mark.parametrize(("cell", "encoder", "alignment", "wiring"), COMBINATIONS)


def permuted(batch: Sentences) -> tuple[Sentences, list[int]]:
    order = [2, 0, 1]
    return Sentences(*(tensor[order] for tensor in batch)), order


def longer_padding(batch: Sentences) -> tuple[Sentences, list[int]]:
    """Two positions more on each side, and other ids on the padding."""
    filled = []
    for ids, lengths in ((batch.source, batch.lengths), (batch.target, batch.target_lengths)):
        longer = torch.randint(0, 6, (3, ids.shape[1] + 2))
        real = torch.arange(ids.shape[1]) < lengths[:, None]
        longer[:, : ids.shape[1]][real] = ids[real]
        filled.append(longer)
    return Sentences(filled[0], batch.lengths, filled[1], batch.target_lengths), [0, 1, 2]


def trimmed(batch: Sentences, b: int) -> Sentences:
    J, I = int(batch.lengths[b]), int(batch.target_lengths[b])  # noqa: E741
    return Sentences(
        batch.source[b : b + 1, :J],
        batch.lengths[b : b + 1],
        batch.target[b : b + 1, :I],
        batch.target_lengths[b : b + 1],
    )


@pytest.mark.parametrize("change", [permuted, longer_padding], ids=["order", "padding"])
@every_combination
def test_order_and_padding(
    cell: str,
    encoder: str,
    alignment: str,
    wiring: str,
    change: Callable[[Sentences], tuple[Sentences, list[int]]],
) -> None:
    network = small_network(cell=cell, encoder=encoder, alignment=alignment, wiring=wiring)
    before = sentences()
    after, order = change(before)
    with torch.no_grad():
        old_log_p, old_weights = teacher_forced(network, before)
        log_p, weights = teacher_forced(network, after)
    for now, was in enumerate(order):
        J, I = int(before.lengths[was]), int(before.target_lengths[was])  # noqa: E741
        torch.testing.assert_close(log_p[now, :I], old_log_p[was, :I], rtol=0, atol=1e-13)
        torch.testing.assert_close(weights[now, :I, :J], old_weights[was, :I, :J], rtol=0, atol=1e-13)
        assert weights[now, :, J:].count_nonzero() == 0
    torch.testing.assert_close(
        gradients(network, nll(network, after)), gradients(network, nll(network, before)), rtol=0, atol=1e-11
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
        torch.testing.assert_close(together, sum(one[name] for one in alone), rtol=0, atol=1e-11, msg=name)
