"""The shortlist of one language (Sec. 4.1), which maps words to ids and back; and a Bloom filter of
words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain, islice, takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.system.files import read_file, read_text, reading

EOS = 0
"""Id of the end of sentence in both languages. Batches are padded with it too; only lengths
distinguish the two."""
UNK = 1
"""Id of every word outside the shortlist."""

END, UNKNOWN = SPECIALS = ("</s>", "<unk>")
"""The words of EOS and UNK."""


class Vocabulary:
    """Words in the order of their ids; ids 0 and 1 are the end of sentence and the unknown word.

    words: without the two specials. A word spelt like a special is left out: in text, it is not
    meant as one.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [*SPECIALS, *(word for word in words if word not in SPECIALS)]
        self._ids = {word: number for number, word in enumerate(self._words) if number > UNK}
        if len(self._ids) != len(self._words) - len(SPECIALS):
            raise ValueError("a word occurs twice in the vocabulary")

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], size: int, minimum_count: int = 1
    ) -> Vocabulary:
        """Returns the `size` most frequent words that occur at least `minimum_count` times; the two
        specials are added.

        Equally frequent words are ordered by their spelling, so the order of the text does not
        matter.
        """
        frequent = sorted(
            (-count, word)
            for word, count in counts.items()
            if count >= minimum_count and word not in SPECIALS
        )
        return cls(word for _, word in frequent[:size])

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Reads what `save` wrote. Raises InputError if the file cannot be read or is not a
        vocabulary."""
        with reading(path):
            lines = read_text(path).split("\n")
        if tuple(lines[:2]) != SPECIALS or lines[-1] != "" or len(set(lines)) != len(lines):
            remedy = (
                "a vocabulary begins with </s> and <unk>, and has each word once, on a line of"
                " its own"
            )
            raise InputError("is not a vocabulary", remedy, file=path)
        return cls(lines[2:-1])

    def save(self, path: Path) -> None:
        """Writes one word per line, in the order of the ids: the first line is id 0."""
        path.write_bytes("".join(f"{word}\n" for word in self._words).encode("utf-8"))

    def __len__(self) -> int:
        """Returns the number of words, with the specials: K."""
        return len(self._words)

    def __contains__(self, word: object) -> bool:
        """Tells whether the word has an id of its own. The specials do not count as words."""
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._words == other._words

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} entries)"

    def ids(self, words: Iterable[str]) -> list[int]:
        """Returns the id of every word, UNK for those outside; no end of sentence is added."""
        get = self._ids.get
        return [get(word, UNK) for word in words]

    def ids_starting(self, letters: str) -> list[int]:
        """Returns the ids of the words that start with these letters; the specials do not count as
        words."""
        first = bisect_left(self._sorted, letters)
        following = islice(self._sorted, first, None)
        return self.ids(takewhile(lambda word: word.startswith(letters), following))

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._ids)

    def word(self, number: int) -> str:
        """Returns the word of an id. Raises IndexError for an id that does not exist."""
        if number < 0:
            raise IndexError(number)
        return self._words[number]


BITS_PER_WORD = 16
HASHES = 7
SEEDS = (0x811C9DC5, 0x2545F491)
_MASK = 0xFFFFFFFF


class WordFilter:
    """A Bloom filter: `word in words` is True for all of its words, and for some 0.1 % of other
    words.

    bits: (bytes,) uint8. page/engine/word_filter.js reads the same bytes with the same hashes.
    """

    def __init__(self, bits: NDArray[np.uint8]) -> None:
        self.bits = bits

    @classmethod
    def of(cls, words: Iterable[str]) -> WordFilter:
        """Builds the filter of these words."""
        words = set(words)
        size = max(1, len(words) * BITS_PER_WORD // 8)
        return cls(np.zeros(size, dtype=np.uint8)).with_words(words)

    def with_words(self, words: Iterable[str]) -> WordFilter:
        """Returns a filter with these words added. It is the same filter several times in a row, if
        they need more room: its places are remainders, so it still has all of its words."""
        words = set(words)
        new = sum(word not in self for word in words) if self.bits.any() else 0
        copies = 1 + 2 * new * BITS_PER_WORD // (8 * len(self.bits))
        larger = WordFilter(np.tile(self.bits, copies))
        places = np.fromiter(chain.from_iterable(map(larger._places, words)), dtype=np.int64)
        np.bitwise_or.at(larger.bits, places >> 3, (1 << (places & 7)).astype(np.uint8))
        return larger

    @classmethod
    def load(cls, path: Path) -> WordFilter:
        """Reads what `save` wrote. Raises InputError if the file cannot be read or is empty."""
        if not (content := read_file(path)):
            raise InputError("is empty", "copy the model again", file=path)
        return cls(np.frombuffer(content, dtype=np.uint8))

    def save(self, path: Path) -> None:
        """Writes the bits as they are."""
        path.write_bytes(self.bits.tobytes())

    def __contains__(self, word: str) -> bool:
        return all(self.bits[place >> 3] >> (place & 7) & 1 for place in self._places(word))

    def _places(self, word: str) -> list[int]:
        """Returns the bits of a word, by double hashing (Kirsch & Mitzenmacher 2006)."""
        data = word.encode("utf-8", "surrogatepass")
        first, second = (_hashed(data, seed) for seed in SEEDS)
        return [(first + k * second) % (8 * len(self.bits)) for k in range(HASHES)]


def _hashed(data: bytes, seed: int) -> int:
    """Returns the 32-bit FNV-1a hash of the bytes, finalised as in MurmurHash3."""
    value = seed
    for byte in data:
        value = (value ^ byte) * 0x01000193 & _MASK
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    return value ^ value >> 16
