"""Given pairs, scored and aligned: words of both sides → ids → forced decoding → words again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from rnnsearch.errors import InputError
from rnnsearch.model.inference_weights import InferenceWeights, fastest_precision
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.store.batches import Batch, pad
from rnnsearch.text.vocabulary import SPECIALS
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.quick_alignment import quick_alignment
from rnnsearch.translation.word_weights import in_words

LARGEST_ALIGNMENT = 1 << 26
"""Source × target positions of a given pair."""

EncodedPair = tuple[EncodedSentence, EncodedSentence]


class Forcing(NamedTuple):
    """What is asked of the pairs, as in `Translator.force`."""

    posterior: bool
    exact: bool
    scored: bool


def encoded_pair(source: Codec, target: Codec, pair: tuple[str, str], number: int) -> EncodedPair:
    """A pair as ids. Raises InputError, with its number, if it is too long to be aligned."""
    encoded = source.encode(pair[0]), target.encode(pair[1])
    if len(encoded[0].ids) * len(encoded[1].ids) > LARGEST_ALIGNMENT:
        what = f"pair {number} has {len(encoded[0].ids):,} × {len(encoded[1].ids):,} words or subwords, which are too many to be aligned"
        raise InputError(what, remedy="write one sentence on each line")
    return encoded


def numbers_of(words: int, annotation: int, pairs: Sequence[EncodedPair]) -> int:
    """How many numbers the largest tensor has when these pairs are forced together. words: K of the target; annotation: size of an h_j."""
    source, target = (max(len(pair[side].ids) for pair in pairs) for side in (0, 1))
    return len(pairs) * max(target * max(source, words), source * annotation)


def forced_batch(
    networks: Sequence[TranslationNetwork],
    weights_of: Callable[[str], list[InferenceWeights]],
    codec: Codec,
    how: Forcing,
    pairs: Sequence[EncodedPair],
) -> list[Translation]:
    """Pairs that are forced together, with their alignments in words. weights_of: a precision → each network's. codec: of the target."""
    device = networks[0].output.weight.device
    batch = Batch(*pad([source.ids for source, _ in pairs]), *pad([target.ids for _, target in pairs])).to(device)
    log_probabilities: torch.Tensor | None = None
    if how.scored or how.exact:
        log_probabilities, weights = forced_decoding(networks, batch, posterior=how.posterior and how.exact)
    if not how.exact and (how.posterior or not how.scored):
        precision = fastest_precision(device) if how.posterior else "float32"
        weights = quick_alignment(networks, weights_of(precision), batch, posterior=how.posterior)
    results = []
    every = [None] * len(pairs) if log_probabilities is None or not how.scored else log_probabilities.cpu().numpy()
    for (source, target), log_p, alpha in zip(pairs, every, weights.cpu().numpy(), strict=True):
        size = len(target.ids)
        alignment = in_words(alpha[: size - 1, : len(source.ids)], source.word_of, target.word_of[:-1], len(target.words))
        results.append(
            Translation(
                text=codec.text(target.words),
                tokens=target.words,
                source_tokens=[*source.words, SPECIALS[0]],
                score=math.nan if log_p is None else float(log_p[:size].sum(dtype=np.float64)),
                log_probabilities=[] if log_p is None else [float(value) for value in log_p[:size]],
                alignment=alignment,
            )
        )
    return results
