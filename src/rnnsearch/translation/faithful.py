"""Keeps names, numbers, placeholders and unknown characters as they are in the source
(`translation.faithful`). Replaces unknown words (`translation.replace_unk`), and writes the terms
of a glossary.

A network that writes subwords invents some words and misspells names. An invented word is replaced
as UNK is (Luong et al. 2015; Jean et al. 2015): by the source word with the largest weight, or by
its entry in the dictionary. What the network reads instead of some words is in reading.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path

import numpy as np

from rnnsearch.arguments import require_texts
from rnnsearch.errors import InputError
from rnnsearch.settings import TranslationSettings
from rnnsearch.text.codec import Codec, EncodedSentence, Term
from rnnsearch.text.formats.lines import plain_field, raw_lines
from rnnsearch.text.language_codes import base
from rnnsearch.text.vocabulary import UNK, UNKNOWN, WordFilter
from rnnsearch.translation.amounts import NAMES
from rnnsearch.translation.case import begun, first_word, in_capitals
from rnnsearch.translation.copied import STAND_INS, enclosed, faithful_words, kind_of
from rnnsearch.translation.dates import written_hours
from rnnsearch.translation.measures import MONEY, hold_measures
from rnnsearch.translation.number_forms import ENGLISH_AND_FRENCH, is_source_number
from rnnsearch.translation.numbers import Numbers
from rnnsearch.translation.reading import in_best_form
from rnnsearch.translation.target_words import (
    RARE,
    Weights,
    Word,
    added,
    beside,
    copy,
    has_text,
    insert,
    reword,
)
from rnnsearch.translation.terms import with_terms
from rnnsearch.translation.word_tables import word_list, word_table

CURRENCIES = {sign: sign for sign in "€$£¥₹₽₩₺¢"} | word_table(
    "euro €, euros €, dollar $, dollars $, pound £, pounds £, livre £, livres £"
)
"""Word of a currency, in English and French → its sign."""
NEAR_MONEY = re.compile(f"{MONEY.pattern}|livre|cent")
PRICED = re.compile(f"[¥₹₽₩₺¢]|{NEAR_MONEY.pattern}|bucks|quid|balle", re.IGNORECASE)
"""What a sentence with an amount of money has."""
PERCENTS = re.compile(r"%|per ?cent|pour ?cent|pct|centage|\bpoint", re.IGNORECASE)
"""What a sentence with a percentage has, in English and French."""
MONEY_SIGNS = word_list("EUR € $ £")
MONEY_NAMES = word_list("euro euros dollar dollars")
SIZED = re.compile("m[io]ll|bill|trill|thousand|mille|[km]$")
"""A size behind a number: no currency is added between them."""


@dataclass(frozen=True)
class Faithful:
    """Replaces words of a translation, as the settings say.

    known: the words of the training data's target text. If None, no word counts as invented.
    dictionary: source word → the word to write instead of it.
    """

    source: Codec
    known: WordFilter | Set[str] | None
    dictionary: Mapping[str, str]
    target_language: str = ""

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target, without their regions."""
        return base(self.source.tokeniser.language), base(self.target_language)

    def __call__(
        self,
        sentence: EncodedSentence,
        words: Sequence[str],
        alignment: Weights,
        confidence: Sequence[float],
        settings: TranslationSettings,
    ) -> tuple[list[str], Weights, list[float], list[str]]:
        """Returns the words, their alignment (words, source words + 1), their confidence, and the
        numbers to check. Terms of a glossary are written whatever the settings. The words of a
        given beginning stay as they are."""
        made, end = list(map(Word, words, alignment, confidence)), sentence.beginning.kept
        if settings.faithful and end:
            end = self._whole(sentence, made, end)
        kept, made = made[:end], made[end:]
        doubtful: list[str] = []
        if settings.replace_unk and not settings.faithful:
            made = list(self._unknown(sentence, made))
        made = with_terms(sentence, kept, made)
        if settings.faithful:
            sentence = self._unwritten(sentence, kept)
            if len(sentence.ids) == 1:  # the network translated an empty sentence
                made = []
            made, doubtful = self._numbers(sentence, self._verbatim(sentence, made))
            made = self._unread(sentence, list(self._invented(sentence, made)))
            made = _currencies(sentence, self._capitals(sentence, made), self.languages)
            _add_currencies(sentence, made, NAMES.get(self.languages[1], {}))
            if not kept:
                _begun_large(sentence, made)
        made = kept + made
        rows = np.array([word.row for word in made], dtype=np.float32).reshape(
            -1, len(sentence.words) + 1
        )
        return [word.text for word in made], rows, [word.confidence for word in made], doubtful

    def _whole(self, sentence: EncodedSentence, made: Sequence[Word], kept: int) -> int:
        """Returns the end of the beginning, with the rest of a source number that it breaks off
        in."""
        copied = self._equal(sentence, made)
        while kept < len(copied) and copied[kept] is not None and copied[kept] == copied[kept - 1]:
            kept += 1
        return kept

    def _equal(self, sentence: EncodedSentence, made: Sequence[Word]) -> list[int | None]:
        """Returns, for each word, the place of the source number that it is equal to."""
        places = [place for place, text in enumerate(sentence.words) if is_source_number(text)]
        numbers = Numbers(sentence.words, places, list(made), self.languages)
        numbers.keep_equal()
        return [word.copied for word in numbers.made]

    def _unwritten(self, sentence: EncodedSentence, kept: Sequence[Word]) -> EncodedSentence:
        """Returns the sentence with "" for the words that the beginning has already, in numbers by
        their value: nothing copies them again."""
        words = list(sentence.words)
        for word, place in zip(kept, self._equal(sentence, kept), strict=True):
            if place is not None or word.text in words:
                words[words.index(word.text) if place is None else place] = ""
        return replace(sentence, words=words)

    def _unknown(self, sentence: EncodedSentence, made: list[Word]) -> Iterator[Word]:
        """Replaces `<unk>`. A word that attended to no source word stays."""
        for word in made:
            if UNKNOWN in word.text and word.row[:-1].any():
                text = sentence.words[int(np.argmax(word.row[:-1]))]
                word = replace(word, text=self.dictionary.get(text, text))
            yield word

    def _verbatim(self, sentence: EncodedSentence, made: list[Word]) -> list[Word]:
        """Replaces each stand-in by what it stands for, and adds what no word stands for. Where all
        numbers of the source are read and no stand-in is written, a number may be the stand-in."""
        paired, read = enclosed(sentence.words), {word.read for word in made}
        numbers = {
            at
            for at, text in enumerate(sentence.words)
            if is_source_number(text) and kind_of(text) != "front"
        }
        for place, text in _unbound(sentence, made):
            kind = "mark" if place in paired else kind_of(text)
            if kind not in STAND_INS:
                continue
            reading = [
                at for at, word in enumerate(made) if word.read == place and word.copied is None
            ]
            names = [UNKNOWN, *map(str.lower, STAND_INS[kind])]
            found = [at for at in reading if any(name in made[at].text.lower() for name in names)]
            if not found and kind == "number":  # it may be spelt out
                found = sorted(reading, key=lambda at: -made[at].row[place])[:1]
            written = any("XX" in word.text.upper() for word in made)
            free = kind == "hours" or (not written and STAND_INS[kind] and numbers <= read)
            if not found and free:
                found = [at for at in reading if any(map(str.isdecimal, made[at].text))][:1]
            text = written_hours(text, self.languages) if kind == "hours" else text
            if found:
                made[found[0]] = copy(text, [made[found[0]]], place)
                made = [word for at, word in enumerate(made) if at not in found[1:]]
            else:
                insert(made, text, place, len(sentence.words), paired.get(place, range(0)))
        return made

    def _numbers(self, sentence: EncodedSentence, made: list[Word]) -> tuple[list[Word], list[str]]:
        """Holds the numbers to those of the source, and returns those to check
        (translation/numbers.py)."""
        places = [
            place
            for place, text in _unbound(sentence, made)
            if is_source_number(text) and kind_of(text) not in STAND_INS
        ]
        made, doubtful = Numbers(sentence.words, places, made, self.languages).held()
        return made, doubtful + hold_measures(sentence.words, made, self.languages)

    def _invented(self, sentence: EncodedSentence, made: list[Word]) -> Iterator[Word]:
        """Replaces `<unk>` and words that the training data did not have. Of several for one source
        word, the first is replaced and the others are left out. A word that attended to no source
        word stays."""
        sizes = self.source.word_ids(sentence.words)[1]
        copied: set[int | None] = {word.copied for word in made}
        for word in made:
            weights = word.row[:-1]
            known = UNKNOWN not in word.text and self.knows(word.text)
            if word.copied is not None or known or not weights.any():
                yield word
                continue
            rare = [place for place in range(len(weights)) if sizes[place] > 1]
            place = int(np.argmax(weights))
            likeliest = max(rare, key=lambda each: weights[each], default=place)
            place = likeliest if weights[likeliest] >= RARE * weights[place] else place
            text = sentence.words[place]
            if text and place not in copied:
                copied.add(place)
                yield copy(self.dictionary.get(text, text), [word], place)

    def _unread(self, sentence: EncodedSentence, made: list[Word]) -> list[Word]:
        """Adds the source words that the network cannot read at all, where they are missing."""
        ids = np.asarray(sentence.ids[:-1])
        places = np.asarray(sentence.word_of[:-1])
        for place, text in _unbound(sentence, made):
            own = ids[places == place]
            # the start of a word is a subword of its own
            unread = UNK in own and (own != UNK).sum() <= 1
            written = sum(word.text.count(text) for word in made)
            needed = sentence.words[: place + 1].count(text)
            if text and unread and written < needed and all(word.copied != place for word in made):
                insert(made, text, place, len(sentence.words))
        return made

    def _capitals(self, sentence: EncodedSentence, made: list[Word]) -> list[Word]:
        """Restores capitals where a source word was read in lowercase; writes all words in capitals
        if the whole source is in capitals."""
        words = sentence.words
        lowered = {
            place
            for place, word in enumerate(words)
            if len(word) > 3 and word.isupper() and kind_of(word) is None
            if in_best_form(self.source, word, place == first_word(words)) != [word]
        }
        whole = in_capitals(words)
        return [
            (
                replace(word, text=word.text.upper())
                if word.copied is None
                and (whole or (word.read in lowered and word.row.max() > 0.5))
                else word
            )
            for word in made
        ]

    def knows(self, word: str) -> bool:
        """Tells whether the word, in any case, or all of its parts occurred in the training data.
        Words with digits count as known."""
        letters = any(map(str.isalpha, word)) and not any(map(str.isdecimal, word))
        forms = word, word.lower(), word.capitalize()
        if self.known is None or not letters or any(form in self.known for form in forms):
            return True
        parts = [part for part in re.split(r"[-'’./&]", word) if part]
        return len(parts) > 1 and all(self.knows(part) for part in parts)


def _begun_large(sentence: EncodedSentence, made: list[Word]) -> None:
    """Writes a capital at the beginning if the source has one."""
    first = next(filter(has_text, sentence.words), "")
    at = next((at for at, word in enumerate(made) if has_text(word.text)), None)
    if at is not None and made[at].copied is None and first[:1].isupper():
        reword(made, at, begun(made[at].text))


def _own_currency(words: Sequence[str], place: int | None) -> str | None:
    """Returns the sign of the currency of a source number. Pounds may be a weight, *livres*
    books."""
    before, after = ("", "") if place is None else beside(words, place)
    signs = {CURRENCIES.get(before if before in MONEY_SIGNS else ""), CURRENCIES.get(after)}
    weight = CURRENCIES.get(after) == "£" and after != "£"  # the word, not the sign
    return None if weight or len(signs - {None}) != 1 else (signs - {None}).pop()


def _currencies(
    sentence: EncodedSentence, made: list[Word], languages: tuple[str, str]
) -> list[Word]:
    """Leaves out all but one of the currencies beside a number: the last that the source has, or
    the last, and writes the source number's own instead of it; signs of money, and, between English
    and French, names and % if the source has none (a telephone number with EUR)."""
    given = set(map(CURRENCIES.get, sentence.words))
    signs = {at: CURRENCIES.get(word.text.lower()) for at, word in enumerate(made)}
    signs = {at: sign for at, sign in signs.items() if sign}
    digits = {at for at, word in enumerate(made) if any(map(str.isdecimal, word.text))}
    text, names = " ".join(sentence.words), NAMES.get(languages[1], {})
    known = set(languages) == ENGLISH_AND_FRENCH
    units = [] if PRICED.search(text) else [*MONEY_SIGNS, *(MONEY_NAMES if known else ())]
    units += ["%"] if known and not PERCENTS.search(text) else []
    invented = (at for at, word in enumerate(made) if word.text in units)
    extra = {at for at in invented if digits & {at - 1, at, at + 1}}
    for last in sorted(at for at in digits if at + 1 not in digits):
        first = last
        while first - 1 in digits:
            first -= 1
        places = [] if first - 2 in digits else [first - 1]
        places += [last + 1, last + 2] if last + 1 in signs else []
        near = [at for at in places if at in signs]
        kept = max(near, key=lambda at: (signs[at] in given, at), default=None)
        extra.update(at for at in near if at != kept)
        own = _own_currency(sentence.words, made[last].copied)
        if kept is not None and own and signs[kept] != own:
            reword(made, kept, own if made[kept].text in "$£€" else names.get(own, own))
        one = kept == last + 1 == first + 1 and made[last].text == "1"
        if kept is not None and one and made[kept].text in MONEY_NAMES:
            reword(made, kept, made[kept].text.removesuffix("s"))
    return [word for at, word in enumerate(made) if at not in extra]


def _add_currencies(sentence: EncodedSentence, made: list[Word], names: Mapping[str, str]) -> None:
    """Writes the currency of a number of the source behind it where none is near. names: sign → its
    word."""
    for at in reversed(range(len(made))):
        text, place = made[at].text, made[at].copied
        if place is None or not text[-1:].isdecimal():
            continue
        before, after = beside(sentence.words, place)
        # pounds may be a weight
        behind = after == "£" or CURRENCIES.get(after, "£") != "£"
        name = names.get(CURRENCIES[after] if behind else before, "")
        same = [at for at, word in enumerate(made) if word.copied == place]
        ahead = takewhile(lambda word: word.text != "=", made[at + 1 : at + 4])
        near = " ".join(word.text for word in (*made[max(same[0] - 2, 0) : at + 1], *ahead))
        sized = any(SIZED.match(word.text) for word in made[at + 1 : at + 2])
        if name and at == same[-1] and not (sized or NEAR_MONEY.search(near)):
            place += 1 if behind else -1
            name = name.removesuffix("s") if text == "1" else name
            made.insert(at + 1, added(name, place, len(sentence.words)))


def _words_inside(cut: Callable[[str], list[str]], term: str) -> list[str]:
    """Returns the words of a term in front of another: of *Inc.*, which is two words at the end."""
    return cut(f"{term} a")[:-1]


class Glossary:
    """Terms and their translations, of one or several words each. A term in lowercase is found in
    any case."""

    def __init__(self, source: Codec, target: Codec, entries: Mapping[str, str]) -> None:
        require_texts("the glossary", entries)
        for term, other in entries.items():
            if not (source.words(term) and target.words(other)):
                what = f"the glossary has {term!r} → {other!r}"
                raise InputError(what, "write a term and its translation")
        splits: list[Callable[[str], list[str]]] = [source.words, partial(faithful_words, source)]
        splits += [partial(_words_inside, cut) for cut in splits]
        # as it is given
        written = target.tokeniser.words if target.tokeniser.unspaced else str.split
        self.terms = {
            tuple(split(term)): tuple(written(other))
            for split in splits
            for term, other in entries.items()
        }
        self.longest = max(map(len, self.terms), default=0)

    def _translation(self, words: tuple[str, ...]) -> tuple[str, ...] | None:
        return self.terms.get(words) or self.terms.get(tuple(map(str.lower, words)))

    def mark(self, sentence: EncodedSentence) -> EncodedSentence:
        """Finds the terms in a sentence, the longest first where several begin."""
        words, terms, first = sentence.words, [], 0
        while first < len(words):
            for end in range(min(first + self.longest, len(words)), first, -1):
                found = tuple(words[first:end])
                translation = self._translation(found)
                if not translation and end == len(words) and found[-1].endswith("."):
                    *before, last = self._translation((*found[:-1], found[-1][:-1])) or [""]
                    translation = (*before, last.removesuffix(".") + ".") if last else None
                if translation:
                    terms.append(Term(first, end, translation))
                    first = end - 1
                    break
            first += 1
        return replace(sentence, terms=terms)


def _unbound(sentence: EncodedSentence, made: Iterable[Word]) -> list[tuple[int, str]]:
    """Returns the source words, with their places, that are in no term whose translation is
    written."""
    written = {word.copied for word in made}
    bound = {
        place
        for term in sentence.terms
        if term.first in written
        for place in range(term.first, term.end)
    }
    return [(place, text) for place, text in enumerate(sentence.words) if place not in bound]


def _entries(
    path: str | Path, cut: Callable[[str], list[str]], what: str, remedy: str
) -> Iterator[tuple[int, str, str]]:
    """Yields the number and the two fields of every line. A line of a dictionary that `links` wrote
    has the phrase and the translation first. Raises InputError for a line of others."""
    for number, line in enumerate(raw_lines(path), 1):
        columns = line.split("\t")
        found = columns[:2] if len(columns) == 5 else cut(line)
        fields = [plain_field(field, number).strip() for field in found]
        if len(fields) != 2 or not all(fields):
            raise InputError(what, remedy, file=path, line=number)
        yield number, fields[0], fields[1]


def read_glossary(path: str | Path) -> dict[str, str]:
    """Returns the translation of every term. Raises InputError for a line that is not two terms
    with a TAB between them, and for a term with two translations."""
    entries: dict[str, str] = {}
    what, remedy = "is not a source term, a TAB and a target term", "write one term per line"
    for number, term, other in _entries(path, lambda line: line.split("\t"), what, remedy):
        if entries.setdefault(term, other) != other:
            what = f"{term!r} has the translation {entries[term]!r} already"
            raise InputError(what, "give each term one translation", file=path, line=number)
    return entries


def read_dictionary(path: str | Path) -> dict[str, str]:
    """Returns the first translation of every word. Raises InputError for a line that is not two
    words."""
    what, remedy = "is not a source word and a target word", "write two words per line"
    entries: dict[str, str] = {}
    for _, word, other in _entries(path, str.split, what, remedy):
        entries.setdefault(word, other)
    return entries
