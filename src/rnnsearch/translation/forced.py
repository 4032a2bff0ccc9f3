"""Forced decoding: the probability, the alignment and the steps of a given translation.

α_ij says where the network attends before it knows y_i. Take α_i as the prior of a hidden alignment a_i, and
the word distribution that the network computes from the single annotation h_j as its likelihood. Once y_i is
known, Bayes' rule gives the posterior:

    p(a_i = j | y_≤i, x)
        = α_ij p(y_i | s_{i−1}, y_{i−1}, c_i = h_j) / Σ_k α_ik p(y_i | s_{i−1}, y_{i−1}, c_i = h_k)

The posterior of y_i does not change the state s_{i−1}. That state is computed from ordinary contexts at
first; then, in the decoder variant `released`, from the contexts Σ_j p(a_k = j | y_≤k, x) h_j of earlier
words. Networks trained with known alignments (`training.alignment_forcing`) have seen contexts of a single
annotation in training; other networks have not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from rnnsearch.model.alignment import Alignment
from rnnsearch.model.network import Direction, TeacherForced, TranslationNetwork, right_to_left
from rnnsearch.model.readout import OutputLayer
from rnnsearch.system.kernel_dispatch import kernels_used
from rnnsearch.text.batches import Batch, pad
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.translation.batching import in_halves

Weights = Float[Tensor, "batch target source"]
CHUNK_ELEMENTS = 16_000_000
"""Maximum number of logits in memory at once."""
LARGEST_TENSOR = 1 << 24
"""Maximum number of elements in a tensor of a batch of several pairs."""
ROUNDS = 3
"""Number of times that the posterior is computed, each time with the contexts of the previous round. After i
rounds, the first i rows of a decoder are final."""
LIKELIEST = 4
"""Number of words listed with their probabilities for each step."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def force_in_batches(
    networks: Sequence[TranslationNetwork],
    items: list[Item],
    lengths: Callable[[Item], tuple[int, int]],
    work: Callable[[list[Item]], list[Result]],
) -> list[Result]:
    """Returns `work(items)`, called on fewer items at a time where a long pair makes the tensors of the batch
    too large. lengths: returns the source and target length of an item."""
    width = max(network.encoder.annotation_size for network in networks)

    def largest_tensor(some: list[Item]) -> int:
        source, target = (max(lengths(item)[side] for item in some) for side in (0, 1))
        return len(some) * max(source * target, source * width, target * width)

    return in_halves(items, largest_tensor, LARGEST_TENSOR, work)


@torch.no_grad()
def forced_decoding(
    networks: Sequence[TranslationNetwork], batch: Batch, *, posterior: bool = False
) -> tuple[Float[Tensor, "batch target"], Weights]:
    """Returns log p(y_i | y_<i, x), which is 0 beyond the end of a sentence, and α.

    posterior: return the `alignment_posterior`, which also uses y_i, instead of α. In the decoder variant
    `released`, later states then use the posterior's context c_i = Σ_j p(a_i = j | y_≤i, x) h_j. In the other
    variants, the state that predicts y_i is computed from c_i, so the posterior's context would reveal y_i to
    it. log p does not depend on `posterior`.

    Several networks are an ensemble: their probabilities and alignments are averaged. With a bidirectional
    decoder, log p and α of both directions are averaged; row i belongs to y_i in both. A word that was read
    from no context (the first one, in the decoder variant `appendix`) has a row of zeros and no link.
    """
    given = [_teacher_forced(network, batch) for network in networks]
    log_probabilities = _log_probabilities(batch, given)
    if not posterior:
        return log_probabilities, mean_alignment([one.weights for every in given for _, one in every])
    annotations = [network.encode(batch.source, batch.source_lengths)[0].annotations for network in networks]
    weights = _posterior(batch, given, annotations)
    if all(network.decoder.wiring == "released" for network in networks):
        for _ in range(ROUNDS - 1):
            given = [_teacher_forced(network, batch, weights) for network in networks]
            weights = _posterior(batch, given, annotations)
    return log_probabilities, weights


def _teacher_forced(
    network: TranslationNetwork, batch: Batch, known: Weights | None = None
) -> list[tuple[Direction, TeacherForced]]:
    """Returns each direction and its result. The alignment `known`, if given, determines the contexts."""
    results = network.teacher_forced(
        batch.source, batch.source_lengths, batch.target, known=known, target_lengths=batch.target_lengths
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
    real = torch.arange(batch.target.shape[1], device=batch.target.device) < batch.target_lengths.unsqueeze(1)
    return torch.stack(directions).mean(0).masked_fill(~real, 0.0)


def _posterior(
    batch: Batch,
    given: Sequence[Sequence[tuple[Direction, TeacherForced]]],
    annotations: Sequence[Float[Tensor, "batch source _"]],
) -> Weights:
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
) -> Weights:
    """Returns p(a_i = j | y_≤i, x) of the targets; rows sum to 1.

    annotations: h_j. A word that was read from no context (`given.attended`) has a row of zeros, as in α.
    """
    explained = []
    for annotation in annotations.split(1, 1):  # h_j, (batch, 1, 2n): the context of every target word
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
    rows = max(1, CHUNK_ELEMENTS // output.weight.shape[0])
    found = []
    for some, words in zip(features.flatten(0, 1).split(rows), targets.flatten().split(rows), strict=True):
        logits = linear(some, output.weight, output.bias)
        found.append(logits.gather(1, words.unsqueeze(1)).squeeze(1) - logits.logsumexp(1))
    return torch.cat(found).view_as(targets)


class Step(NamedTuple):
    """One step of the decoder, which writes the word or subword `written`.

    energies, weights: (source ids,) e_ij and α_ij of the context that p(y_i) was read from; energies are None
    if it read no context.
    p: p(y_i | y_<i, x). likeliest: the words or subwords with the largest p, best first.
    """

    written: str
    energies: NDArray[np.float32] | None
    weights: NDArray[np.float32]
    p: float
    likeliest: list[tuple[str, float]]


@torch.no_grad()
def steps(
    network: TranslationNetwork,
    codec: Codec,
    source: EncodedSentence,
    target: EncodedSentence,
) -> list[Step]:
    """Returns the steps of forced decoding, in the order of the target ids; the end of sentence is the last.

    With a bidirectional decoder, they are those of its left-to-right half. codec: the target codec.
    """
    device, size = network.output.weight.device, len(target.ids)
    batch = Batch(*pad([source.ids]), *pad([target.ids])).to(device)
    decoder, _, output, backward = network.directions[0]
    with kernels_used(False), recorded_energies(decoder.alignment) as energies:
        _, given = _teacher_forced(network, batch)[0]
        probabilities = linear(given.features[0], output.weight, output.bias).softmax(-1)
    order = right_to_left(batch.target_lengths, size)[0].tolist() if backward else range(size)
    found = []
    for row, (number, step) in enumerate(zip(target.ids, order, strict=True)):
        read = step - decoder.first_attended
        best = probabilities[row].topk(min(LIKELIEST, len(output.bias)))
        others = zip(map(codec.vocabulary.word, best.indices.tolist()), best.values.tolist(), strict=True)
        found.append(
            Step(
                codec.vocabulary.word(number),
                energies[read][0, 0].cpu().numpy() if read >= 0 else None,
                given.weights[0, row].cpu().numpy(),
                float(probabilities[row, number]),
                list(others),
            )
        )
    return found


@contextmanager
def recorded_energies(
    alignment: Alignment,
) -> Iterator[list[Float[Tensor, "batch hypotheses source"]]]:
    """Yields a list to which every decoder step inside the context appends its energies."""
    seen: list[Tensor] = []
    compute = alignment.energies

    def energies(state: Tensor, keys: Tensor, memory: Tensor | None) -> tuple[Tensor, Tensor | None]:
        found, memory = compute(state, keys, memory)
        seen.append(found)
        return found, memory

    alignment.energies = energies  # type: ignore[method-assign]  # shadows the method of the class
    try:
        yield seen
    finally:
        del alignment.energies


def mean_alignment(weights: Sequence[Float[Tensor, "*rest source"]]) -> Float[Tensor, "*rest source"]:
    """Averages α of several models or directions; for each word, over those that read a context.

    A row of zeros means that no context was read (the first word of the decoder variant `appendix`). The mean
    is 0 if all rows are.
    """
    every = torch.stack(list(weights))
    attended = every.any(-1, keepdim=True).sum(0).clamp(min=1)
    return every.sum(0) / attended
