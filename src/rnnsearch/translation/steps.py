"""The steps of a translation that is there: energies e_ij, weights α_ij, and what else could have been
written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.model.alignment import Alignment
from rnnsearch.model.network import TranslationNetwork, right_to_left
from rnnsearch.system.twins import kernels_used
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.store.batches import Batch, pad


class Step(NamedTuple):
    """One step: the word or subword `written`.

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
    likeliest: int = 4,
) -> list[Step]:
    """Returns the steps of forced decoding, in the order of the target ids; the end of sentence is the last.

    Of a bidirectional decoder they are the steps of its left-to-right half. codec: of the target.
    """
    device = network.output.weight.device
    batch = Batch(*pad([source.ids]), *pad([target.ids])).to(device)
    decoder, _, output, backward = network.directions[0]
    with kernels_used(False), recorded_energies(decoder.alignment) as energies:
        given = network.teacher_forced(
            batch.source, batch.source_lengths, batch.target, target_lengths=batch.target_lengths
        )[0]
        probabilities = torch.softmax(
            torch.nn.functional.linear(given.features, output.weight, output.bias), -1
        )
    order = torch.arange(len(target.ids), device=device).unsqueeze(0)
    if backward:
        order = right_to_left(batch.target_lengths, len(target.ids))
    found = []
    for row, (number, step) in enumerate(zip(target.ids, order[0].tolist(), strict=True)):
        read = step - decoder.first_attended
        best = probabilities[0, row].topk(min(likeliest, probabilities.shape[-1]))
        found.append(
            Step(
                codec.vocabulary.word(number),
                energies[read][0, 0].cpu().numpy() if read >= 0 else None,
                given.weights[0, row].cpu().numpy(),
                float(probabilities[0, row, number]),
                [
                    (codec.vocabulary.word(word), p)
                    for p, word in zip(best.values.tolist(), best.indices.tolist(), strict=True)
                ],
            )
        )
    return found


@contextmanager
def recorded_energies(
    alignment: Alignment,
) -> Iterator[list[Float[Tensor, "batch hypotheses source"]]]:
    """Yields a list that gets the energies of every step that is made meanwhile."""
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
