"""Which source word explains a target word that is known: the alignment posterior of forced decoding.

α_ij says where the network looks before it knows y_i. Read as the prior of a hidden alignment a_i, and the distribution that the network
reads from one annotation alone as what that position says, Bayes' rule gives the posterior once y_i is there:

    p(a_i = j | y_≤i, x) = α_ij p(y_i | s_{i−1}, y_{i−1}, c_i = h_j) / Σ_k α_ik p(y_i | s_{i−1}, y_{i−1}, c_i = h_k)

The state that asked stays as it was: made of ordinary contexts at first, then, in the decoder variant `released`, of the contexts
Σ_j p(a_k = j | y_≤k, x) h_j of the words before (`translation/forced.py`). Networks whose contexts were made of known alignments
while they were trained (`training.alignment_forcing`) have met contexts of one annotation; others meet them here for the first time.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from rnnsearch.model.network import Direction, TeacherForced
from rnnsearch.model.readout import OutputLayer

CHUNK_ELEMENTS = 16_000_000
"""Logits held at once."""


def alignment_posterior(
    direction: Direction,
    given: TeacherForced,
    annotations: Float[Tensor, "batch source annotation"],
    targets: Int64[Tensor, "batch target"],
) -> Float[Tensor, "batch target source"]:
    """p(a_i = j | y_≤i, x) of the targets; rows sum to 1.

    annotations: h_j. A word that was read from no context (`given.attended`) has a row of zeros, as in α.
    """
    explained = []
    for annotation in annotations.split(1, 1):  # h_j, (batch, 1, 2n): the context of every target word
        features = direction.readout(given.hidden, given.previous, annotation.expand(-1, targets.shape[1], -1))
        explained.append(log_p(direction.output, direction.output.features(features), targets))
    posterior = torch.softmax(given.weights.log() + torch.stack(explained, -1), -1)
    return torch.where(given.attended.unsqueeze(-1), posterior, given.weights)


def log_p(
    output: OutputLayer, features: Float[Tensor, "batch target feature"], targets: Int64[Tensor, "batch target"]
) -> Float[Tensor, "batch target"]:
    """log p of each target, a chunk of rows at a time."""
    rows = max(1, CHUNK_ELEMENTS // output.weight.shape[0])
    found = []
    for some, words in zip(features.flatten(0, 1).split(rows), targets.flatten().split(rows), strict=True):
        logits = torch.nn.functional.linear(some, output.weight, output.bias)
        found.append(logits.gather(1, words.unsqueeze(1)).squeeze(1) - logits.logsumexp(1))
    return torch.cat(found).view_as(targets)
