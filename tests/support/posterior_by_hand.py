"""Bayes' rule word by word, as search has it, and the small networks that it is computed with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from small import randomised, small_network

from rnnsearch.batch import Batch
from rnnsearch.model.network import TranslationNetwork

SOURCE, LENGTHS = torch.tensor([[3, 6, 5, 0], [2, 0, 0, 0]]), torch.tensor([4, 2])
TARGET, TARGET_LENGTHS = torch.tensor([[2, 4, 3, 1, 0], [4, 1, 0, 0, 0]]), torch.tensor([5, 3])
BATCH = Batch(SOURCE, LENGTHS, TARGET, TARGET_LENGTHS)


def network(seed: int = 1, **changed: Any) -> TranslationNetwork:
    made = small_network(**changed)
    randomised(made, seed, 1.0)
    return made


@torch.no_grad()
def by_hand(network: TranslationNetwork, row: int, filtered: bool = False) -> torch.Tensor:
    """Sentence `row`, word by word as search has it: the context of each step exchanged for every annotation
    in turn; (target, source).

    filtered: each step leaves the next one the context of its posterior.
    """
    size = int(TARGET_LENGTHS[row])
    source, state = network.encode(SOURCE[row : row + 1, : LENGTHS[row]], LENGTHS[row : row + 1])
    reader, rows = source, []
    for i in range(size):
        previous = TARGET[row, i - 1].view(1, 1) if i else None
        _, seen, state = network.step(previous, state, reader)
        embedded = None if previous is None else network.target_embedding(previous)
        joint = []
        for j in range(int(LENGTHS[row])):
            readout = network.readout(
                network.decoder.cell.hidden(seen.cell), embedded, source.annotations[:, j : j + 1]
            )
            logits = network.output.logits(network.output.features(readout))
            joint.append(
                float(seen.weights[0, 0, j])
                * float(torch.softmax(logits, -1)[0, 0, TARGET[row, i]])
            )
        attends = i >= network.decoder.first_attended
        rows.append(
            torch.tensor(joint, dtype=torch.float64) / sum(joint) if attends else seen.weights[0, 0]
        )
        if filtered:
            state = replace(
                state, context=(rows[-1] @ source.annotations[0]).view_as(state.context)
            )
    return torch.stack(rows)
