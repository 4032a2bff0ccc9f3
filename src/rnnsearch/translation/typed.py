"""What people type instead of what is written: words without accents or apostrophes, or with
letters exchanged, and abbreviations.

page/engine/typed.js has the same rules."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

from rnnsearch.text.codec import Codec
from rnnsearch.text.language_codes import base
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.case import UNREAD, begun, first_word, in_capitals
from rnnsearch.translation.copied import kind_of
from rnnsearch.translation.negation import VOWELS, negate
from rnnsearch.translation.target_words import beside
from rnnsearch.translation.word_tables import word_list, word_table

_NEGATED = word_list("do does did ca wo is are was were has have had could would should")
ABBREVIATIONS = {
    "en": {f"{verb}nt": f"{verb}n't" for verb in _NEGATED}
    | word_table(
        "im I'm, ive I've, youre you're, youve you've, youll you'll, theyre they're, theyve"
        " they've, theyll they'll, weve we've, hes he's, shes she's, thats that's, whats"
        " what's, hows how's, wheres where's, whos who's, theres there's, heres here's, itll"
        " it'll, itd it'd, gonna going to, wanna want to, bday birthday, asap as soon as"
        " possible, u you, r are, ur your, pls please, plz please, thx thanks, thanx thanks,"
        " tmrw tomorrow, tmr tomorrow, ppl people, omg oh my God, idk I don't know, btw by the"
        " way, fyi for your information, nvm never mind, cya see you, cuz because, tho though,"
        " dunno don't know, lemme let me, gimme give me, gotta have to, sry sorry, omw I'm on"
        " my way, lol haha, wassup what's up, alot a lot, aint isn't, hbd happy birthday"
    ),
    "fr": word_table(
        "jai j'ai, cest c'est, quest-ce qu'est-ce, jsuis je suis, chuis je suis, jsais je"
        " sais, chais je sais, jveux je veux, jpeux je peux, ya il y a, ca ça, sil s'il, stp"
        " s'il te plaît, svp s'il vous plaît, bjr bonjour, bsr bonsoir, slt salut, bcp"
        " beaucoup, tjs toujours, pk pourquoi, pq pourquoi, quil qu'il, quils qu'ils, quon"
        " qu'on, quest qu'est, tkt t'inquiète pas, jsp je sais pas, anniv anniversaire, qqn"
        " quelqu'un, qqch quelque chose, rdv rendez-vous, koi quoi, aujourdhui aujourd'hui,"
        " auj aujourd'hui, parceque parce que, pcq parce que, biensur bien sûr, biensûr bien"
        " sûr, peutetre peut-être, ptet peut-être, coute coûte, jtm je t'aime, dsl désolé, mtn"
        " maintenant, tlm tout le monde, qd quand, daccord d'accord, keske qu'est-ce que, pkoi"
        " pourquoi, vrmt vraiment, tfk tu fais quoi, jpp je n'en peux plus, mdr haha, ptdr"
        " haha, lol haha, aprem après-midi, aout août"
    ),
}
"""Language → what is typed, in lowercase → what is read."""
NOUNS_TOO = {"wont": "is are was were his her its their in", "cant": "his her its their in"}
"""Typed word → the words behind which it may be a noun or an adjective."""
SINGLE_LETTERS = {
    "u": "do did can could will would are r have had if see love thank thx miss let's and call"
    " tell text meet want need help for to with about give send show ask wish",
    "r": "how where what who when u you we they",
}
"""Single letter → the words behind which it is read as a word. *u* may begin a line, *r* precede
*u*."""
ACCENTS = word_table("a àâ, c ç, e éèêë, i îï, o ô, u ùûü")
"""Letter of French → the same with each mark that it may have."""
MOST_ACCENTS = (3, 2)
"""Most marks that are added to a word, and to one with more than six letters that may have one."""
PARTICIPLE = re.compile("é(?=s?$)")
"""Because of this ending, *oublie* is not read as *oublié*."""
LONGEST_READ = 24
"""Most letters of a word that is read as another one."""
ELIDED = re.compile(rf"(qu|[ldjmtn]|c(?=[eé])|j(?=\w))([{VOWELS}]\w\w+|(?<=j)\w{{4,}})")
"""A word of French without its apostrophe (*lecole*), or without the *e* of *je* (*jcomprends*)."""
SHORT_ARTICLES = [*"ldmtnc"]
"""Those with which many other words begin: what follows them has to be frequent."""
SHORTEST_DOUBLED, SHORTEST_MISSPELT, LONGEST_MISSPELT = 4, 5, 14
"""Letters from which on a word is read with a letter twice, and with two letters exchanged; longer
ones of at most 14, with a letter more, less or another."""
MISSED_LETTERS = "abcdefghijklmnopqrstuvwxyzàâçéèêëîïôùû"
"""Those that a misspelt word may lack."""
RARE_SUBWORDS = 3
"""Subwords from which on a known word is rare enough to be a misspelt one (*tomorow*)."""
TwoWords = Mapping[str, Sequence[tuple[re.Pattern[str], str]]]
"""Language → two words → the first one as it is written."""
FIRST_TWO: TwoWords = {
    "en": (
        (re.compile("[Ii]ts (?:so|too|not|time|cold|hot|raining|snowing|getting|going)"), "it's"),
        (re.compile("[Ww]ere (?:going|here|late|lost|not|ready|stuck)"), "we're"),
        (re.compile("[Ll]ets .*"), "let's"),
    ),
    "fr": (
        (re.compile("a .*"), "à"),
        (re.compile("[Oo]u (?:est|sont|es|êtes|etes|était|va|vas|suis|puis|peut)"), "où"),
        (re.compile("[Ff]aut .*"), "il faut"),
    ),
}
"""Of the first two words of a line in haste."""
ANY_TWO: TwoWords = {
    "en": (
        (re.compile("[Ii]ts (?:an?|the|my|your|ok|okay)"), "it's"),
        (re.compile("[Ii]ll (?:be|call|come|do|go|have|see|send|take|tell|try|wait)"), "I'll"),
        (re.compile("[Ii]d (?:be|like|love|prefer|rather)"), "I'd"),
    ),
    "fr": (
        (re.compile(r"a (?:demain|bient[oô]t|c[oô]t[eé]|midi|minuit|partir|\d+h\d*)"), "à"),
        (re.compile("[Ss]a (?:va|fait|ira|suffit)"), "ça"),
        (re.compile("[Cc] (?:pas|quoi|qui|bon|bien|cool|vrai|moi|toi)"), "c'est"),
        (re.compile("[Tt] (?:où|ou|là|pas|malade|occupé|prêt)"), "tu es"),
        (re.compile("[Gg] (?:pas|faim|froid|chaud|vu|rien|besoin|envie)"), "j'ai"),
        (re.compile("a (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)"), "à"),
    ),
}
"""Of the first two words of any line, and of any two words of a line in haste."""


@dataclass(frozen=True)
class TypedLine:
    """A source line. accents: words are read with accents, because none has one. hasty: as people
    type, in one case, or with a capital at the beginning and no mark at the end, or with a word
    that is read as another one."""

    codec: Codec
    language: str
    accents: bool
    hasty: bool


def as_written(codec: Codec, words: Sequence[str]) -> dict[int, str]:
    """Returns what is read instead of the words that were typed in haste, by their places."""
    if codec.tokeniser.unspaced or codec.tokeniser.kind == "space":
        return {}
    first, capitals = first_word(words), in_capitals(words)
    language = base(codec.tokeniser.language)
    accents = language == "fr" and unicodedata.is_normalized("NFD", " ".join(words))
    large = [place for place, word in enumerate(words) if word != word.lower()]
    open_end = large == [first] and words[-1][-1:].isalnum() and not words[large[0]].isupper()
    hasty = not large or open_end or capitals
    line, same = TypedLine(codec, language, accents, hasty), [[word] for word in words]
    read = _read_words(line, words, first, capitals)
    if not hasty and read != same:
        read = _read_words(replace(line, hasty=True), words, first, capitals)
    if language == "fr":
        negate(read)
    return {place: codec.text(parts) for place, parts in enumerate(read) if parts != same[place]}


def _read_words(
    line: TypedLine, words: Sequence[str], first: int | None, capitals: bool
) -> list[list[str]]:
    """Returns what is read at each place, but for negations. first: place of the first word.
    capitals: there are no other letters."""
    read: list[list[str]] = []
    for place, word in enumerate(words):
        lower = word.lower()
        name = word != lower and not capitals and (place != first or (word.isupper() and word[1:]))
        text = lower
        if not name and kind_of(word) is None:
            before, after = map(str.lower, beside(words, place))
            text = _of_two(line, f"{word} {after}", place == first)
            text = text or _written(line, lower, before, after, word != lower)
        begin = word[:1].isupper() and (place == first or not capitals)
        changed = line.codec.words(begun(text) if begin else text)
        read.append([word] if text == lower else changed)
    return read


def _of_two(line: TypedLine, words: str, first: bool) -> str:
    """Returns how the first of two words is written if both together tell it; else nothing. first:
    they begin the line."""
    tables = [FIRST_TWO] * (first and line.hasty) + [ANY_TWO] * (first or line.hasty)
    forms = (form for table in tables for form in table.get(line.language, ()))
    return next((text for form, text in forms if form.fullmatch(words)), "")


def _written(line: TypedLine, word: str, before: str, after: str, name: bool) -> str:
    """Returns how a word in lowercase is written. before, after: the words beside it. name: it may
    be a name."""
    codec = line.codec
    if short := ABBREVIATIONS.get(line.language, {}).get(word):
        return short if _is_short(line, word, before, after) else word
    if codec.known is None or not 1 < len(word) <= LONGEST_READ or not word.isalpha():
        return word
    known = word in codec.known
    if known and not line.hasty:
        return word
    size = _size(codec, word)
    found = _accented(codec, word) if line.accents and not (known and size == 1) else []
    if known:
        found = [form for form in found if 2 * _size(codec, form) <= size]
    named = name or word.capitalize() in codec.known or word.upper() in codec.known
    if line.hasty and not (found or named):
        found = _with_apostrophe(line, word) if line.language == "fr" and not known else []
        found = found or _near(codec, word, size)
    return min(found, key=lambda form: _rank(codec, form), default=word)


def _is_short(line: TypedLine, word: str, before: str, after: str) -> bool:
    """Tells whether an entry of ABBREVIATIONS is meant, and no noun or letter."""
    if word in NOUNS_TOO:
        return before not in NOUNS_TOO[word].split()
    if word == "lol":  # it is also the name of a game
        return line.hasty
    alone = (word == "r" and after == "u") or (word == "u" and not before)
    meant = alone or before in SINGLE_LETTERS.get(word, "").split()
    return word not in SINGLE_LETTERS or (line.hasty and meant)


def _with_apostrophe(line: TypedLine, word: str) -> list[str]:
    """Returns what a word of French may be if an apostrophe, or *e* after *j*, is left out."""
    codec, known = line.codec, line.codec.known or ()
    if not (parts := ELIDED.fullmatch(word)):
        return []
    article, rest = parts.groups()
    verb = article == "j" and rest in known
    forms = [rest] * (rest in known)
    forms += _accented(codec, rest) if line.accents and not verb else []
    if article in SHORT_ARTICLES:
        forms = [form for form in forms if form.capitalize() in known and _size(codec, form) == 1]
    return [(f"{article}'" if rest[0] in VOWELS else "je ") + form for form in forms]


def _accented(codec: Codec, word: str) -> list[str]:
    """Returns the known words that differ from this one by accents, not by that of a participle
    alone, and do not have many more subwords."""
    known, most = codec.known or (), _size(codec, word)
    found = (form for form in accented(word) if form in known)
    found = (form for form in found if PARTICIPLE.sub("e", form) != word)
    return [form for form in found if _size(codec, form) <= most + (form.capitalize() in known)]


def accented(word: str) -> Iterator[str]:
    """Yields a word of French with accents on its letters, few of them first."""
    places = [place for place, letter in enumerate(word) if letter in ACCENTS]
    for number in range(1, MOST_ACCENTS[len(places) > 6] + 1):
        for chosen in combinations(places, number):
            for letters in product(*(ACCENTS[word[place]] for place in chosen)):
                changes = dict(zip(chosen, letters, strict=True))
                yield "".join(changes.get(place, letter) for place, letter in enumerate(word))
    if "oe" in word:
        yield word.replace("oe", "œ")


def _near(codec: Codec, word: str, size: int) -> list[str]:
    """Returns what a word of `size` subwords may be misspelt for: known words with a letter twice
    or, if this one is unknown, with two letters exchanged, or once instead of twice, or else
    frequent words with one letter more or less or another vowel."""
    known, small = codec.known or (), len(word) < SHORTEST_MISSPELT
    if len(word) < SHORTEST_DOUBLED or (word in known and size < RARE_SUBWORDS):
        return []
    most = 1 if word in known else max(size - 1, 2)
    forms = _doubled(word) if small or word in known else _respelt(word)
    near = [form for form in forms if form in known and _size(codec, form) <= most]
    if near or word in known or not SHORTEST_MISSPELT < len(word) <= LONGEST_MISSPELT:
        return near
    whole = (form for form in _edited(word) if codec.word_start + form in codec.vocabulary)
    return [form for form in whole if form in known and _size(codec, form) == 1]


def _edited(word: str) -> Iterator[str]:
    """Yields a word with one letter more or less, or with another vowel; the first and the last
    letter are not left out."""
    for at in range(1, len(word) + 1):
        begin, rest = word[:at], word[at:]
        yield from (begin + letter + rest for letter in MISSED_LETTERS)
        if len(rest) > 1:
            yield begin + rest[1:]
        if rest and rest[0] in VOWELS:
            yield from (begin + letter + rest[1:] for letter in VOWELS)


def _doubled(word: str) -> Iterator[str]:
    return (word[:at] + letter + word[at:] for at, letter in enumerate(word))


def _respelt(word: str) -> Iterator[str]:
    """Yields a word with two neighbours exchanged, with a letter twice, or, in a long word, once
    instead of twice."""
    for at, (one, other) in enumerate(pairwise(word)):
        rest = word[at + 2 :]
        if one != other:
            yield word[:at] + other + one + rest
        elif len(word) > SHORTEST_MISSPELT:
            yield word[:at] + one + rest
    yield from _doubled(word)


def _size(codec: Codec, text: str) -> int:
    ids, _ = codec.word_ids(codec.words(text))
    return UNREAD if UNK in ids else len(ids)


def _rank(codec: Codec, text: str) -> tuple[int, bool, int]:
    """Orders forms of a word: the more frequent one has fewer subwords, is known with a capital,
    too, or has frequent subwords."""
    ids, _ = codec.word_ids(codec.words(text))
    return len(ids), text.capitalize() not in (codec.known or ()), max(ids)
