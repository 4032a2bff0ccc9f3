"""Scores and alignments of given translations, by forced decoding: text in, text and alignment
out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np

from rnnsearch.arguments import given_pairs, require_number
from rnnsearch.batch import Batch, pad
from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.search.beam import FloatArray
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.vocabulary import END
from rnnsearch.translation.batching import READ_AHEAD, batched_by_length, batches
from rnnsearch.translation.forced import force_in_batches, forced_decoding
from rnnsearch.translation.networks import Networks
from rnnsearch.translation.posterior import has_quick_posterior, quick_alignment
from rnnsearch.word_links import merge_subwords

LARGEST_PAIR = 1 << 26
"""Maximum of source × target positions of a pair."""
EncodedPair = tuple[EncodedSentence, EncodedSentence]


def sizes_of(pair: EncodedPair) -> tuple[int, int]:
    """Returns the numbers of ids of both sides."""
    return len(pair[0].ids), len(pair[1].ids)


@dataclass(frozen=True)
class Scorer:
    """Scores and aligns given pairs: `score` is log p(y | x), `alignment` is that of forced
    decoding.

    kernels: whether to use converted networks. posterior, exact, scored: as in `Translator.scorer`.
    """

    networks: Networks
    source: Codec
    target: Codec
    kernels: bool
    posterior: bool
    exact: bool
    scored: bool

    def force(
        self, pairs: Iterable[tuple[str, str]], batch_size: int, first: int
    ) -> Iterator[Translation]:
        """Yields the result of each pair. Arguments and errors: as in `Translator.force`."""
        require_number("batch_size", batch_size, 1)
        require_number("first", first, 0)
        encoded = (
            self._encoded(pair, number) for number, pair in enumerate(given_pairs(pairs), first)
        )
        for ahead in batches(encoded, READ_AHEAD * batch_size):
            longest = partial(batched_by_length, ahead, lambda pair: max(sizes_of(pair)))
            yield from longest(batch_size, self.force_encoded)

    def _encoded(self, pair: tuple[str, str], number: int) -> EncodedPair:
        """Returns a pair as ids. Raises InputError, with its number, if it is too long to be
        aligned."""
        encoded = self.source.encode(pair[0]), self.target.encode(pair[1])
        rows, columns = (len(side.ids) for side in encoded)
        if rows * columns > LARGEST_PAIR:
            size = f"{rows:,} × {columns:,} words or subwords"
            what = f"pair {number} has {size}, which are too many to be aligned"
            raise InputError(what, "write one sentence on each line")
        return encoded

    def force_encoded(
        self, pairs: list[EncodedPair], each_step: Callable[[], object] = lambda: None
    ) -> list[Translation]:
        """Force-decodes a batch of pairs. It is split if its largest tensor would not fit in
        memory.

        each_step: as in `quick_alignment`; exact forced decoding never calls it.
        """
        return force_in_batches(
            self.networks.plain, pairs, sizes_of, partial(self._forced, each_step)
        )

    def _forced(
        self, each_step: Callable[[], object], pairs: list[EncodedPair]
    ) -> list[Translation]:
        networks, posterior = self.networks, self.posterior
        exact = self.exact or (posterior and not has_quick_posterior(networks.plain))
        source, target = (pad([pair[side].ids for pair in pairs]) for side in (0, 1))
        batch = Batch(*source, *target).to(networks.device)
        log_p: Iterable[FloatArray | None] = repeat(None)
        if self.scored or (exact and posterior):
            used = networks.converted("float32", self.kernels)
            probabilities, weights = forced_decoding(used, batch, posterior=posterior and exact)
            log_p = probabilities.cpu().numpy() if self.scored else log_p
        if not exact or not (self.scored or posterior):
            used = networks.converted("float32" if exact else "fastest", self.kernels)
            weights = quick_alignment(used, batch, posterior=posterior, each_step=each_step)
        return list(map(self._in_words, pairs, log_p, weights.cpu().numpy()))

    def _in_words(
        self, pair: EncodedPair, log_p: FloatArray | None, alpha: FloatArray
    ) -> Translation:
        """Returns the result of a pair in words."""
        source, target = pair
        size, words = len(target.ids), list(target.words)
        weights = alpha[: size - 1, : len(source.ids)]
        return Translation(
            text=self.target.text(words),
            tokens=words,
            source_tokens=[*source.words, END],
            score=math.nan if log_p is None else float(log_p[:size].sum(dtype=np.float64)),
            log_probabilities=[] if log_p is None else log_p[:size].tolist(),
            alignment=merge_subwords(weights, source.word_of, target.word_of[:-1], len(words)),
        )
