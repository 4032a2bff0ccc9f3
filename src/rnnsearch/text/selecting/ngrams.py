"""An n-gram language model in NumPy: interpolated modified Kneser–Ney (Chen & Goodman 1998, Sec. 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from numpy.typing import NDArray

from rnnsearch.text.vocabulary import EOS, Vocabulary

Ids = Int64[NDArray[np.int64], " _"]
Floats = Float64[NDArray[np.float64], " _"]

ABSENT = -1

FALLBACK = (0.5, 1.0, 1.5)
"""D_1, D_2, D_3+ where a text is too small to estimate them: some n-grams must occur once, some twice, some
three and four times."""


_SAVED = ("keys", "logs", "backoffs")


class EncodedText(NamedTuple):
    """Sentences of ids in one array: <s> w_1 … w_n </s>, one after the other. starts: where each sentence
    begins, and where the last ends."""

    ids: Ids  # position
    starts: Ids  # sentence + 1


def encode_text(sentences: Iterable[Sequence[str]], vocabulary: Vocabulary) -> EncodedText:
    """Encodes sentences of words; words outside the vocabulary are its UNK. The id of <s>, which is no word,
    is len(vocabulary)."""
    sentences = list(sentences)
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 2
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.full(starts[-1], len(vocabulary))
    ids[starts[1:] - 1] = EOS
    is_word = np.ones(len(ids), dtype=bool)
    is_word[starts[:-1]] = is_word[starts[1:] - 1] = False
    ids[is_word] = vocabulary.ids(chain.from_iterable(sentences))
    return EncodedText(ids, starts)


class NgramModel(NamedTuple):
    """log p(w | the order − 1 words before it), for every word of a closed vocabulary, the unknown word and
    the end of sentence among them.

    Each n-gram has a number. A single word's number is its id. A longer n-gram's number is the index of its
    key among the keys of its length, where key = (number of the n-gram without its last word) × (words + 1) +
    (id of its last word).

    keys: for each length from 2 on, ascending. logs: log p of each n-gram's last word after its others, for
    each length. backoffs: log γ, the logarithm of the weight of the shorter context after this n-gram, for
    each length but the longest. words: size of the vocabulary; this is also the id of <s>, with which every
    sentence begins and which is never predicted.
    """

    words: int
    keys: list[Ids]
    logs: list[NDArray[np.float32]]
    backoffs: list[NDArray[np.float32]]

    @classmethod
    def estimate(cls, text: EncodedText, words: int, order: int) -> NgramModel:
        """Estimates a model from at least one sentence. Ids other than <s> are below `words`."""
        grams = _grams(text, words, order)
        counts = _adjusted_counts(grams)
        amount = discounts(counts[0])[np.minimum(counts[0], 3)]
        probabilities = (counts[0] - amount) / counts[0].sum() + amount.sum() / counts[0].sum() / words
        probabilities[words] = 1  # <s> is never predicted: it adds nothing to a sum of logarithms
        logs, backoffs = [_log(probabilities)], []
        for gram, count in zip(grams[1:], counts[1:], strict=True):
            amount = discounts(count)[np.minimum(count, 3)]
            contexts = gram.keys // (words + 1)
            total = np.bincount(contexts, count, len(probabilities))
            left = np.bincount(contexts, amount, len(probabilities))
            # γ; 1 for an n-gram that no word ever followed.
            weight = np.divide(left, total, out=np.ones(len(total)), where=total > 0)
            probabilities = (count - amount) / total[contexts] + weight[contexts] * probabilities[
                gram.suffixes
            ]
            logs.append(_log(probabilities))
            backoffs.append(_log(weight))
        return cls(words, [gram.keys for gram in grams[1:]], logs, backoffs)

    def log_probabilities(self, text: EncodedText) -> Floats:
        """Returns ln p of each position of the text; 0 at every <s>."""
        result = self.logs[0][text.ids].astype(np.float64)
        # The number of the n-gram that ends at each position, for one length after the other.
        found = text.ids
        for keys, logs, backoffs in zip(self.keys, self.logs[1:], self.backoffs, strict=True):
            ends = np.flatnonzero(found[:-1] != ABSENT) + 1
            contexts = found[ends - 1]
            numbers = _places(keys, contexts * (self.words + 1) + text.ids[ends])
            hit = numbers != ABSENT
            result[ends] = np.where(
                hit, logs[np.where(hit, numbers, 0)] if len(logs) else 0, result[ends] + backoffs[contexts]
            )
            found = np.full(len(found), ABSENT)
            found[ends] = numbers
        return result

    def cross_entropies(self, text: EncodedText) -> Floats:
        """Returns the cross-entropy of each sentence, in bits per word, the end of sentence counted as
        one."""
        if len(text.starts) == 1:
            return np.zeros(0)
        sums: Floats = np.add.reduceat(self.log_probabilities(text), text.starts[:-1])
        entropies: Floats = -sums / np.log(2) / (np.diff(text.starts) - 1)
        return entropies

    def save(self, folder: Path) -> None:
        """Writes arrays into an existing folder."""
        for name in _SAVED:
            for number, values in enumerate(getattr(self, name)):
                np.save(folder / f"{name}.{number}.npy", values)

    @classmethod
    def open(cls, folder: Path) -> NgramModel:
        """Maps what `save` wrote into memory: processes that open the same folder share it."""
        keys, logs, backoffs = (
            [np.asarray(np.load(path, mmap_mode="r")) for path in sorted(folder.glob(f"{name}.*.npy"))]
            for name in _SAVED
        )
        return cls(len(logs[0]) - 1, keys, logs, backoffs)  # <s> has an entry, too


def _places(keys: Ids, wanted: Ids) -> Ids:
    """Returns the place of each wanted key among the keys, which ascend, or ABSENT."""
    if not len(keys):
        return np.full(len(wanted), ABSENT)
    # Sorted queries use the CPU's cache: six times faster.
    different, place = np.unique(wanted, return_inverse=True)
    found = np.minimum(np.searchsorted(keys, different), len(keys) - 1)
    return np.where(keys[found] == different, found, ABSENT)[place]


class _Grams(NamedTuple):
    """The different n-grams of one length in a text, by number."""

    keys: Ids
    counts: Ids
    suffixes: Ids  # the number of the n-gram without its first word
    begins: NDArray[np.bool_]  # whether its first word is <s>


def _grams(text: EncodedText, words: int, order: int) -> list[_Grams]:
    place = np.arange(len(text.ids)) - np.repeat(text.starts[:-1], np.diff(text.starts))  # in its sentence
    ids = np.arange(words + 1)
    grams = [_Grams(ids, np.bincount(text.ids, minlength=words + 1), np.zeros_like(ids), ids == words)]
    found = text.ids
    for before in range(1, order):
        ends = np.flatnonzero(place >= before)
        keys, first, numbers, counts = np.unique(
            found[ends - 1] * (words + 1) + text.ids[ends],
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        grams.append(_Grams(keys, counts, found[ends[first]], place[ends[first]] == before))
        found = np.full(len(found), ABSENT)
        found[ends] = numbers
    return grams


def _adjusted_counts(grams: list[_Grams]) -> list[Ids]:
    """Returns the number of occurrences of the longest n-grams; for shorter ones, the number of different
    words to their left.

    Nothing stands to the left of <s>, so n-grams that begin with it keep their number of occurrences; <s>
    alone has none, as it is never predicted.
    """
    shorter = [
        np.where(gram.begins, gram.counts, np.bincount(longer.suffixes, minlength=len(gram.keys)))
        for gram, longer in pairwise(grams)
    ]
    counts = [*shorter, grams[-1].counts]
    counts[0] = np.where(grams[0].begins, 0, counts[0])
    return counts


def discounts(counts: Ids) -> Floats:
    """Returns (0, D_1, D_2, D_3+): the discounts of n-grams with the counts 0, 1, 2, and 3 or more (Chen &
    Goodman 1998, Eq. 26)."""
    n1, n2, n3, n4 = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if not (n1 and n2 and n3 and n4):
        return np.array([0, *FALLBACK])
    y = n1 / (n1 + 2 * n2)
    estimated = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if any(not 0 < discount <= count for count, discount in enumerate(estimated, 1)):
        return np.array([0, *FALLBACK])
    return np.array([0, *estimated])


def _log(values: Floats) -> NDArray[np.float32]:
    return np.log(values).astype(np.float32)
