"""Converts lines of one side to ids and back, by tokeniser and vocabulary. It keeps the word of every id, so
that alignments can be shown in words. Also repairs lines of training text (French spelling)."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import read_file
from rnnsearch.text.formats.lines import ENTITY
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.tokens import Tokeniser, base, normalise
from rnnsearch.text.vocabulary import EOS, Vocabulary, WordFilter

Side = Literal["source", "target"]

SIDES: tuple[Side, Side] = ("source", "target")
FILES = ("vocabulary.{side}.txt", "subwords.{side}.model", "words.{side}.bloom")
"""The files of one side's codec. The last two exist only if it has subwords or known words."""

JOINER = "\u2060"
"""Stands for a space inside a tag or a placeholder that is copied, because no word contains a space. The
tokeniser removes this character, so no other word has it."""


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence as the network reads it. words: its words. ids: the ids of the words or of their subwords,
    with EOS as the last. word_of: ids[k] encodes words[word_of[k]] or a part of it; the last entry, that of
    EOS, is len(words).
    """

    words: list[str]
    ids: list[int]
    word_of: list[int]


@dataclass(frozen=True, slots=True)
class DecodedSentence:
    """The words that the network wrote, without the end of sentence. word_of: ids[k] became words[word_of[k]]
    or a part of it."""

    words: list[str]
    word_of: list[int]


@dataclass(frozen=True, slots=True)
class Codec:
    """The tokeniser and vocabulary of one side, and its subwords if there are any.

    known: the words of this side of the training data, if known. In languages without spaces, subwords are
    the words.
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
        """Returns the concatenated ids of all words, and the number of ids of each word: 1, or its number of
        subwords."""
        if self.subwords is None:
            return self.vocabulary.ids(words), [1] * len(words)
        subwords = self.subwords.split(words)
        return self.vocabulary.ids(chain.from_iterable(subwords)), [len(own) for own in subwords]

    def decode(self, ids: Sequence[int]) -> DecodedSentence:
        """Returns words of the ids before the first EOS; an unknown word is spelt `<unk>`."""
        written = list(ids)
        tokens = [
            self.vocabulary.word(number)
            for number in (written[: written.index(EOS)] if EOS in written else written)
        ]
        if self.subwords is None:
            return DecodedSentence(tokens, list(range(len(tokens))))
        return DecodedSentence(*self.subwords.join(tokens))

    def text(self, words: Sequence[str]) -> str:
        """Returns the line that these words make."""
        return self.tokeniser.text(words).replace(JOINER, " ")

    def save(self, folder: Path, side: Side) -> None:
        """Writes vocabulary.<side>.txt and, where there are any, subwords.<side>.model and
        words.<side>.bloom."""
        for form, part in zip(FILES, (self.vocabulary, self.subwords, self.known), strict=True):
            if part is not None:
                part.save(folder / form.format(side=side))

    @classmethod
    def load(cls, folder: Path, side: Side, settings: DataSettings, files: Mapping[str, bytes]) -> Codec:
        """Returns what `save` wrote. files: name → content. Raises InputError if a file is missing or
        damaged."""
        vocabulary, subwords, known = (folder / form.format(side=side) for form in FILES)
        return cls(
            side_tokeniser(side, settings),
            Vocabulary.load(vocabulary, files.get(vocabulary.name)),
            None if settings.subwords == "none" else Subwords.load(subwords, files.get(subwords.name)),
            WordFilter.load(known, files[known.name]) if known.name in files else None,
        )


def load_codecs(
    folder: Path, settings: DataSettings, checksums: Mapping[str, str] | None = None
) -> tuple[Codec, Codec]:
    """Reads the codecs of both sides. checksums: those of their files, if known, as `codec_checksums` returns
    them. Raises InputError if a file is missing, damaged or another one."""
    files = codec_files(folder)
    if checksums is not None:
        _check(folder, files, checksums)
    source, target = (Codec.load(folder, side, settings, files) for side in SIDES)
    return source, target


def codec_checksums(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file of both sides' codecs in this folder, by its name."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in codec_files(folder).items()}


def codec_files(folder: Path) -> dict[str, bytes]:
    """Returns the content of each file of both sides' codecs in this folder, by its name."""
    names = (form.format(side=side) for form in FILES for side in SIDES)
    return {name: read_file(folder / name) for name in names if (folder / name).exists()}


def _check(folder: Path, files: Mapping[str, bytes], expected: Mapping[str, str]) -> None:
    """Raises InputError unless the codecs' files have the checksums `expected`."""
    for name in sorted(expected.keys() | files.keys()):
        if name not in expected:
            what = "does not belong to this run or model: config.toml has no checksum of it"
            raise InputError(what, file=folder / name, remedy="remove it, or copy the whole folder again")
        if name not in files or hashlib.sha256(files[name]).hexdigest() != expected[name]:
            what = "is not what was written: its checksum differs" if name in files else "is missing"
            remedy = "copy it again; to keep a change of your own, delete [run.checksums] from config.toml"
            raise InputError(what, file=folder / name, remedy=remedy)


_ELIDED = "c|d|j|l|m|n|s|t|qu|jusqu|lorsqu|puisqu|quoiqu|quelqu|presqu|aujourd"
_WHOLE = "vœux cœur cœurs œuvre œuvres manœuvre manœuvres mœurs sœur sœurs"
_WITHOUT_LIGATURE = {
    word.replace("œ", left): word
    for word in _WHOLE.split()
    for left in ("?", "")
    if left or word not in ("mœurs", "sœur", "sœurs")  # murs, sur and surs are French words
}
"""Words whose œ was lost, or became a question mark."""

_FRENCH: dict[str, tuple[re.Pattern[str], str]] = {
    "typographic apostrophe": (re.compile(r"(?<=\w)[’ʼ]"), "'"),
    "elision with a space": (re.compile(rf"\b({_ELIDED})' (?=\w)", re.IGNORECASE), r"\1'"),
    "lost œ": (
        re.compile(rf"(?<![\w?])(?:{'|'.join(map(re.escape, _WITHOUT_LIGATURE))})(?!\w)", re.IGNORECASE),
        "",
    ),
    "no space before ? ! ;": (re.compile(rf"{ENTITY.pattern}|(?<=[\w»)\"'])([?!;])(?=\s|$)"), r" \1"),
}


@dataclass(frozen=True, slots=True)
class Repair:
    """The repairs of the lines of one side. french: whether French spelling is repaired. language: of text
    that is normalised; None if it is not."""

    french: bool = False
    language: str | None = None

    def __call__(self, line: str, counts: Counter[str] | None = None) -> str:
        """Returns the repaired line, and adds the number of changes of each kind to `counts`."""
        if self.language is not None:
            line = normalise(line, self.language, counts)
        return repair_french(line, counts) if self.french else line


def repair_french(line: str, counts: Counter[str] | None = None) -> str:
    """Repairs the apostrophes, elisions, ligatures and spaces before punctuation of a French line.

    `qu' il` and `qu’il` become `qu'il`, `cur` becomes `cœur`, and `Quoi?` becomes `Quoi ?`. A word is changed
    only if the damaged form is no French word. counts: the number of changes of each kind is added to it.
    """
    for kind, (pattern, replacement) in _FRENCH.items():
        changed = 0

        def mended(found: re.Match[str], replacement: str = replacement) -> str:
            nonlocal changed
            if found.re.groups and found.group(1) is None:  # an entity, which ends in punctuation
                return found.group()
            changed += 1
            return found.expand(replacement) if replacement else _with_ligature(found.group())

        line = pattern.sub(mended, line)
        if counts is not None and changed:
            counts[kind] += changed
    return line


def _with_ligature(word: str) -> str:
    whole = _WITHOUT_LIGATURE[word.lower()]
    return whole.upper() if word.isupper() else whole.capitalize() if word[0].isupper() else whole


def side_language(side: Side, settings: DataSettings) -> str:
    """Returns the language code of a side."""
    return settings.source_language if side == "source" else settings.target_language


def side_tokeniser(side: Side, settings: DataSettings) -> Tokeniser:
    """Returns the tokeniser that these settings ask for."""
    return Tokeniser(
        settings.tokeniser,
        side_language(side, settings),
        settings.lowercase,
        runs=settings.subwords != "none",
        normalised=settings.unicode == "normalise",
    )


def side_repair(side: Side, settings: DataSettings) -> Repair:
    """Returns the repairs that these settings ask for on a side of the training data."""
    language = side_language(side, settings)
    french = settings.french_elisions and base(language) == "fr"
    normalised = language if settings.unicode == "normalise" else None
    return Repair(french, normalised)
