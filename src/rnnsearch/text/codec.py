"""Converts lines of one side to ids and back, by tokeniser and vocabulary. It keeps the word of
every id, so that alignments can be shown in words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Literal, NamedTuple

from rnnsearch.errors import InputError
from rnnsearch.settings import DataSettings
from rnnsearch.system.files import read_file
from rnnsearch.text.subwords import WORD_START, Subwords
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import EOS, Vocabulary, WordFilter

Side = Literal["source", "target"]

SIDES: tuple[Side, Side] = ("source", "target")
CODEC_FILES = ("vocabulary.{side}.txt", "subwords.{side}.model", "words.{side}.bloom")
"""The files of one side's codec. The last two exist only if it has subwords or known words."""

JOINER = "\u2060"
"""Stands for a space in or after what is copied letter by letter, because no word contains a space.
The tokeniser removes this character, so no other word has it."""


class Term(NamedTuple):
    """A term of a glossary in a sentence: its source words [first, end), and the words of its
    translation."""

    first: int
    end: int
    translation: tuple[str, ...]


class Beginning(NamedTuple):
    """The given beginning of a translation. words: its whole words, as typed. word_of: their ids
    belong to words[word_of[k]]. kept: number of words that stay as they are, with an unfinished
    one. places: what the search allows (search/prefix.py). unknown: words that the network reads as
    UNK."""

    words: Sequence[str] = ()
    word_of: Sequence[int] = ()
    kept: int = 0
    places: Sequence[Mapping[int, int]] = ()
    unknown: Sequence[str] = ()


NO_BEGINNING = Beginning()


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence as the network reads it. words: its words. ids: the ids of the words or of their
    subwords, with EOS as the last. word_of: ids[k] encodes words[word_of[k]] or a part of it; the
    last entry, that of EOS, is len(words). terms: those whose translation is prescribed. beginning:
    of the translation.
    """

    words: list[str]
    ids: list[int]
    word_of: list[int]
    terms: Sequence[Term] = ()
    beginning: Beginning = NO_BEGINNING


@dataclass(frozen=True, slots=True)
class Codec:
    """The tokeniser and vocabulary of one side, and its subwords if there are any.

    known: the words of this side of the training data, if known. In languages without spaces,
    subwords are the words.
    """

    tokeniser: Tokeniser
    vocabulary: Vocabulary
    subwords: Subwords | None = None
    known: WordFilter | None = None

    def words(self, line: str) -> list[str]:
        """Returns the words of a line, as alignments and results have them."""
        words = self.tokeniser.words(line)
        if self.subwords is None or self.subwords.marks_words:
            return words
        return list(chain.from_iterable(self.subwords.split(words)))

    def encode(self, line: str) -> EncodedSentence:
        """Encodes a line; an empty one gives the end of sentence alone."""
        return self.encode_words(self.words(line))

    def encode_words(self, words: Sequence[str]) -> EncodedSentence:
        """Encodes a sentence whose words are known already."""
        ids, sizes = self.word_ids(words)
        word_of = [place for place, size in enumerate(sizes) for _ in range(size)]
        return EncodedSentence(list(words), [*ids, EOS], [*word_of, len(words)])

    def word_ids(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Returns the concatenated ids of all words, and the number of ids of each word: 1, or its
        number of subwords."""
        if self.subwords is None:
            return self.vocabulary.ids(words), [1] * len(words)
        subwords = self.subwords.split(words)
        return self.vocabulary.ids(chain.from_iterable(subwords)), [len(own) for own in subwords]

    def decode(self, ids: Sequence[int]) -> tuple[list[str], list[int]]:
        """Returns (words, word_of) of the ids before the first EOS: ids[k] became words[word_of[k]]
        or a part of it. An unknown word is spelt `<unk>`."""
        tokens = [
            self.vocabulary.word(number) for number in takewhile(lambda number: number != EOS, ids)
        ]
        if self.subwords is None:
            return tokens, list(range(len(tokens)))
        return self.subwords.join(tokens)

    def text(self, words: Sequence[str]) -> str:
        """Returns the line that these words make."""
        return self.tokeniser.text(words).replace(f"{JOINER} ", " ").replace(JOINER, " ")

    @property
    def word_start(self) -> str:
        """Returns what the first subword of every word begins with; empty if every id is a whole
        word."""
        return WORD_START if self.subwords is not None and self.subwords.marks_words else ""

    def save(self, folder: Path, side: Side) -> None:
        """Writes vocabulary.<side>.txt and, where there are any, subwords.<side>.model and
        words.<side>.bloom."""
        for form, part in zip(
            CODEC_FILES, (self.vocabulary, self.subwords, self.known), strict=True
        ):
            if part is not None:
                part.save(folder / form.format(side=side))

    @classmethod
    def load(cls, folder: Path, side: Side, settings: DataSettings) -> Codec:
        """Returns what `save` wrote. Raises InputError if a file is missing or damaged."""
        vocabulary, subwords, known = (folder / form.format(side=side) for form in CODEC_FILES)
        return cls(
            side_tokeniser(side, settings),
            Vocabulary.load(vocabulary),
            None if settings.subwords == "none" else Subwords.load(subwords),
            WordFilter.load(known) if known.exists() else None,
        )


def load_codecs(
    folder: Path, settings: DataSettings, checksums: Mapping[str, str] | None = None
) -> tuple[Codec, Codec]:
    """Reads the codecs of both sides. checksums: those of their files, if known, as
    `codec_checksums` returns them. Raises InputError if a file is missing, damaged or another
    one."""
    if checksums is not None:
        _check_codec_sums(folder, checksums)
    return Codec.load(folder, "source", settings), Codec.load(folder, "target", settings)


def codec_checksums(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file of both sides' codecs in this folder, by its name."""
    return {
        name: hashlib.sha256(content).hexdigest() for name, content in codec_files(folder).items()
    }


def codec_files(folder: Path) -> dict[str, bytes]:
    """Returns the content of each file of both sides' codecs in this folder, by its name."""
    names = (form.format(side=side) for form in CODEC_FILES for side in SIDES)
    return {name: read_file(folder / name) for name in names if (folder / name).exists()}


def _check_codec_sums(folder: Path, expected: Mapping[str, str]) -> None:
    """Raises InputError unless the codecs' files have the checksums `expected`."""
    found = codec_checksums(folder)
    for name in sorted(expected.keys() | found.keys()):
        if name not in expected:
            what = "does not belong to this run or model: config.toml has no checksum of it"
            raise InputError(what, "remove it, or copy the whole folder again", file=folder / name)
        if found.get(name) != expected[name]:
            raise InputError(
                "is not what was written: its checksum differs" if name in found else "is missing",
                "copy it again; to keep a change of your own, delete [run.checksums] from"
                " config.toml",
                file=folder / name,
            )


def side_tokeniser(side: Side, settings: DataSettings) -> Tokeniser:
    """Returns the tokeniser that these settings ask for."""
    return Tokeniser(
        settings.tokeniser,
        settings.source_language if side == "source" else settings.target_language,
        settings.lowercase,
        runs=settings.subwords != "none",
        normalised=settings.unicode == "normalise",
        french=settings.french_elisions,
    )
