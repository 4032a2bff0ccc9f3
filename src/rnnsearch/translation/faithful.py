"""Keeps names, numbers and unknown characters as they are in the source (`search.faithful`).

A network that writes subwords invents some words and misspells names. An invented word is replaced as UNK is
(Luong et al. 2015; Jean et al. 2015): by the source word with the largest weight, or by its entry in the
dictionary. The source is encoded accordingly: a URL, an e-mail address or a handle is one word, and a word in
capitals is read in lowercase if it then has far fewer subwords.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.vocabulary import SPECIALS, UNK, WordFilter

ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[^\s@]+@[^\s@]+\.\w+|[@#]\w+")
"""Addresses are copied as a whole; punctuation at the end belongs to the sentence."""
AFTER_ADDRESS = ".,;:!?\"')]}»”’"
UNKNOWN = SPECIALS[UNK]
RARE = 0.25
"""A rare source word replaces an invented word if its weight is at least this share of the largest."""

Weights = NDArray[np.float32]
Key = TypeVar("Key")


def encode_faithfully(codec: Codec, line: str) -> EncodedSentence:
    """Encodes a source line. `words` are those of the line, even if the network reads other forms of them."""
    words: list[str] = []
    end = 0
    line = line.replace("’", "'")
    for found in ADDRESS.finditer(line):
        address = found[0].rstrip(AFTER_ADDRESS)
        words += [*codec.tokeniser.words(line[end : found.start()]), address]
        end = found.start() + len(address)
    words += codec.tokeniser.words(line[end:])
    return encode_words_faithfully(codec, words)


def encode_words_faithfully(codec: Codec, words: Sequence[str]) -> EncodedSentence:
    """Encodes the words of a source line in the forms that the network reads best."""
    read = [_as_read(codec, word, place == 0) for place, word in enumerate(words)]
    encoded = codec.encode_words([part for parts in read for part in parts])
    place_of = [place for place, parts in enumerate(read) for _ in parts] + [len(words)]
    return EncodedSentence(list(words), encoded.ids, [place_of[part] for part in encoded.word_of])


def _as_read(codec: Codec, word: str, first: bool) -> list[str]:
    """Returns the words to read instead of this one: the parts of an address, or capitals in lowercase."""
    if ADDRESS.fullmatch(word):
        return codec.tokeniser.words(word) or [word]
    if len(word) < 2 or not word.isupper():
        return [word]
    forms = [word, *((word.capitalize(), word.lower()) if first else (word.lower(), word.capitalize()))]
    sizes = codec.word_ids(forms)[1]
    best = min(range(len(forms)), key=lambda form: sizes[form])
    return [forms[best] if 2 * sizes[best] <= sizes[0] else word]  # else it may be an acronym


@dataclass(frozen=True)
class Faithful:
    """Replaces invented words of a translation.

    known: the words of the training data's target text. If None, no word counts as invented.
    dictionary: source word → the word to write instead of it.
    """

    source: Codec
    known: WordFilter | Set[str] | None
    dictionary: Mapping[str, str]

    def __call__(
        self, sentence: EncodedSentence, words: Sequence[str], alignment: Weights, confidence: Sequence[float]
    ) -> tuple[list[str], Weights, list[float]]:
        """Returns the words, their alignment (words, source words + 1) and their confidence.

        A copied word has the lowest confidence of the words that it replaces, or 1 if it replaces none."""
        if not sentence.words or not len(words):
            return list(words), alignment, list(confidence)
        made = list(map(_Word, words, alignment, confidence))
        for step in (self._addresses, self._numbers, self._invented, self._unread, self._capitals):
            made = list(step(sentence, made))
        rows = np.stack([word.row for word in made]).astype(np.float32)
        return [word.text for word in made], rows, [word.confidence for word in made]

    def _addresses(self, sentence: EncodedSentence, made: list[_Word]) -> Iterator[_Word]:
        """Replaces each run of words that attended to an address by that address."""
        copied: set[int] = set()
        for place, run in _runs(made, lambda word: word.read):
            if place is None or not ADDRESS.fullmatch(sentence.words[place]):
                yield from run
            elif place not in copied:
                copied.add(place)
                yield _copy(sentence.words[place], run, place)

    def _numbers(self, sentence: EncodedSentence, made: list[_Word]) -> Iterator[_Word]:
        """Replaces a number that the source does not have by the source number that it attended to."""
        given = {place: _digits(word) for place, word in enumerate(sentence.words) if _digits(word)}
        written = {_digits(word.text) for word in made}
        written |= {"".join(_digits(word.text) for word in run) for _, run in _runs(made, _is_number)}
        for number, run in _runs(made, _is_number):
            digits = "".join(_digits(word.text) for word in run)
            missing = [place for place, own in given.items() if own not in written]
            row = _mean(run)
            place = max(missing, key=lambda place: row[place], default=None)
            wrong = number and digits not in given.values()
            if wrong and place is not None and row[place] > RARE * row[:-1].max() > 0:
                yield _copy(sentence.words[place], run, place)
                written.add(given[place])
            else:
                yield from run

    def _invented(self, sentence: EncodedSentence, made: list[_Word]) -> Iterator[_Word]:
        """Replaces `<unk>` and words that the training data did not have. Of several for one source word, the
        first is replaced and the others are left out. A word that attended to no source word stays."""
        sizes = self.source.word_ids(sentence.words)[1]
        copied: set[int | None] = set()
        for word in made:
            weights = word.row[:-1]
            known = UNKNOWN not in word.text and self.knows(word.text)
            if word.copied is not None or known or not weights.any():
                copied.add(word.copied)
                yield word
                continue
            rare = [place for place in range(len(weights)) if sizes[place] > 1]
            place = int(np.argmax(weights))
            likeliest = max(rare, key=lambda each: weights[each], default=place)
            place = likeliest if weights[likeliest] >= RARE * weights[place] else place
            if place not in copied:
                copied.add(place)
                given = sentence.words[place]
                yield _copy(self.dictionary.get(given, given), [word], place)

    def _unread(self, sentence: EncodedSentence, made: list[_Word]) -> list[_Word]:
        """Adds the source words that the network cannot read at all, such as emoji, where they are
        missing."""
        ids = np.asarray(sentence.ids[:-1])
        places = np.asarray(sentence.word_of[:-1])
        for place, text in enumerate(sentence.words):
            own = ids[places == place]
            unread = UNK in own and (own != UNK).sum() <= 1  # the start of a word is a subword of its own
            if not unread or any(text in word.text for word in made):
                continue
            row = np.zeros(len(sentence.words) + 1, dtype=np.float32)
            row[place] = 1
            before = [at for at, word in enumerate(made) if word.read is not None and word.read < place]
            made.insert(before[-1] + 1 if before else 0, _Word(text, row, 1.0, place))
        return made

    def _capitals(self, sentence: EncodedSentence, made: list[_Word]) -> list[_Word]:
        """Restores capitals where a source word was read in lowercase; writes all words in capitals if the
        whole source is in capitals."""
        words = sentence.words
        lowered = {
            place
            for place, word in enumerate(words)
            if len(word) > 3 and _as_read(self.source, word, place == 0) != [word] and word.isupper()
        }
        long = [word for word in words if len(word) > 1 and word.isalpha()]
        whole = len(long) > 1 and all(word.isupper() for word in long)
        return [
            replace(word, text=word.text.upper())
            if word.copied is None and (whole or (word.read in lowered and word.row.max() > 0.5))
            else word
            for word in made
        ]

    def knows(self, word: str) -> bool:
        """Tells whether the word, in any case, or all of its parts occurred in the training data. Words with
        digits count as known."""
        if (
            self.known is None
            or not any(letter.isalpha() for letter in word)
            or any(letter.isdecimal() for letter in word)
        ):
            return True
        if any(form in self.known for form in (word, word.lower(), word.capitalize())):
            return True
        parts = [part for part in re.split(r"[-'’./&]", word) if part]
        return len(parts) > 1 and all(self.knows(part) for part in parts)


@dataclass(frozen=True)
class _Word:
    """A target word. row: its weights, (source words + 1,). copied: position of the source word that it
    copies, if any."""

    text: str
    row: Weights
    confidence: float
    copied: int | None = None

    @property
    def read(self) -> int | None:
        """Returns the source position with the largest weight; None for the end of sentence or if all weights
        are 0."""
        place = int(np.argmax(self.row))
        return place if self.row[place] > 0 and place < len(self.row) - 1 else None


def _runs(made: list[_Word], key: Callable[[_Word], Key]) -> Iterator[tuple[Key, list[_Word]]]:
    return ((value, list(run)) for value, run in groupby(made, key))


def _copy(text: str, run: Sequence[_Word], place: int) -> _Word:
    """Returns the word that replaces a run of words by the source word at `place`."""
    return _Word(text, _mean(run), min(word.confidence for word in run), place)


def _mean(run: Sequence[_Word]) -> Weights:
    mean: Weights = np.stack([word.row for word in run]).mean(0, dtype=np.float32)
    return mean


def _digits(word: str) -> str:
    return "".join(letter for letter in word if letter.isdecimal())


def _is_number(word: _Word) -> bool:
    """Tells whether a word has digits, is neither an address nor an hour (17h), and is not copied yet."""
    return word.copied is None and bool(_digits(word.text)) and not re.search(r"\dh", word.text)


def read_dictionary(path: str | Path) -> dict[str, str]:
    """Returns the first translation of every word. Raises InputError for a line that is not two words."""
    entries: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if len(fields) != 2:
            what, remedy = "is not a source word and a target word", "write two words per line"
            raise InputError(what, file=path, line=number, remedy=remedy)
        entries.setdefault(*fields)
    return entries
