"""One side's way from a line to ids and back. It remembers the word of every id, so that alignments can be shown in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from rnnsearch.config import DataSettings
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.text.vocabulary import EOS, Vocabulary

Side = Literal["source", "target"]

SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence as the network reads it.

    words: its words. ids: the ids of the words or of their subwords, with EOS as the last.
    word_of: ids[k] encodes words[word_of[k]] or a part of it; the last entry, that of EOS, is len(words).
    """

    words: list[str]
    ids: list[int]
    word_of: list[int]


@dataclass(frozen=True, slots=True)
class DecodedSentence:
    """The words that the network wrote, without the end of sentence. word_of: ids[k] became words[word_of[k]] or a part of it."""

    words: list[str]
    word_of: list[int]


@dataclass(frozen=True, slots=True)
class Codec:
    """Tokeniser and vocabulary of one side, and its subwords if there are any."""

    tokeniser: Tokeniser
    vocabulary: Vocabulary
    subwords: Subwords | None = None

    def encode(self, line: str) -> EncodedSentence:
        """An empty line gives the end of sentence alone."""
        return self.encode_words(self.tokeniser.words(line))

    def encode_words(self, words: Sequence[str]) -> EncodedSentence:
        """As `encode`, for a sentence whose words are known already."""
        if self.subwords is None:
            tokens, word_of = list(words), list(range(len(words)))
        else:
            tokens, word_of = self.subwords.split(words)
        return EncodedSentence(list(words), [*self.vocabulary.ids(tokens), EOS], [*word_of, len(words)])

    def word_ids(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """(ids of all the words end to end, number of ids of each word): one id for a word, or one for each of its subwords."""
        if self.subwords is None:
            return self.vocabulary.ids(words), [1] * len(words)
        subwords = self.subwords.split_each(words)
        return self.vocabulary.ids(chain.from_iterable(subwords)), [len(own) for own in subwords]

    def decode(self, ids: Sequence[int]) -> DecodedSentence:
        """Words of the ids before the first EOS; an unknown word is spelt `<unk>`."""
        written = list(ids)
        tokens = [self.vocabulary.word(number) for number in (written[: written.index(EOS)] if EOS in written else written)]
        if self.subwords is None:
            return DecodedSentence(tokens, list(range(len(tokens))))
        return DecodedSentence(*self.subwords.join(tokens))

    def text(self, words: Sequence[str]) -> str:
        """The line that these words make."""
        return self.tokeniser.text(words)

    def save(self, folder: Path, side: Side) -> None:
        """Writes vocabulary.<side>.txt and, with subwords, subwords.<side>.model."""
        self.vocabulary.save(folder / f"vocabulary.{side}.txt")
        if self.subwords is not None:
            self.subwords.save(folder / f"subwords.{side}.model")

    @classmethod
    def load(cls, folder: Path, side: Side, settings: DataSettings) -> Codec:
        """Reads what `save` wrote. Raises InputError if a file is missing or damaged."""
        subwords = None if settings.subwords == "none" else Subwords.load(folder / f"subwords.{side}.model")
        return cls(side_tokeniser(side, settings), Vocabulary.load(folder / f"vocabulary.{side}.txt"), subwords)


def side_tokeniser(side: Side, settings: DataSettings) -> Tokeniser:
    """The tokeniser that these settings ask for."""
    language = settings.source_language if side == "source" else settings.target_language
    return Tokeniser(settings.tokeniser, language, settings.lowercase)
