"""Forced decoding: the probability, the alignment and the steps of a given translation.

α_ij says where the network attends before it knows y_i. Take α_i as the prior of a hidden alignment
a_i, and the word distribution that the network computes from the single annotation h_j as its
likelihood. Once y_i is known, Bayes' rule gives the posterior:

    p(a_i = j | y_≤i, x)
        = α_ij p(y_i | s_{i−1}, y_{i−1}, c_i = h_j) / Σ_k α_ik p(y_i | s_{i−1}, y_{i−1}, c_i = h_k)

The posterior of y_i does not change the state s_{i−1}. That state is computed from ordinary
contexts at first; then, in the decoder variant `released`, from the contexts Σ_j p(a_k = j | y_≤k,
x) h_j of earlier words. Networks trained with known alignments (`known_alignments.forcing`) have
seen contexts of a single annotation in training; other networks have not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.model.network import Direction, TeacherForced, TranslationNetwork
from rnnsearch.model.readout import OutputLayer
from rnnsearch.search.step import mean_alignment
from rnnsearch.translation.batching import Piece, Result, in_halves

AlphaRows = Float[Tensor, "batch target source"]
LOGITS_AT_ONCE = 16_000_000
"""Maximum number of logits in memory at once."""
FORCED_ELEMENTS = 1 << 24
"""Maximum number of elements in a tensor of a batch of several pairs."""
ROUNDS = 3
"""Number of times that the posterior is computed, each time with the contexts of the previous
round. After i rounds, the first i rows of a decoder are final."""


def force_in_batches(
    networks: Sequence[TranslationNetwork],
    items: list[Piece],
    lengths: Callable[[Piece], tuple[int, int]],
    work: Callable[[list[Piece]], list[Result]],
) -> list[Result]:
    """Returns `work(items)`, called on fewer items at a time where a long pair makes the tensors of
    the batch too large. lengths: returns the source and target length of an item."""
    width = max(network.encoder.annotation_size for network in networks)
    return in_halves(items, partial(_largest_tensor, lengths, width), FORCED_ELEMENTS, work)


def _largest_tensor(
    lengths: Callable[[Piece], tuple[int, int]], width: int, items: list[Piece]
) -> int:
    source, target = (max(lengths(item)[side] for item in items) for side in (0, 1))
    return len(items) * max(source * target, source * width, target * width)


@torch.no_grad()
def forced_decoding(
    networks: Sequence[TranslationNetwork], batch: Batch, *, posterior: bool = False
) -> tuple[Float[Tensor, "batch target"], AlphaRows]:
    """Returns log p(y_i | y_<i, x), which is 0 beyond the end of a sentence, and α.

    posterior: return the `alignment_posterior`, which also uses y_i, instead of α. In the decoder
    variant `released`, later states then use the posterior's context c_i = Σ_j p(a_i = j | y_≤i, x)
    h_j. In the other variants, the state that predicts y_i is computed from c_i, so the posterior's
    context would reveal y_i to it. log p does not depend on `posterior`.

    Several networks are an ensemble: their probabilities and alignments are averaged. With a
    bidirectional decoder, log p and α of both directions are averaged; row i belongs to y_i in
    both. A word that was read from no context (the first one, in the decoder variant `appendix`)
    has a row of zeros and no link.
    """
    given = [_teacher_forced(network, batch) for network in networks]
    log_probabilities = _log_probabilities(batch, given)
    if not posterior:
        return log_probabilities, mean_alignment(
            [one.weights for every in given for _, one in every]
        )
    annotations = [
        network.encode(batch.source, batch.source_lengths)[0].annotations for network in networks
    ]
    weights = _posterior(batch, given, annotations)
    if all(network.decoder.wiring == "released" for network in networks):
        for _ in range(ROUNDS - 1):
            given = [_teacher_forced(network, batch, weights) for network in networks]
            weights = _posterior(batch, given, annotations)
    return log_probabilities, weights


def _teacher_forced(
    network: TranslationNetwork, batch: Batch, known: AlphaRows | None = None
) -> list[tuple[Direction, TeacherForced]]:
    """Returns each direction and its result. The alignment `known`, if given, determines the
    contexts."""
    results = network.teacher_forced(
        batch.source,
        batch.source_lengths,
        batch.target,
        known=known,
        target_lengths=batch.target_lengths,
    )
    return list(zip(network.directions, results, strict=True))


def _log_probabilities(
    batch: Batch, given: Sequence[Sequence[tuple[Direction, TeacherForced]]]
) -> Float[Tensor, "batch target"]:
    """Returns the mean of the directions' logarithms of the networks' mean probability."""
    directions = []
    for members in zip(*given, strict=True):
        each = [log_p(direction.output, one.features, batch.target) for direction, one in members]
        directions.append(torch.stack(each).logsumexp(0) - math.log(len(each)))
    real = torch.arange(
        batch.target.shape[1], device=batch.target.device
    ) < batch.target_lengths.unsqueeze(1)
    return torch.stack(directions).mean(0).masked_fill(~real, 0.0)


def _posterior(
    batch: Batch,
    given: Sequence[Sequence[tuple[Direction, TeacherForced]]],
    annotations: Sequence[Float[Tensor, "batch source _"]],
) -> AlphaRows:
    """Returns the mean posterior over all directions of all networks."""
    found = [
        alignment_posterior(direction, one, own, batch.target)
        for every, own in zip(given, annotations, strict=True)
        for direction, one in every
    ]
    return mean_alignment(found)


def alignment_posterior(
    direction: Direction,
    given: TeacherForced,
    annotations: Float[Tensor, "batch source annotation"],
    targets: Int64[Tensor, "batch target"],
) -> AlphaRows:
    """Returns p(a_i = j | y_≤i, x) of the targets; rows sum to 1.

    annotations: h_j. A word that was read from no context (`given.attended`) has a row of zeros, as
    in α.
    """
    explained = []
    # h_j, (batch, 1, 2n): the context of every target word
    for annotation in annotations.split(1, 1):
        features = direction.readout(
            given.hidden, given.previous, annotation.expand(-1, targets.shape[1], -1)
        )
        explained.append(log_p(direction.output, direction.output.features(features), targets))
    posterior = torch.softmax(given.weights.log() + torch.stack(explained, -1), -1)
    return torch.where(given.attended.unsqueeze(-1), posterior, given.weights)


def log_p(
    output: OutputLayer,
    features: Float[Tensor, "batch target feature"],
    targets: Int64[Tensor, "batch target"],
) -> Float[Tensor, "batch target"]:
    """Returns log p of each target, a chunk of rows at a time."""
    rows = max(1, LOGITS_AT_ONCE // output.weight.shape[0])
    found = []
    for some, words in zip(
        features.flatten(0, 1).split(rows), targets.flatten().split(rows), strict=True
    ):
        logits = output.logits(some)
        found.append(logits.gather(1, words.unsqueeze(1)).squeeze(1) - logits.logsumexp(1))
    return torch.cat(found).view_as(targets)
