"""What people type instead of what is written: words without accents, apostrophes or a letter,
abbreviations, and French without *ne*, which networks of written text then translate without *not*.

page/engine/typed.js has the same rules."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product

from rnnsearch.text.codec import Codec
from rnnsearch.text.language_codes import base
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.case import first_word, in_capitals
from rnnsearch.translation.copied import kind_of

VERBS = ("do", "does", "did", "ca", "wo", "is", "are", "was", "were", "has", "have", "had")
TYPED = {
    "en": {
        **{f"{verb}nt": f"{verb}n't" for verb in VERBS},
        **{"couldnt": "couldn't", "wouldnt": "wouldn't", "shouldnt": "shouldn't"},
        **{"im": "I'm", "ive": "I've", "youre": "you're", "youve": "you've", "youll": "you'll"},
        **{"theyre": "they're", "theyve": "they've", "theyll": "they'll", "weve": "we've"},
        **{"hes": "he's", "shes": "she's", "thats": "that's", "whats": "what's", "hows": "how's"},
        **{"wheres": "where's", "whos": "who's", "theres": "there's", "heres": "here's"},
        **{"itll": "it'll", "itd": "it'd", "gonna": "going to", "wanna": "want to"},
        **{"bday": "birthday", "msg": "message", "asap": "as soon as possible"},
        **{"u": "you", "r": "are", "ur": "your", "pls": "please", "plz": "please"},
        **{"thx": "thanks", "thanx": "thanks", "tmrw": "tomorrow", "ppl": "people"},
    },
    "fr": {
        **{"jai": "j'ai", "cest": "c'est", "quest-ce": "qu'est-ce", "jsuis": "je suis"},
        **{"chuis": "je suis", "jsais": "je sais", "chais": "je sais", "jveux": "je veux"},
        **{"jpeux": "je peux", "ya": "il y a", "ca": "ça", "sil": "s'il", "stp": "s'il te plaît"},
        **{"svp": "s'il vous plaît", "bjr": "bonjour", "bsr": "bonsoir", "slt": "salut"},
        **{"bcp": "beaucoup", "tjs": "toujours", "pk": "pourquoi", "pq": "pourquoi"},
        **{"quil": "qu'il", "quils": "qu'ils", "quon": "qu'on", "quest": "qu'est"},
        **{"tkt": "t'inquiète pas", "jsp": "je sais pas", "anniv": "anniversaire"},
        **{"qqn": "quelqu'un", "qqch": "quelque chose", "rdv": "rendez-vous", "koi": "quoi"},
    },
}
"""Language → what is typed, in lowercase → what is read."""
ACCENTS = {
    "fr": {"a": "àâ", "c": "ç", "e": "éèêë", "i": "îï", "o": "ô", "u": "ùûü"},
    "es": {"a": "á", "e": "é", "i": "í", "n": "ñ", "o": "ó", "u": "úü"},
    "it": {"a": "à", "e": "èé", "i": "ì", "o": "ò", "u": "ù"},
    "pt": {"a": "ãáàâ", "c": "ç", "e": "éê", "i": "í", "o": "õóô", "u": "ú"},
    "ro": {"a": "ăâ", "i": "î", "s": "ș", "t": "ț"},
}
"""Language → letter → the same with each mark that it may have."""
MOST_ACCENTS = (3, 2)
"""Of a word, and of one with more than six letters that may have one."""
PARTICIPLE = re.compile("é(?=s?$)")
"""What a participle of French has for another form's *e*: *oublié*, *oublie*."""
VOWELS = "aeiouyhàâéèêëîïôùû"
ELIDED = re.compile(rf"(qu|[ldjmtn]|c(?=[eé])|j(?=\w))([{VOWELS}]\w\w+|(?<=j)\w{{4,}})")
"""A word of French without its apostrophe (*lhotel*), or without the *e* of *je* (*jcomprends*)."""
SHORTEST_MISSPELT = 5
"""Fewest letters of a word that is read with two letters exchanged, or one once or twice."""
Pairs = Mapping[str, Sequence[tuple[re.Pattern[str], str]]]
"""Language → two words → the first one as it is written."""
BEGINNINGS: Pairs = {
    "en": (
        (re.compile(r"[Ii]ts (?:very|so|time|cold|hot|\w+ing)"), "it's"),
        (re.compile("[Ww]ere (?:going|here|late|lost|not|ready|stuck)"), "we're"),
        (re.compile("[Ll]ets .*"), "let's"),
    ),
    "fr": (
        (re.compile("a .*"), "à"),
        (re.compile("[Oo]u (?:est|sont|es|êtes|etes|était|va|vas|suis|puis|peut)"), "où"),
        (re.compile("[Ff]aut .*"), "il faut"),
    ),
}
"""Of the first two words of a line."""
PAIRS: Pairs = {
    "en": (
        (re.compile("[Ii]ts (?:an?|the|not|too|my|your|ok|okay)"), "it's"),
        (re.compile("[Ii]ll (?:be|call|come|do|go|have|see|send|take|tell|try|wait)"), "I'll"),
        (re.compile("[Ii]d (?:be|like|love|prefer|rather)"), "I'd"),
    ),
    "fr": (
        (re.compile(r"a (?:demain|bient[oô]t|c[oô]t[eé]|midi|minuit|partir|\d+h\d*)"), "à"),
        (re.compile("a (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)"), "à"),
    ),
}
"""Of any two words."""
NEGATIONS = ("pas", "rien", "jamais")
BEFORE_NEGATION = ("même", "meme", "vraiment", "toujours", "encore", "peut-être", "surtout")
"""Words between a verb and its negation."""
SUBJECTS = ("je", "j'", "tu", "il", "elle", "on", "nous", "vous", "ils", "elles", "ça", "c'", "qui")
OBJECTS = (
    *("me", "m'", "te", "t'", "se", "s'", "le", "la", "l'", "les", "lui", "leur", "y", "en"),
    *("nous", "vous"),
)
WHOLE = {"j'": "je", "c'": "ce"}
SURE_VERBS = (
    *("est", "sont", "était", "étaient", "sera", "seront", "a", "ont", "avait", "avaient"),
    *("va", "vont", "peut", "peuvent", "veut", "veulent", "doit", "doivent", "fait", "font"),
    *("marche", "marchent", "fonctionne", "aime", "aiment", "vient", "viennent"),
)
"""Verbs that are negated whatever their subject is."""


def as_typed(codec: Codec, words: Sequence[str]) -> dict[int, str]:
    """Returns what is read instead of the words that were typed in haste, by their places."""
    language = base(codec.tokeniser.language)
    if codec.tokeniser.unspaced or codec.tokeniser.kind == "space":
        return {}
    first, capitals = first_word(words), in_capitals(words)
    bare = not any(unicodedata.normalize("NFD", word) != word for word in words)
    hasty = all(word == word.lower() for word in words)
    read: list[list[str]] = []
    for place, word in enumerate(words):
        lower = word.lower()
        name = word != lower and not capitals and place != first
        text = lower
        if not name and kind_of(word) is None:
            after = words[place + 1].lower() if place + 1 < len(words) else ""
            text = _of_two(language, f"{word} {after}", place == first)
            text = text or _written(codec, lower, bare, hasty, word != lower)
        same = text == lower
        large = word[:1].isupper() and (place == first or not capitals)
        changed = text[:1].upper() + text[1:] if large else text
        read.append([word] if same else codec.words(changed))
    if language == "fr":
        _negate(read)
    return {
        place: codec.text(parts)
        for place, (word, parts) in enumerate(zip(words, read, strict=True))
        if parts != [word]
    }


def _of_two(language: str, words: str, first: bool) -> str:
    """Returns how the first of two words is written if both together tell it; else nothing. first:
    they begin the line."""
    forms = (*(BEGINNINGS.get(language, ()) if first else ()), *PAIRS.get(language, ()))
    return next((text for form, text in forms if form.fullmatch(words)), "")


def _written(codec: Codec, word: str, bare: bool, hasty: bool, name: bool) -> str:
    """Returns how a word in lowercase is written. bare: no word of the line has an accent. hasty:
    none has a capital. name: the word may be a name."""
    language = base(codec.tokeniser.language)
    if (short := TYPED.get(language, {}).get(word)) and (len(word) > 1 or hasty):
        return short
    if codec.known is None or len(word) < 2 or not word.isalpha():
        return word
    known, has_accents = codec.known, bare and language in ACCENTS
    if word in known and not has_accents:
        return word
    size = _size(codec, word)
    sure = word in known and size == 1
    found = _accented(codec, word, language) if has_accents and not sure else []
    if word in known:
        found = [form for form in found if 2 * _size(codec, form) <= size]
        found = [form for form in found if PARTICIPLE.sub("e", form) != word]
    elif not (found or name or word.capitalize() in known or word.upper() in known):
        if language == "fr" and (parts := ELIDED.fullmatch(word)):
            article, rest = parts.groups()
            verb = article == "j" and rest in known
            forms = [rest, *(_accented(codec, rest, language) if has_accents and not verb else [])]
            forms = [form for form in forms if form in known]
            forms = [form for form in forms if article == "j" or form.capitalize() in known]
            whole = "je " if rest[0] not in VOWELS else f"{article}'"
            found = [whole + form for form in forms]
        if not found and len(word) >= SHORTEST_MISSPELT:
            found = [form for form in _respelt(word) if form in known]
            found = [form for form in found if _size(codec, form) < size]
    return min(found, key=lambda form: _rank(codec, form), default=word)


def _accented(codec: Codec, word: str, language: str) -> list[str]:
    """Returns the known words that differ from this one by accents and do not have many more
    subwords."""
    known, most = codec.known or (), _size(codec, word)
    found = [form for form in accented(word, language) if form in known]
    return [form for form in found if _size(codec, form) <= most + (form.capitalize() in known)]


def accented(word: str, language: str) -> Iterator[str]:
    """Yields a word with accents on its letters, few of them first."""
    marks = ACCENTS.get(language, {})
    places = [place for place, letter in enumerate(word) if letter in marks]
    for number in range(1, MOST_ACCENTS[len(places) > 6] + 1):
        for chosen in combinations(places, number):
            for letters in product(*(marks[word[place]] for place in chosen)):
                changes = dict(zip(chosen, letters, strict=True))
                yield "".join(changes.get(place, letter) for place, letter in enumerate(word))
    if language == "fr" and "oe" in word:
        yield word.replace("oe", "œ")


def _respelt(word: str) -> Iterator[str]:
    """Yields a word with two neighbours exchanged, with a letter twice, or once instead of
    twice."""
    for at, (one, other) in enumerate(pairwise(word)):
        rest = word[at + 2 :]
        yield word[:at] + (one + rest if one == other else other + one + rest)
    for at, letter in enumerate(word):
        yield word[:at] + letter + word[at:]


def _size(codec: Codec, text: str) -> int:
    ids, _ = codec.word_ids(codec.words(text))
    return 1000 if UNK in ids else len(ids)


def _rank(codec: Codec, text: str) -> tuple[int, bool, int]:
    """Orders forms of a word: the more frequent one has fewer subwords, is known with a capital,
    too, or has frequent subwords."""
    ids, _ = codec.word_ids(codec.words(text))
    return len(ids), text.capitalize() not in (codec.known or ()), max(ids)


def _negate(read: list[list[str]]) -> None:
    """Adds *ne* to the subject of each verb that has *pas*, *rien* or *jamais* without it. read:
    the words that are read, by place."""
    flat = [(place, at) for place, parts in enumerate(read) for at in range(len(parts))]
    text = [read[place][at].lower() for place, at in flat]
    changes: list[tuple[int, list[str]]] = []
    for at, word in enumerate(text):
        idiom = word == "pas" and text[at + 1 : at + 2] in (["mal"], ["à"])
        plus = word == "plus" and (text[at - 1] in ("peux", "peut") or text[:at] == ["y", "a"])
        there = {"ne", "n'", "n"} & {*text[max(0, at - 5) : at]}
        if there or idiom or not (word in NEGATIONS or plus):
            continue
        verb = at - 1
        while verb > 0 and text[verb] in BEFORE_NEGATION:
            verb -= 1
        begin = verb
        while begin > 0 and text[begin - 1] in OBJECTS and text[begin - 1] not in SUBJECTS:
            begin -= 1
        if begin > 1 and text[begin - 1] in OBJECTS and text[begin - 2] in SUBJECTS:
            begin -= 1  # il nous voit pas
        if verb < 0 or not text[verb].replace("-", "").isalpha():
            continue
        ne = "n'" if text[begin][0] in VOWELS else "ne"
        subject = text[begin - 1] if begin else ""
        ever = word == "jamais" and begin > 1 and text[begin - 2] == "que"
        if subject in SUBJECTS and not ever:
            changes.append((begin - 1, [WHOLE.get(subject, subject), ne]))
        elif begin < verb and begin == 0 and text[0] == "t'":  # t'as pas, t'inquiète pas
            you = verb == 1 and text[verb].endswith("s")
            after = "n'" if text[1][0] in VOWELS else "ne"
            changes.append((0, ["tu", after] if you else ["ne", "t'"]))
        elif begin < verb and text[begin] == "y":
            changes.append((begin, ["il", "n'", "y"]))
        elif text[verb] == "faut":
            changes.append((verb, ["il", "ne", "faut"]))
        elif begin and text[verb] in SURE_VERBS and (text[verb], word) != ("a", "jamais"):
            changes.append((begin, [ne, text[begin]]))
    for at, parts in reversed(changes):
        place, part = flat[at]
        large = read[place][part][:1].isupper()
        parts[0] = parts[0].capitalize() if large else parts[0]
        read[place][part : part + 1] = parts
