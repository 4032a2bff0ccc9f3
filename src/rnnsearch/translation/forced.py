"""Forced decoding: the probability and the alignment of a translation that is already there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.batches import Batch

CHUNK_ELEMENTS = 16_000_000
"""Logits held at once."""


@torch.no_grad()
def forced_decoding(networks: Sequence[TranslationNetwork], batch: Batch) -> tuple[Tensor, Tensor]:
    """(log p(y_i | y_<i, x) (batch, target), 0 beyond the end of a sentence; α (batch, target, source)).

    Several networks are an ensemble: the mean of their probabilities, and of their alignments.
    """
    every_log_p, every_weights = [], []
    for network in networks:
        decoded = network(batch.source, batch.source_lengths, batch.target)
        rows = max(1, CHUNK_ELEMENTS // network.output.weight.shape[0])
        chunks = zip(decoded.features.flatten(0, 1).split(rows), batch.target.flatten().split(rows), strict=True)
        log_p = [_log_p(network, features, targets) for features, targets in chunks]
        every_log_p.append(torch.cat(log_p).view_as(batch.target))
        every_weights.append(decoded.weights)
    log_probabilities = torch.stack(every_log_p).logsumexp(0) - math.log(len(networks))
    real = torch.arange(batch.target.shape[1], device=batch.target.device) < batch.target_lengths.unsqueeze(1)
    return log_probabilities.masked_fill(~real, 0.0), torch.stack(every_weights).mean(0)


def _log_p(network: TranslationNetwork, features: Tensor, targets: Tensor) -> Tensor:
    """features: (rows, d); targets: (rows,) → log p of each target (rows,)."""
    logits = torch.nn.functional.linear(features, network.output.weight, network.output.bias)
    return logits.gather(1, targets.unsqueeze(1)).squeeze(1) - logits.logsumexp(1)
