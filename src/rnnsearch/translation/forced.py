"""Forced decoding: the probability and the alignment of a translation that is already there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.readout import OutputLayer
from rnnsearch.text.batches import Batch

CHUNK_ELEMENTS = 16_000_000
"""Logits held at once."""


@torch.no_grad()
def forced_decoding(networks: Sequence[TranslationNetwork], batch: Batch) -> tuple[Tensor, Tensor]:
    """(log p(y_i | y_<i, x) (batch, target), 0 beyond the end of a sentence; α (batch, target, source)).

    Several networks are an ensemble: the mean of their probabilities, and of their alignments. Of a bidirectional decoder the mean of
    both directions' log p and α; row i belongs to y_i in both.
    """
    members = [_every_direction(network, batch) for network in networks]
    log_probabilities, weights = [], []
    for direction in zip(*members, strict=True):
        log_p, alpha = zip(*direction, strict=True)
        log_probabilities.append(torch.stack(log_p).logsumexp(0) - math.log(len(networks)))
        weights.append(torch.stack(alpha).mean(0))
    real = torch.arange(batch.target.shape[1], device=batch.target.device) < batch.target_lengths.unsqueeze(1)
    return torch.stack(log_probabilities).mean(0).masked_fill(~real, 0.0), torch.stack(weights).mean(0)


def _every_direction(network: TranslationNetwork, batch: Batch) -> list[tuple[Tensor, Tensor]]:
    """(log p of the target words (batch, target), α (batch, target, source)) as each direction of the network has them."""
    every = network.teacher_forced(batch.source, batch.source_lengths, batch.target, target_lengths=batch.target_lengths)
    return [
        (_log_p(direction.output, given.features, batch.target), given.weights)
        for direction, given in zip(network.directions, every, strict=True)
    ]


def _log_p(output: OutputLayer, features: Tensor, targets: Tensor) -> Tensor:
    """features: (batch, target, d); targets: (batch, target) → log p of each target (batch, target), a chunk of rows at a time."""
    rows = max(1, CHUNK_ELEMENTS // output.weight.shape[0])
    found = []
    for some, words in zip(features.flatten(0, 1).split(rows), targets.flatten().split(rows), strict=True):
        logits = torch.nn.functional.linear(some, output.weight, output.bias)
        found.append(logits.gather(1, words.unsqueeze(1)).squeeze(1) - logits.logsumexp(1))
    return torch.cat(found).view_as(targets)
