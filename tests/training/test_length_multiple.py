"""`training.length_multiple` changes shapes and nothing else: loss and gradients are those of the batch
without the further padding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from small import small_network

from rnnsearch.config import TrainingSettings
from rnnsearch.text.store.batches import Batch, collate
from rnnsearch.text.store.corpus import Pairs, SentenceIds
from rnnsearch.training.trainer import Trainer


def batch(multiple: int) -> Batch:
    source = SentenceIds.of([[3, 1, 4, 0], [5, 0], [2, 6, 5, 3, 5, 0]])
    target = SentenceIds.of([[2, 5, 0], [4, 4, 3, 2, 0], [4, 0]])
    links = SentenceIds.of([[0, 1, 2, 0], [0, 2], []])
    found = collate(Pairs(source, target, links), np.arange(3), linked=True, multiple=multiple)
    assert found.known_alignment is not None
    return replace(found, known_alignment=found.known_alignment.double())


@pytest.mark.parametrize(
    "model", [{"decoder": "bidirectional"}, {"alignment": "fixed", "encoder": "forward"}]
)
def test_loss_and_gradients_are_the_same(model: dict[str, str]) -> None:
    learned = model.get("alignment") != "fixed"
    settings = TrainingSettings(label_smoothing=0.1, alignment_loss="cross-entropy" if learned else "none")
    network = small_network(**model)
    trainer = Trainer(network, settings, 0)
    found = []
    for multiple in (1, 4, 16):
        given = batch(multiple)
        assert given.source.shape[1] % multiple == given.target.shape[1] % multiple == 0
        sums = trainer.add_gradients([given], 3, 1)
        gradients = {name: p.grad.to_dense() for name, p in network.named_parameters() if p.grad is not None}
        network.zero_grad(set_to_none=True)
        found.append((sums, gradients))
    assert found[0][0][0] > 1.0
    for sums, gradients in found[1:]:
        torch.testing.assert_close(sums, found[0][0], rtol=1e-12, atol=0)
        torch.testing.assert_close(gradients, found[0][1], rtol=1e-10, atol=1e-13)
