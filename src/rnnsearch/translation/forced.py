"""Forced decoding: the probability and the alignment of a translation that is already there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from rnnsearch.model.network import TeacherForced, TranslationNetwork
from rnnsearch.text.store.batches import Batch
from rnnsearch.translation.ensemble import mean_alignment
from rnnsearch.translation.posterior import alignment_posterior, log_p

ROUNDS = 3
"""How often the posterior is computed, each time with contexts that the one before made. After i rounds i rows of one decoder are final."""


@torch.no_grad()
def forced_decoding(
    networks: Sequence[TranslationNetwork], batch: Batch, *, posterior: bool = False
) -> tuple[Float[Tensor, "batch target"], Float[Tensor, "batch target source"]]:
    """(log p(y_i | y_<i, x), 0 beyond the end of a sentence; α).

    posterior: in place of α, where the network looks for a word, the `alignment_posterior`, which has seen the word. In the decoder variant
    `released` the states after a word are then made of the context that its posterior makes, c_i = Σ_j p(a_i = j | y_≤i, x) h_j; in the
    others the state that asks is made of c_i itself, and would have met y_i before it is asked. log p stays the network's own.

    Several networks are an ensemble: the mean of their probabilities, and of their alignments. Of a bidirectional decoder the mean of
    both directions' log p and α; row i belongs to y_i in both. A word that was read from no context (the first one, in the decoder
    variant `appendix`) has a row of zeros: no alignment, and no link.
    """
    given = [_teacher_forced(network, batch, None) for network in networks]
    log_probabilities = _log_probabilities(networks, batch, given)
    if not posterior:
        return log_probabilities, mean_alignment([one.weights for every in given for one in every])
    annotations = [network.encode(batch.source, batch.source_lengths)[0].annotations for network in networks]
    weights = _posterior(networks, batch, given, annotations)
    if all(network.decoder.wiring == "released" for network in networks):
        for _ in range(ROUNDS - 1):
            given = [_teacher_forced(network, batch, weights) for network in networks]
            weights = _posterior(networks, batch, given, annotations)
    return log_probabilities, weights


def _teacher_forced(network: TranslationNetwork, batch: Batch, known: Float[Tensor, "batch target source"] | None) -> list[TeacherForced]:
    """Of each direction; contexts are made of the alignment `known`, if there is one."""
    return network.teacher_forced(batch.source, batch.source_lengths, batch.target, known=known, target_lengths=batch.target_lengths)


def _log_probabilities(
    networks: Sequence[TranslationNetwork], batch: Batch, given: Sequence[Sequence[TeacherForced]]
) -> Float[Tensor, "batch target"]:
    """In each direction the logarithm of the networks' mean probability, and the mean of the directions."""
    directions = []
    for number in range(len(given[0])):
        members = [
            log_p(network.directions[number].output, every[number].features, batch.target)
            for network, every in zip(networks, given, strict=True)
        ]
        directions.append(torch.stack(members).logsumexp(0) - math.log(len(networks)))
    real = torch.arange(batch.target.shape[1], device=batch.target.device) < batch.target_lengths.unsqueeze(1)
    return torch.stack(directions).mean(0).masked_fill(~real, 0.0)


def _posterior(
    networks: Sequence[TranslationNetwork],
    batch: Batch,
    given: Sequence[Sequence[TeacherForced]],
    annotations: Sequence[Float[Tensor, "batch source _"]],
) -> Float[Tensor, "batch target source"]:
    """The mean of all directions of all networks."""
    found = [
        alignment_posterior(direction, one, own, batch.target)
        for network, every, own in zip(networks, given, annotations, strict=True)
        for direction, one in zip(network.directions, every, strict=True)
    ]
    return mean_alignment(found)
