"""Encoded sentences in batches: ids → search, sampling or forced decoding → translations in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rnnsearch.config import SearchSettings
from rnnsearch.errors import InputError
from rnnsearch.evaluation.confidence import word_confidence
from rnnsearch.model.layers import Cache, fastest_precision, linear_cache
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.records import Hypothesis, Translation
from rnnsearch.system.kernel_dispatch import kernels_used
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.store.batches import Batch, pad
from rnnsearch.text.vocabulary import SPECIALS, UNK
from rnnsearch.translation.batching import in_halves
from rnnsearch.translation.beam import Beam, Sampling
from rnnsearch.translation.faithful import Faithful, MarkedSentence
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.network_step import DirectionSearch, begin_search, search
from rnnsearch.translation.posterior import quick_alignment

END = SPECIALS[0]
LARGEST_ALIGNMENT = 1 << 26
"""Maximum of source × target positions of a given pair."""

EncodedPair = tuple[EncodedSentence, EncodedSentence]

Listener = Callable[[Translation], None]
"""Called after each word with the translation so far."""

Attention = Mapping[int, int | Sequence[float]]
"""Step → the only source word to attend to, or a factor for each source word."""


class Watched(NamedTuple):
    """A sentence to be translated. listener: called with its translation so far, after every word of greedy
    search."""

    sentence: EncodedSentence
    listener: Listener | None = None


class SentenceSearch:
    """One model, or an ensemble, with the codecs that convert its ids to words. The arguments are
    `Translator`'s."""

    def __init__(
        self,
        networks: Sequence[TranslationNetwork],
        source: Codec,
        target: Codec,
        dictionary: Mapping[str, str],
    ) -> None:
        self.networks, self.target, self.dictionary = networks, target, dictionary
        self.faithful = Faithful(source, target.known, dictionary)
        self._caches: dict[tuple[str, bool], list[Cache]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns the attributes to pickle, without the weight caches, which are made again."""
        return self.__dict__ | {"_caches": {}}

    @property
    def device(self) -> torch.device:
        return self.networks[0].output.weight.device

    @property
    def annotation_size(self) -> int:
        return max(network.encoder.annotation_size for network in self.networks)

    def caches(self, precision: str, kernels: bool) -> list[Cache]:
        """Returns each network's cache, whose weights are converted at their first use."""
        made = [linear_cache(getattr(torch, precision)) for _ in self.networks]
        return self._caches.setdefault((precision, kernels), made)

    def search(
        self,
        sentences: Sequence[Watched],
        settings: SearchSettings,
        cancelled: Callable[[], bool] | None = None,
        attention: Attention | None = None,
    ) -> list[Translation]:
        """Returns the best translation of each sentence, with its alternatives. cancelled, attention: as in
        `Translator`; sentences with `attention` come one by one."""

        def found(some: list[Watched]) -> list[Translation]:
            directions, lengths = self.begin(some, settings, attention)
            if cancelled is not None:
                directions = [direction.cancelled_by(cancelled) for direction in directions]

            def tell(place: int, so_far: Hypothesis) -> None:
                sentence, listener = some[place]
                if listener is not None:
                    listener(self.translation(sentence, so_far, settings))

            listening = [place for place, one in enumerate(some) if one.listener is not None]
            watch = word_by_word(listening, tell) if listening else None
            return self._in_words(some, search(directions, lengths, settings, watch), settings)

        return self._in_memory(sentences, settings.beam, settings, found)

    def sample(
        self, sentences: Sequence[Watched], settings: SearchSettings, sampling: Sampling
    ) -> list[Translation]:
        """Returns translations drawn from p(y | x), the first of each sentence with the others as
        alternatives."""

        def drawn(some: list[Watched]) -> list[Translation]:
            directions, lengths = self.begin(some, settings)
            return self._in_words(some, directions[0].sample(lengths, settings, sampling), settings)

        return self._in_memory(sentences, sampling.samples, settings, drawn)

    def force(
        self,
        pairs: Sequence[EncodedPair],
        kernels: bool,
        *,
        posterior: bool,
        exact: bool,
        scored: bool,
        fast: bool,
    ) -> list[Translation]:
        """Force-decodes a batch of pairs and returns them with their word alignments. The arguments are those
        of `Translator.force`."""
        words = len(self.target.vocabulary)

        def forced(some: list[EncodedPair]) -> list[Translation]:
            sides = zip(*([side.ids for side in pair] for pair in some), strict=True)
            source, target = (pad(list(ids)) for ids in sides)
            batch = Batch(*source, *target).to(self.device)
            log_p: torch.Tensor | None = None
            if scored or exact:
                log_p, weights = forced_decoding(self.networks, batch, posterior=posterior and exact)
            if not exact and (posterior or fast or not scored):
                caches = self.caches(fastest_precision(self.device), kernels)
                weights = quick_alignment(self.networks, caches, batch, posterior=posterior)
            every = [None] * len(some) if log_p is None or not scored else log_p.cpu().numpy()
            rows = zip(some, every, weights.cpu().numpy(), strict=True)
            return [self._given(*pair, own, alpha) for pair, own, alpha in rows]

        with kernels_used(kernels):
            return in_halves(list(pairs), partial(forced_cost, words, self.annotation_size), forced)

    def begin(
        self, sentences: Sequence[Watched], settings: SearchSettings, attention: Attention | None = None
    ) -> tuple[list[DirectionSearch], torch.Tensor]:
        """Encodes a batch. Returns the searches of its directions, and the source lengths."""
        encoded = [one.sentence for one in sentences]
        factors = None if attention is None else attention_factors(encoded[0], attention, self.device)
        ids, lengths = (part.to(self.device) for part in pad([sentence.ids for sentence in encoded]))
        caches = self.caches(settings.precision, settings.kernels)
        return begin_search(self.networks, caches, ids, lengths, factors), lengths

    def _in_memory(
        self,
        sentences: Sequence[Watched],
        hypotheses: int,
        settings: SearchSettings,
        work: Callable[[list[Watched]], list[Translation]],
    ) -> list[Translation]:
        """Splits the batch if its largest tensor would not fit in memory."""

        def cost(some: list[Watched]) -> int:
            positions = max(len(one.sentence.ids) for one in some)
            widest = max(len(self.target.vocabulary), self.annotation_size * positions)
            return len(some) * hypotheses * widest

        with kernels_used(settings.kernels):
            return in_halves(list(sentences), cost, work)

    def _in_words(
        self, sentences: Sequence[Watched], found: list[list[Hypothesis]], settings: SearchSettings
    ) -> list[Translation]:
        """Returns the best of each sentence's hypotheses, with the others as its alternatives."""
        translations = []
        for one, hypotheses in zip(sentences, found, strict=True):
            different: dict[tuple[str, ...], Translation] = {}
            for each in hypotheses:
                made = self.translation(one.sentence, each, settings)
                different.setdefault(tuple(made.tokens), made)
            best, *others = different.values()
            best.alternatives.extend(others)
            translations.append(best)
        return translations

    def _given(
        self,
        source: EncodedSentence,
        target: EncodedSentence,
        log_p: NDArray[np.float32] | None,
        alpha: NDArray[np.float32],
    ) -> Translation:
        """Returns a given pair in words."""
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

    def translation(
        self, sentence: EncodedSentence, hypothesis: Hypothesis, settings: SearchSettings
    ) -> Translation:
        """Returns the hypothesis in words."""
        decoded = self.target.decode(hypothesis.ids)
        words, word_of = list(decoded.words), decoded.word_of
        weights = hypothesis.weights[: len(word_of)]
        alignment = merge_subwords(weights, sentence.word_of, word_of, len(words))
        confidence = word_confidence(hypothesis.log_probabilities, word_of, len(words), settings.confidence)
        if settings.replace_unk and not settings.faithful:
            for number, word in zip(hypothesis.ids, word_of, strict=False):
                on_words = alignment[word, :-1]
                if number == UNK and on_words.any():  # otherwise it attended to no source word
                    aligned = sentence.words[int(np.argmax(on_words))]
                    words[word] = self.dictionary.get(aligned, aligned)
        if settings.faithful or isinstance(sentence, MarkedSentence):
            words, alignment, confidence = self.faithful(
                sentence, words, alignment, confidence, copies=settings.faithful
            )
        return Translation(
            text=self.target.text(words),
            tokens=words,
            source_tokens=[*sentence.words, END],
            score=hypothesis.score,
            log_probabilities=list(hypothesis.log_probabilities),
            alignment=alignment,
            finished=hypothesis.finished,
            confidence=confidence,
        )


def encoded_pair(source: Codec, target: Codec, pair: tuple[str, str], number: int) -> EncodedPair:
    """Returns a pair as ids. Raises InputError, with its number, if it is too long to be aligned."""
    encoded = source.encode(pair[0]), target.encode(pair[1])
    rows, columns = (len(side.ids) for side in encoded)
    if rows * columns > LARGEST_ALIGNMENT:
        what = f"pair {number} has {rows:,} × {columns:,} words or subwords, which are too many to be aligned"
        raise InputError(what, remedy="write one sentence on each line")
    return encoded


def forced_cost(words: int, annotation: int, pairs: Sequence[EncodedPair]) -> int:
    """Returns the number of elements of the largest tensor when these pairs are decoded in one batch. words:
    target vocabulary size K. annotation: size of one h_j."""
    source, target = (max(len(pair[side].ids) for pair in pairs) for side in (0, 1))
    return len(pairs) * max(target * max(source, words), source * annotation)


def attention_factors(
    sentence: EncodedSentence, attention: Attention, device: torch.device
) -> dict[int, torch.Tensor]:
    """Returns a factor for each source id, by step. Raises InputError for a word that the sentence does not
    have, and for factors of which none is positive."""
    words = len(sentence.words) + 1
    found = {}
    for step, given in attention.items():
        if isinstance(given, int | np.integer):
            if not 0 <= given < words:
                raise InputError(f"attention of step {step}: {given} is none of the {words} source words")
            row = np.zeros(words)
            row[given] = 1
        else:
            row = np.asarray(given, dtype=np.float64)
        if row.shape != (words,) or not (np.isfinite(row).all() and row.min() >= 0 and row.max() > 0):
            raise InputError(
                f"attention of step {step} needs {words} factors, one for each source word and one for </s>",
                remedy="none negative, and not all 0",
            )
        found[step] = torch.tensor(row[sentence.word_of], dtype=torch.float32, device=device)
    return found


def word_by_word(places: Sequence[int], tell: Callable[[int, Hypothesis], None]) -> Callable[[Beam], None]:
    """Returns a `watch` function for a beam search with a beam of 1.

    places: the sentences of the batch that are watched. tell: called after every word, except the end of
    sentence, with the place of a sentence and its hypothesis so far. This hypothesis is unfinished, its score
    is log p, and its weights have a column for each position of the batch, padding included.
    """
    words: dict[int, list[tuple[int, float, NDArray[np.float32]]]] = {place: [] for place in places}

    def watch(beam: Beam) -> None:
        for row, place in enumerate(beam.sentences.tolist()):
            if place not in words:
                continue
            word = int(beam.ids[row, 0]), float(beam.log_probabilities[row, 0]), beam.weights[row, 0]
            words[place].append(word)
            ids, log_probabilities, weights = zip(*words[place], strict=True)
            score = float(beam.scores[row, 0])
            tell(place, Hypothesis(ids, score, log_probabilities, np.stack(weights), finished=False))

    return watch


def merge_subwords(
    weights: NDArray[np.float32],
    source_word_of: Sequence[int],
    target_word_of: Sequence[int],
    target_words: int,
) -> NDArray[np.float32]:
    """Returns the alignment of words: sums over the subwords of a source word, means over those of a target
    word.

    weights: (target ids, source ids). source_word_of: the end of sentence counts as a last word. Result:
    (target_words, source words). Rows sum to 1; the row of a word whose ids all read no context is 0.
    """
    summed = np.zeros((len(weights), source_word_of[-1] + 1), dtype=np.float64)
    np.add.at(summed.T, np.asarray(source_word_of), weights[:, : len(source_word_of)].T)
    result = np.zeros((target_words, summed.shape[1]), dtype=np.float64)
    np.add.at(result, np.asarray(target_word_of, dtype=np.intp), summed)
    result /= np.maximum(result.sum(1, keepdims=True), np.finfo(np.float64).tiny)
    return result.astype(np.float32)
