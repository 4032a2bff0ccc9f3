"""Given pairs, scored and aligned: words of both sides → ids → forced decoding → words again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from rnnsearch.errors import InputError
from rnnsearch.model.layers import Cache, fastest_precision
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Translation
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.store.batches import Batch, pad
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.quick_alignment import quick_alignment
from rnnsearch.translation.sentence_search import END, merge_subwords

LARGEST_ALIGNMENT = 1 << 26
"""Source × target positions of a given pair."""

EncodedPair = tuple[EncodedSentence, EncodedSentence]


def encoded_pair(source: Codec, target: Codec, pair: tuple[str, str], number: int) -> EncodedPair:
    """Returns a pair as ids. Raises InputError, with its number, if it is too long to be aligned."""
    encoded = source.encode(pair[0]), target.encode(pair[1])
    if len(encoded[0].ids) * len(encoded[1].ids) > LARGEST_ALIGNMENT:
        what = (
            f"pair {number} has {len(encoded[0].ids):,} × {len(encoded[1].ids):,} words or subwords, "
            "which are too many to be aligned"
        )
        raise InputError(what, remedy="write one sentence on each line")
    return encoded


def numbers_of(words: int, annotation: int, pairs: Sequence[EncodedPair]) -> int:
    """Returns the size of the largest tensor when these pairs are forced together. words: K of the target;
    annotation: size of an h_j."""
    source, target = (max(len(pair[side].ids) for pair in pairs) for side in (0, 1))
    return len(pairs) * max(target * max(source, words), source * annotation)


def forced_batch(
    networks: Sequence[TranslationNetwork],
    caches_of: Callable[[str], list[Cache]],
    codec: Codec,
    pairs: Sequence[EncodedPair],
    *,
    posterior: bool,
    exact: bool,
    scored: bool,
) -> list[Translation]:
    """Returns the pairs that are forced together, with their alignments in words. caches_of: a precision →
    each network's. codec: of the target. posterior, exact, scored: as in `Translator.force`."""
    device = networks[0].output.weight.device
    batch = Batch(*pad([source.ids for source, _ in pairs]), *pad([target.ids for _, target in pairs])).to(
        device
    )
    log_probabilities: torch.Tensor | None = None
    if scored or exact:
        log_probabilities, weights = forced_decoding(networks, batch, posterior=posterior and exact)
    if not exact and (posterior or not scored):
        precision = fastest_precision(device) if posterior else "float32"
        weights = quick_alignment(networks, caches_of(precision), batch, posterior=posterior)
    results = []
    every = (
        [None] * len(pairs) if log_probabilities is None or not scored else log_probabilities.cpu().numpy()
    )
    for (source, target), log_p, alpha in zip(pairs, every, weights.cpu().numpy(), strict=True):
        size = len(target.ids)
        alignment = merge_subwords(
            alpha[: size - 1, : len(source.ids)], source.word_of, target.word_of[:-1], len(target.words)
        )
        results.append(
            Translation(
                text=codec.text(target.words),
                tokens=target.words,
                source_tokens=[*source.words, END],
                score=math.nan if log_p is None else float(log_p[:size].sum(dtype=np.float64)),
                log_probabilities=[] if log_p is None else [float(value) for value in log_p[:size]],
                alignment=alignment,
            )
        )
    return results
