"""An n-gram language model in NumPy: interpolated modified Kneser–Ney (Chen & Goodman 1998, Sec.
3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from numpy.typing import NDArray

from rnnsearch.text.vocabulary import EOS, Vocabulary

Ids = Int64[np.ndarray, " _"]
Floats = Float64[np.ndarray, " _"]

NO_NGRAM = -1

FALLBACK = (0.5, 1.0, 1.5)
"""D_1, D_2, D_3+ where a text is too small to estimate them: some n-grams must occur once, some
twice, some three and four times."""


class EncodedText(NamedTuple):
    """Sentences of ids in one array: <s> w_1 … w_n </s>, one after the other. starts: where each
    sentence begins, and where the last ends."""

    ids: Ids  # position
    starts: Ids  # sentence + 1


def encode_text(sentences: Iterable[Sequence[str]], vocabulary: Vocabulary) -> EncodedText:
    """Encodes sentences of words; words outside the vocabulary are its UNK. The id of <s>, which is
    no word, is len(vocabulary)."""
    sentences = list(sentences)
    starts = np.cumsum([0, *(len(sentence) + 2 for sentence in sentences)])
    ids = np.full(starts[-1], NO_NGRAM)
    ids[starts[:-1]], ids[starts[1:] - 1] = len(vocabulary), EOS
    ids[ids == NO_NGRAM] = vocabulary.ids(chain.from_iterable(sentences))
    return EncodedText(ids, starts)


class NgramModel(NamedTuple):
    """log p(w | the order − 1 words before it), for every word of a closed vocabulary, the unknown
    word and the end of sentence among them.

    Each n-gram has a number: the index of its key among the keys of its length, where key = (number
    of the n-gram without its last word) × (words + 1) + (id of its last word), and 0 is the number
    of no word. So a single word's number is its id.

    keys: for each length from 1 on, ascending. logs: log p of each n-gram's last word after its
    others.
    backoffs: log γ of each n-gram's context, the logarithm of the weight of the shorter context, by
    the context's number. words: size of the vocabulary; this is also the id of <s>, with which
    every sentence begins and which is never predicted.
    """

    words: int
    keys: list[Ids]
    logs: list[NDArray[np.float32]]
    backoffs: list[NDArray[np.float32]]

    @classmethod
    def estimate(cls, text: EncodedText, words: int, order: int) -> NgramModel:
        """Estimates a model from at least one sentence. Ids other than <s> are below `words`."""
        model, grams = cls(words, [], [], []), _grams(text, words, order)
        probabilities = np.array([1 / words])
        for length, gram in enumerate(grams, 1):
            # Of shorter n-grams, the different words to their left count. Nothing stands to the
            # left of <s>.
            left = (
                np.bincount(grams[length].suffixes, minlength=len(gram.keys))
                if length < order
                else 0
            )
            counts = np.where(gram.begins | (length == order), gram.counts, left)
            amount = discounts(counts)[np.minimum(counts, 3)]
            contexts = gram.keys // (words + 1)
            total = np.bincount(contexts, counts, len(probabilities))
            # γ; 1 for an n-gram that no word ever followed.
            weight = np.ones(len(total))
            np.divide(np.bincount(contexts, amount, len(total)), total, out=weight, where=total > 0)
            probabilities = (counts - amount) / total[contexts] + weight[contexts] * probabilities[
                gram.suffixes
            ]
            model.keys.append(gram.keys)
            model.logs.append(np.log(probabilities).astype(np.float32))
            model.backoffs.append(np.log(weight).astype(np.float32))
        return model

    def log_probabilities(self, text: EncodedText) -> Floats:
        """Returns ln p of each position of the text; 0 at every <s>."""
        result = np.zeros(len(text.ids))
        # The number of the context of each position, for one length after the other.
        contexts = np.zeros(len(text.ids), np.int64)
        for keys, logs, backoffs in zip(self.keys, self.logs, self.backoffs, strict=True):
            ends = np.flatnonzero(contexts != NO_NGRAM)
            before = contexts[ends]
            numbers = _places(keys, before * (self.words + 1) + text.ids[ends])
            # `numbers` may be NO_NGRAM, -1: then the last entry is looked up in vain.
            result[ends] = np.where(
                numbers != NO_NGRAM,
                logs[numbers] if len(logs) else 0,
                result[ends] + backoffs[before],
            )
            contexts = np.full(len(contexts), NO_NGRAM)
            contexts[ends[ends < len(contexts) - 1] + 1] = numbers[ends < len(contexts) - 1]
        result[text.ids == self.words] = 0
        return result

    def cross_entropies(self, text: EncodedText) -> Floats:
        """Returns the cross-entropy of each sentence, in bits per word, the end of sentence counted
        as one."""
        if len(text.starts) == 1:
            return np.zeros(0)
        sums: Floats = np.add.reduceat(self.log_probabilities(text), text.starts[:-1])
        entropies: Floats = -sums / np.log(2) / (np.diff(text.starts) - 1)
        return entropies


def _places(keys: Ids, wanted: Ids) -> Ids:
    """Returns the place of each wanted key among the keys, which ascend, or NO_NGRAM."""
    if not len(keys):
        return np.full(len(wanted), NO_NGRAM)
    # Sorted queries use the CPU's cache: six times faster.
    different, place = np.unique(wanted, return_inverse=True)
    found = np.minimum(np.searchsorted(keys, different), len(keys) - 1)
    return np.where(keys[found] == different, found, NO_NGRAM)[place]


class _Grams(NamedTuple):
    """The different n-grams of one length in a text, by number."""

    keys: Ids
    counts: Ids
    suffixes: Ids  # the number of the n-gram without its first word
    begins: NDArray[np.bool_]  # whether its first word is <s>


def _grams(text: EncodedText, words: int, order: int) -> list[_Grams]:
    # in its sentence
    place = np.arange(len(text.ids)) - np.repeat(text.starts[:-1], np.diff(text.starts))
    ids = np.arange(words + 1)
    counts = np.bincount(text.ids, minlength=words + 1)
    counts[words] = 0  # <s> is never predicted
    grams, found = [_Grams(ids, counts, np.zeros_like(ids), ids == words)], text.ids
    for before in range(1, order):
        ends = np.flatnonzero(place >= before)
        keys, first, numbers, counts = np.unique(
            found[ends - 1] * (words + 1) + text.ids[ends],
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        grams.append(_Grams(keys, counts, found[ends[first]], place[ends[first]] == before))
        found = np.full(len(found), NO_NGRAM)
        found[ends] = numbers
    return grams


def discounts(counts: Ids) -> Floats:
    """Returns (0, D_1, D_2, D_3+): the discounts of n-grams with the counts 0, 1, 2, and 3 or more
    (Chen & Goodman 1998, Eq. 26)."""
    n1, n2, n3, n4 = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if n1 and n2 and n3 and n4:
        y = n1 / (n1 + 2 * n2)
        estimated = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        if all(0 < discount <= count for count, discount in enumerate(estimated, 1)):
            return np.array([0, *estimated])
    return np.array([0, *FALLBACK])
