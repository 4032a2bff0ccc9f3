"""Subwords by sentencepiece: an open vocabulary instead of a shortlist."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.system.files import read_file

WORD_START = "▁"
"""U+2581 begins the first subword of every word."""

_CACHED = 100_000  # words whose subwords are cached: some 40 MB


class Subwords:
    """A sentencepiece model of one language. It sees single words, so every subword belongs to
    exactly one word.

    marks_words: whether the first subword of a word begins with WORD_START. Otherwise, in text
    without spaces, every subword counts as a word.
    """

    def __init__(self, model: bytes) -> None:
        from sentencepiece import SentencePieceProcessor

        self._model, self._processor = model, SentencePieceProcessor()
        if not model or not self._processor.LoadFromSerializedProto(model):
            raise ValueError("not a sentencepiece model")
        self.marks_words = any(subword.startswith(WORD_START) for subword in self.vocabulary())
        self._split = lru_cache(_CACHED)(self._split_word)

    @classmethod
    def load(cls, path: Path) -> Subwords:
        """Reads what `save` wrote. Raises InputError if the file cannot be read or is not such a
        model."""
        try:
            return cls(read_file(path))
        except (RuntimeError, ValueError):
            raise InputError("is not a sentencepiece model", file=path) from None

    def save(self, path: Path) -> None:
        """Writes the model as a file of sentencepiece."""
        path.write_bytes(self._model)

    def vocabulary(self) -> list[str]:
        """Returns all subwords, best first, without sentencepiece's own unknown symbol."""
        processor = self._processor
        return [
            processor.id_to_piece(number)
            for number in range(len(processor))
            if not processor.is_unknown(number)
        ]

    def split(self, words: Sequence[str]) -> list[list[str]]:
        """Returns the subwords of each word; they do not depend on the other words.

        Characters that training did not see become subwords that are in no vocabulary.
        """
        return list(map(self._split, words))

    def _split_word(self, word: str) -> list[str]:
        subwords: list[str] = self._processor.encode(spelt(word), out_type=str)
        return subwords

    def join(self, subwords: Sequence[str]) -> tuple[list[str], list[int]]:
        """Joins subwords to words: (words, word_of), where subword k became a part of
        words[word_of[k]].

        Accepts any sequence, since a model may write any. A first subword without a word start also
        begins a word; a word start alone belongs to the next word. No word is empty unless the
        input has only word starts.
        """
        if not self.marks_words:
            return list(subwords), list(range(len(subwords)))
        words: list[str] = []
        word_of: list[int] = []
        for subword in subwords:
            if not words or (subword.startswith(WORD_START) and words[-1]):
                words.append("")
            words[-1] += subword.removeprefix(WORD_START)
            word_of.append(len(words) - 1)
        if len(words) > 1 and not words[-1]:  # word starts at the end, with nothing after them
            words.pop()
            word_of = [min(number, len(words) - 1) for number in word_of]
        return words, word_of

    def __reduce__(self) -> tuple[type[Subwords], tuple[bytes]]:
        return Subwords, (self._model,)


def spelt(word: str) -> str:
    """Returns the word without a word start inside, which would cut it in two."""
    return word.replace(WORD_START, "_")
