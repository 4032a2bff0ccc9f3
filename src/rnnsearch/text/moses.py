"""Moses's tokeniser: the same words as sacremoses, several times faster.

sacremoses has the rules. It tokenises one space-separated chunk at a time, and its result is
cached, because most chunks of a corpus occur again. Words in Latin letters with punctuation around
them are cut without sacremoses: importing it takes half a second, a fifth of the time until a
command's first translation. The result depends on the surroundings of a chunk in only four ways,
which are part of the cache key:

- a comma or an apostrophe at its beginning: whether the line begins there;
- an apostrophe at its end: whether the line ends there;
- a full stop at its end: whether the next chunk begins with a lowercase letter, a digit, or
  neither, which is the same as no next chunk;
- an apostrophe at its end and one at the beginning of the next: once a rule has used the space
  between them for the first, it cannot use it for the second. sacremoses tokenises such lines,
  which are rare, as a whole.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

SentenceWords = Sequence[str]
LETTERS = "A-Za-zÀ-ÖØ-öø-ž"
"""Letters of European languages in Latin script, as the inside of a character class. Both Moses and
Python count them as letters, lowercase or uppercase."""
LATIN = re.compile(f"[{LETTERS}0-9]")
SIGNS = frozenset('"#$%&()*+/:;<=>?@[\\]^_{|}~!«»“”„…–—€°')
"""Punctuation and symbols that are separate words next to a Latin word."""
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
"""What replaces the characters that a string may contain, but a UTF-8 file cannot."""
_NUMERIC = "#NUMERIC_ONLY#"
# Between two letters, with its spaces; elsewhere it stands alone.
_APOSTROPHES = {"en": " '", "fr": "' ", "it": "' "}


class LatinChunks:
    """Rules that cut a chunk of one Latin word with punctuation around it. prefixes: words whose
    full stop ends no sentence. They come from tables that are read without importing sacremoses."""

    def __init__(self, language: str) -> None:
        self._apostrophe, self._prefixes = _APOSTROPHES.get(language, " ' "), prefixes(language)
        word, sign = f"[{LETTERS}0-9-]+", f"[{''.join(map(re.escape, SIGNS))}]"
        between = f"(?:(?<=[{LETTERS}])'(?=[{LETTERS}]){word})?"
        self._form = re.compile(f"({sign}*)({word}{between})([.,]?)({sign}*)([.,]?)( .?)?")

    def words(self, key: str) -> tuple[str, ...]:
        """Returns the words of a chunk, given as a key of `FastMoses`; none for a chunk of another
        form."""
        if SIGNS.issuperset(key):
            return tuple(key)
        found = self._form.fullmatch(key)
        if not found or "DOTMULTI" in key:  # sacremoses's own mark for several full stops
            return ()
        opening, word, mark, closing, last, following = found.groups()
        words = word.replace("'", self._apostrophe).split(" ")
        if (mark == "." and words[-1] in self._prefixes) or (mark and last and not closing):
            return ()
        if mark == "." and following == " a" and not closing:
            words[-1] += mark
        elif mark:
            words.append(mark)
        return (*opening, *words, *closing, *last)


@cache
def prefixes(language: str) -> dict[str, bool]:
    """Returns Moses's list of a language: word whose full stop ends no sentence → whether that is
    so only before a number.

    sacremoses has the lists in a module that imports nothing, which is run alone. If that module is
    missing, and for the name of a language, of which sacremoses knows some, all of sacremoses is
    imported.
    """
    found = find_spec("sacremoses")
    assert found is not None
    file = Path(str(found.origin)).with_name("_data_nonbreaking_prefixes.py")
    if len(language) > 3 or not file.exists():
        from sacremoses.corpus import NonbreakingPrefixes

        entries = list(NonbreakingPrefixes().words(language))
    else:
        lists = runpy.run_path(str(file))["NONBREAKING_PREFIXES"]
        text = lists.get(f"nonbreaking_prefix.{language}") or lists["nonbreaking_prefix.en"]
        entries = [line.strip() for line in text.splitlines()]
    listed = (
        entry.partition(_NUMERIC)[:2] for entry in entries if entry and not entry.startswith("#")
    )
    # Sorted: a word that is listed in both ways counts as one before numbers.
    return {word.rstrip(): bool(numeric) for word, numeric in sorted(listed)}


FIRST_WORDS = {
    "en": (
        "The This That These Those There It He She They We I You My His Her Its Our Your Their An"
        " In On At If But And So When What Who Where Why How Then After Before Please Thank Yes"
    ),
    "fr": (
        "Le La Les L Il Elle Ils Elles On Nous Vous Je J Tu Ce C Cette Ces Cela Un Une Des Mais Et"
        " En Dans Pour Avec Après Puis Mon Ma Mes Son Sa Ses Notre Leur Si Merci"
    ),
    "de": (
        "Der Die Das Ein Eine Er Sie Es Wir Ich Ihr In Im Am Auf Aber Und Dann Wenn Wer Was Wo"
        " Bitte Danke"
    ),
    "es": (
        "El La Los Las Un Una Él Ella Ellos Se No Pero Y En Es Esto Este Esta Su Mi Si Por Para"
        " Gracias"
    ),
    "it": (
        "Il Lo La I Gli Le L Un Una È Lui Lei Noi Loro Io Ma E In Con Per Se Questo Questa Poi"
        " Grazie"
    ),
}
"""Language → words that often begin a sentence, so that an abbreviation before them may end one."""


_CACHE_SIZE = 1 << 17  # chunks; some 25 MB
_LONGEST_CHUNK = 40  # characters of a cached chunk
# Stands for the neighbouring chunks. It is a capital, so that a full stop before it ends a
# sentence.
_BESIDE = "A"


class FastMoses:
    """The tokeniser of one language. For a language that Moses does not know, it uses the general
    rules, as sacremoses does. whole: whether words are rejoined that sacremoses cuts at marks and
    joiners."""

    def __init__(self, language: str, whole: bool = True) -> None:
        self.language, self.latin = language, LatinChunks(language)
        self._cached = lru_cache(_CACHE_SIZE)(self._chunk)
        self._cached_ending = cache(self._key_ending)
        self._rejoined: Callable[[str, SentenceWords], SentenceWords]
        self._rejoined = WholeWords(language) if whole else lambda text, words: words

    @cached_property
    def _rules(self) -> Any:
        """Returns sacremoses's own rules when they are first needed: importing them takes half a
        second, because their regular expressions list 130,000 letters each."""
        from sacremoses import MosesTokenizer

        rules = MosesTokenizer(self.language)
        # The sets of letters are made once; the original makes one of 130,000 letters at every full
        # stop.
        rules.islower = frozenset(rules.IsLower).issuperset
        letters = frozenset(rules.IsAlpha)
        rules.isanyalpha = lambda text: not letters.isdisjoint(text)
        return rules

    def words(self, line: str) -> list[str]:
        """Returns the words of a line, as sacremoses gives them without escaping. The line may have
        no white space but spaces."""
        chunks = line.split()
        if not chunks:
            return []
        if "' " in line and " '" in line and "' '" in " ".join(chunks):
            return list(self._rejoined(line, self._rules.tokenize(line, escape=False)))
        if ". " in line:
            for i, following in enumerate(chunks[1:]):
                if chunks[i][-1] == ".":
                    chunks[i] += self._cached_ending(following[0])
        if chunks[-1][-1] == "'":
            chunks[-1] += " "
        if chunks[0][0] in ",'":
            chunks[0] = " " + chunks[0]
        chunk_words = self._cached if max(map(len, chunks)) <= _LONGEST_CHUNK else self._chunk
        return list(chain.from_iterable(map(chunk_words, chunks)))

    def _chunk(self, key: str) -> tuple[str, ...]:
        """Returns the words of a chunk. key: the chunk and the relevant surroundings.

        A space before the chunk: the line begins with it. A space after it: the line ends with it.
        A space and `a` or `0` after it: the next chunk begins with a lowercase letter or a digit.
        """
        chunk, space, following = key.removeprefix(" ").partition(" ")
        words: SentenceWords = self.latin.words(key)
        if not words:
            if not space:
                following = _BESIDE
            before = "" if key[0] == " " else f"{_BESIDE} "
            after = f" {following}" if following else ""
            every = self._rules.tokenize(before + chunk + after, escape=False)
            words = every[bool(before) : -1 if after else None]
        return tuple(self._rejoined(chunk, words))

    def _key_ending(self, character: str) -> str:
        """Returns the end of the key of a chunk with a full stop: that of the first character after
        it."""
        known = LATIN.match(character) or character in SIGNS
        small = character.islower() if known else self._rules.islower(character)
        return " a" if small else " 0" if character in "0123456789" else ""


_APOSTROPHES_INSIDE = "az be br cy ga gd gn ht ku mt nl qu so sq sw tr uk"
_INSIDE = {
    **dict.fromkeys(_APOSTROPHES_INSIDE.split(), "['’]"),
    **dict.fromkeys(("he", "yi"), "[\"'’\u05be\u05f3\u05f4]"),
    **{"ca": "['’·]", "oc": "['’·]", "uz": "['’‘]", "el": ",(?=τι)", "hy": "\u058a"},
    **{"fi": ":(?=[a-zåäö])", "sv": ":(?=[a-zåäö])"},
}
"""Language → signs that are parts of a word between two letters, where Moses's rules cut."""
_AFTER = {"he": "\u05f3", "hy": "[\u055a-\u055c\u055e]", "el": "['’]", "mt": "['’]", "gd": "['’]"}
"""Language → signs that are parts of the word before them."""
_COMBINING = "\\p{M}\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_UNUSUAL = "[\u0300-\u1dff\u200c\u200d\u20d0-\u20f0\u2de0-\U0010ffff]"


class WholeWords:
    """Rejoins what Moses's rules cut: combining marks, joiners, parts of emoji, and signs inside
    words."""

    def __init__(self, language: str) -> None:
        self.language = language
        signs = (table[language] for table in (_INSIDE, _AFTER) if language in table)
        self._cut = re.compile("|".join([_UNUSUAL, *signs]))

    @cached_property
    def _whole(self) -> Any:
        import regex

        return regex.compile(self.pattern(self.language))

    @staticmethod
    def pattern(language: str) -> str:
        """Returns a regular expression, for Python and JavaScript, of words that stay whole."""
        alnum = r"[\p{L}\p{N}_]?"
        parts = rf"(?:[{_COMBINING}]|(?<=[\u200c\u200d])[^\s{_COMBINING}])+{alnum}"
        if language in _INSIDE:
            parts += rf"|(?<=\p{{L}}){_INSIDE[language]}\p{{L}}"
        if language in _AFTER:
            parts += f"|{_AFTER[language]}{alnum}"
        return "[\U0001f1e6-\U0001f1ff]{2}|" + rf"\S(?:{parts})+"

    def __call__(self, text: str, words: SentenceWords) -> SentenceWords:
        """Returns the words with their parts together. words: as Moses's rules cut the text."""
        if not self._cut.search(text):
            return words
        joined: list[str] = []
        spans, begin, end, place = self._whole.finditer(text), 0, 0, 0
        for word in words:
            start = text.index(word, place)
            while end <= start and (found := next(spans, None)):
                begin, end = found.span()
            if joined and place == start and begin < start < end:
                joined[-1] += word
            else:
                joined.append(word)
            place = start + len(word)
        return joined


_CURRENCY = "$¢-¥֏؋৲৳৻૱௹฿៛₠-₽꠸﷼﹩＄￠￡￥￦"
_END_MARKS = "…٪،؛؟۔।॥։՝።-፨၊။។៕®™′″"
_CJK = (
    "[\u1100-\u11ff\u2e80-\ua4cf\ua840-\ua87f\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff65-\uffdc"
    "\U00017000-\U00018aff\U0001b000-\U0001b12f\U0001b170-\U0001b2ff\U00020000-\U0002ffff]"
)
KIND = {mark: kind for kind in ("„“”", "‚‘’", "«»", "‹›") for mark in kind}
CLOSED_BY = {"„": "“”", "“": "”", "”": "”", "‚": "‘’", "‘": "’", "’": "’‘", "«": "»", "»": "«"}
CLOSED_BY |= {"‹": "›", "›": "‹"}
"""Opening quotation mark → the marks that may close it. Which marks open depends on the
language."""
_JOINED_WORDS = {
    "en": "s|t|d|m|re|ve|ll",  # isn’t
    "de": "s|n|ne|nem|nen|ner|m",  # geht's
    "ko": (
        "이?라[고는며]?|고|며|는|은|을|를|의|에서?|이|가|와|과|도|로|처럼"
    ),  # particles after a quotation
}
"""Language → words that follow an apostrophe, or in Korean a closing mark, without a space."""
_AMOUNT = rf"[{_CURRENCY}] [.,]?[0-9].*"
_ACRONYM = "[A-ZÀ-ÖØ-Þ]{1,2}"
_CLOSE = {
    "both": (
        rf"{_ACRONYM} & {_ACRONYM}(?:[-.].*)?|(?:US|A|C|CA|HK|NZ) {_AMOUNT}|[{_CURRENCY}] / .+"
        rf"|.*[{LETTERS}0-9] \+ \+|\+ \+ [0-9].*|.*[0-9] ~ [0-9].*"
    ),
    "left": (
        rf"R \$ .*|[nN] ° .*|.*[0-9] ° (?![CFK]\.?$).*|[A-Z] # .*|\+ \+ .*"
        rf'|.*[{LETTERS}0-9] \+ [.,!?)]?|["”»{_CURRENCY}+#°&] -[{LETTERS}].*'
    ),
    "right": (
        rf".* ['’] [0-9]0s|.* ° [CFK]\.?|(?:.*[{LETTERS}]{{2}}|[(,;:–—/]?) [+−] [0-9].*|.* [#~]"
        r" [0-9].*"
        rf"|.* @ [{LETTERS}].*|.* # (?:[^ ]{{5,}}|[^ ]*[^ a-zß-öø-ÿ].*)|.* [{_CURRENCY}]"
        rf" -[{LETTERS}].*"
    ),
}
"""Side on which a sign has no space → the word before it, the sign and the word after it."""
EMPHASIS = r"\*{2,3}|~~"
"""Marks of Markdown on both sides of emphasised words."""
ESCAPE = r"""(?:\\(?:[nrt"'*_]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}))+"""
"""Signs of programs, as \\n."""
_RAISED = "[²³¹⁰⁴-⁹⁺⁻]+"  # m²
_LINK = r"\][(\[].*|\[\^.*\]"  # [words](address), [words][1], words[^1]
_ELIDED = "(?:[A-Za-z]|.*qu|.*ll) ['’] [«“\"]"  # d’« un »
_SHORTENED = "po mo be va da fa sta di to"
SHORTENED = frozenset(_SHORTENED.split())
"""Italian words that end in an apostrophe: un po' di."""


Spaces = tuple[bool, bool]
"""Whether a word has no space before it, and none after it."""
Quotes = dict[str, str]
"""The open quotation marks, marks of emphasis and tags: kind → mark."""


class Detokeniser:
    """The detokeniser of one language: Moses's rules, and some for typographic and other scripts'
    marks.

    page/engine/moses.js has the same rules.
    """

    def __init__(self, language: str) -> None:
        self.language, never = language, "(?!)"
        self.patterns = {
            "opens": r"!?[(\[{¿¡]+",
            "ends": (
                rf"[,.?!:;\\%}}\])]+|[{_END_MARKS}{'·' * (language == 'el')}]+|{_RAISED}|{_LINK}"
            ),
            "raised": _RAISED,
            "emphasis": EMPHASIS,
            "escape": f"\u2060*{ESCAPE}\u2060*",  # with its own spaces
            "tag": r"<(/?)([A-Za-z][\w:-]*)(?:[^\w<>:-].*)?>",  # <b>words</b>
            "spaced": r"[?!:;\\%]" if language == "fr" else never,
            "contraction": f"'[{LETTERS}].*" if language == "en" else never,
            "elision": f".*[{LETTERS}]'" if language in ("fr", "it", "ga") else never,
            "joined": _JOINED_WORDS.get(language, never),
            "internal": _INSIDE.get(language, never),
            "cjk": never if language == "ko" else _CJK,
            **_CLOSE,
            "both": rf"{_CLOSE['both']}|{_ELIDED if language in ('fr', 'it') else never}",
            "right": (
                rf"{_CLOSE['right']}|{'.*' if language == 'en' else '(?:.*[^0-9])?'} {_AMOUNT}"
            ),
        }
        """Regular expressions, for Python and JavaScript, of whole words; `cjk` is one of a
        character, and the last three are of a sign between two words."""
        self._is = {kind: re.compile(pattern).fullmatch for kind, pattern in self.patterns.items()}

    def line(self, words: SentenceWords) -> str:
        """Returns the line that these words make."""
        words = f" {' '.join(words)} ".replace(" @-@ ", "-").split()
        pieces: list[str] = []
        quotes: Quotes = {}
        right = True
        for place, word in enumerate(words):
            left, attached = self._attached(words, place, quotes)
            spaced = self._is["spaced"](word) and not left
            pieces.append(word if (left or right) and not spaced else f" {word}")
            right = attached
        return "".join(pieces).strip()

    def _attached(self, words: SentenceWords, place: int, quotes: Quotes) -> Spaces:
        """Tells whether a word has no space before it, and none after it."""
        word, before, fits = words[place], words[place - 1] if place else "", self._is
        if word.isalnum() and word < "\u1100":  # an ordinary word, or m²
            return bool(fits["raised"](word)), False
        after = words[place + 1] if place + 1 < len(words) else ""
        last, first = before[-1:], after[:1]
        in_number = word in ":–٫٬" and last.isdigit() and first.isdigit()
        if in_number or fits["escape"](word):
            return True, True
        if fits["cjk"](word[0]):
            return bool(fits["cjk"](last)), False
        if fits["opens"](word):
            return False, True
        if word[0] == "<" and (tag := fits["tag"](word)):
            return self._enclosing(tag, words[place + 1 :], quotes)
        if fits["spaced"](word):
            return word in "!?" and last in ("!", "?"), False
        if fits["ends"](word) or (place and fits["contraction"](word)):
            return True, False
        if fits["elision"](word) and first.isalpha():
            return False, True
        if fits["emphasis"](word):
            paired = word in quotes or word in words[place + 1 :]
            return self._toggled(word, quotes) if paired else (False, False)
        if not word.strip("'\"`") or word in KIND:
            return self._quotation(words, place, quotes)
        if word == "—" and self.language == "es":  # it begins speech, or stands around an insertion
            begins = "—" not in quotes and (not place or before in ".?!…»:")
            return (False, True) if begins else self._toggled(word, quotes)
        joins = word in "/_" or (word == "—" and self.language == "en")
        if (joins or (word == "@" and "." in after)) and last.isalnum() and first.isalnum():
            return True, True
        if self.language == "ko" and last in "\"'”’)]»" and fits["joined"](word):
            return True, False
        if word[0].isalnum():
            return False, False
        around = f"{before} {word} {after}"
        if fits["both"](around):
            return True, True
        left = bool(fits["left"](around))
        return left, not left and bool(fits["right"](around))

    def _enclosing(self, tag: re.Match[str], later: SentenceWords, quotes: Quotes) -> Spaces:
        """Does as `_attached` for a tag; one without its counterpart stands alone."""
        closing = f"</{tag[2]}>"
        opened = quotes.pop(closing, "")
        if tag[1]:
            quotes |= {closing: opened[1:]} if opened[1:] else {}
            return bool(opened), False
        if paired := later.count(closing) > len(opened):
            opened += "<"
        quotes |= {closing: opened} if opened else {}
        return False, paired

    def _toggled(self, mark: str, quotes: Quotes) -> Spaces:
        """Closes the mark if it is open, and opens it otherwise."""
        closes = bool(quotes.pop(mark, ""))
        if not closes:
            quotes[mark] = mark
        return closes, not closes

    def _quotation(self, words: SentenceWords, place: int, quotes: Quotes) -> Spaces:
        """Does as `_attached` for quotation marks and apostrophes."""
        word, before, later = words[place], words[place - 1] if place else "", words[place + 1 :]
        after, kind, last = later[0] if later else "", KIND.get(word, word), before[-1:]
        opened, fits = quotes.get(kind, ""), self._is
        if word in "'’" and last.isalnum():
            around = f"{before} {word} {after}"
            joined = bool(fits["both"](around))
            if joined or fits["right"](around):
                return joined, True
            if self.language == "it" and before.lower() in SHORTENED:
                return True, False
            if self.language in ("en", "de"):
                if fits["joined"](after):
                    return True, True
                ends = word == "’" or (self.language == "en" and _possessive(words, place))
                if ends and not opened:
                    return True, False
            elif word == "’" and not (opened or fits["internal"](word)) and after[:1].isalpha():
                return True, True
        if kind == word:
            if last and last in ",.!?…" and not opened and word not in later:
                return True, False  # the quotation began on an earlier line
            return self._toggled(word, quotes)
        if self.language == "fr" and kind == "«»":
            return False, False
        if word in CLOSED_BY.get(opened, ""):
            del quotes[kind]
            return True, False
        if word in "”»’›":
            opens = word != "”" or self.language in ("fi", "sv")
            if word == "’" and last.isalnum() and fits["internal"](word):
                return False, True  # nl: ’s avonds
            if not opens or not any(other in CLOSED_BY[word] for other in later):
                return True, False
        quotes[kind] = word
        return False, True


def _possessive(words: SentenceWords, place: int) -> bool:
    """Tells whether an apostrophe after an s ends a word; else it opens a quotation, which another
    closes."""
    plural = [one.endswith("s") for one, mark in pairwise(words[place - 1 :]) if mark == "'"]
    return all(plural[:2])
