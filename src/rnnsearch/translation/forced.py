"""Forced decoding: the probability and the alignment of a translation that is already there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.batches import Batch
from rnnsearch.translation.posterior import alignment_posterior, log_p

ROUNDS = 3
"""How often the posterior is computed, each time with contexts that the one before made. After i rounds i rows are final."""


@torch.no_grad()
def forced_decoding(networks: Sequence[TranslationNetwork], batch: Batch, *, posterior: bool = False) -> tuple[Tensor, Tensor]:
    """(log p(y_i | y_<i, x) (batch, target), 0 beyond the end of a sentence; α (batch, target, source)).

    posterior: in place of α, where the network looks for a word, the `alignment_posterior`, which has seen the word. The states after
    a word are then those of the context that the posterior makes, c_i = Σ_j p(a_i = j | y_≤i, x) h_j; log p stays the network's own.

    Several networks are an ensemble: the mean of their probabilities, and of their alignments. Of a bidirectional decoder the mean of
    both directions' log p and α; row i belongs to y_i in both.
    """
    log_probabilities, weights = _decode(networks, batch, posterior, None)
    for _ in range(ROUNDS - 1 if posterior else 0):
        _, weights = _decode(networks, batch, posterior, weights)
    return log_probabilities, weights


def _decode(networks: Sequence[TranslationNetwork], batch: Batch, posterior: bool, known: Tensor | None) -> tuple[Tensor, Tensor]:
    """As `forced_decoding`, with contexts made of the alignment `known` (batch, target, source), if there is one."""
    members = [_every_direction(network, batch, posterior, known) for network in networks]
    log_probabilities, weights = [], []
    for direction in zip(*members, strict=True):
        log_p, alpha = zip(*direction, strict=True)
        log_probabilities.append(torch.stack(log_p).logsumexp(0) - math.log(len(networks)))
        weights.append(torch.stack(alpha).mean(0))
    real = torch.arange(batch.target.shape[1], device=batch.target.device) < batch.target_lengths.unsqueeze(1)
    return torch.stack(log_probabilities).mean(0).masked_fill(~real, 0.0), torch.stack(weights).mean(0)


def _every_direction(network: TranslationNetwork, batch: Batch, posterior: bool, known: Tensor | None) -> list[tuple[Tensor, Tensor]]:
    """(log p of the target words (batch, target), α or posterior (batch, target, source)) as each direction of the network has them."""
    every = network.teacher_forced(batch.source, batch.source_lengths, batch.target, known=known, target_lengths=batch.target_lengths)
    found = [log_p(direction.output, given.features, batch.target) for direction, given in zip(network.directions, every, strict=True)]
    if not posterior:
        return [(log, given.weights) for log, given in zip(found, every, strict=True)]
    annotations = network.encode(batch.source, batch.source_lengths)[0].annotations
    weights = [
        alignment_posterior(direction, given, annotations, batch.target) for direction, given in zip(network.directions, every, strict=True)
    ]
    return list(zip(found, weights, strict=True))
