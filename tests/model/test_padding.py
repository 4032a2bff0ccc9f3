"""Padding, neighbours and batch order change nothing: neither probabilities and alignments nor gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as functional
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

from rnnsearch.config import TrainingSettings
from rnnsearch.text.store.batches import Batch, collate
from rnnsearch.text.store.corpus import Pairs, SentenceIds
from rnnsearch.training.trainer import Trainer

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


def padded(multiple: int) -> Batch:
    source = SentenceIds.of([[3, 1, 4, 0], [5, 0], [2, 6, 5, 3, 5, 0]])
    target = SentenceIds.of([[2, 5, 0], [4, 4, 3, 2, 0], [4, 0]])
    links = SentenceIds.of([[0, 1, 2, 0], [0, 2], []])
    found = collate(Pairs(source, target, links), np.arange(3), linked=True)
    assert found.known_alignment is not None
    right, below = (-ids.shape[1] % multiple for ids in (found.source, found.target))
    return replace(
        found,
        source=functional.pad(found.source, (0, right)),
        target=functional.pad(found.target, (0, below)),
        known_alignment=functional.pad(found.known_alignment.double(), (0, right, 0, below)),
    )


@pytest.mark.parametrize(
    "model", [{"decoder": "bidirectional"}, {"alignment": "fixed", "encoder": "forward"}]
)
def test_padding_to_a_multiple(model: dict[str, str]) -> None:
    learned = model.get("alignment") != "fixed"
    settings = TrainingSettings(label_smoothing=0.1, alignment_loss="cross-entropy" if learned else "none")
    network = small_network(**model)
    trainer = Trainer(network, settings, 0)
    found = []
    for multiple in (1, 4, 16):
        given = padded(multiple)
        assert given.source.shape[1] % multiple == given.target.shape[1] % multiple == 0
        sums = trainer.add_gradients([given], 3, 1)
        gradients = {name: p.grad.to_dense() for name, p in network.named_parameters() if p.grad is not None}
        network.zero_grad(set_to_none=True)
        found.append((sums, gradients))
    assert found[0][0][0] > 1.0
    for sums, gradients in found[1:]:
        torch.testing.assert_close(sums, found[0][0], rtol=1e-12, atol=0)
        torch.testing.assert_close(gradients, found[0][1], rtol=1e-10, atol=1e-13)
