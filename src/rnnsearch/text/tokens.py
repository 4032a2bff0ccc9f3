"""Normalises lines, splits them into words and joins words: by Moses's tokeniser, or at spaces."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rnnsearch.text.language_codes import base
from rnnsearch.text.moses import LETTERS, SURROGATES, Detokeniser, FastMoses

WIDTH_FORM = "full-width or half-width form"
FOLDED = {
    "ligature": "\u0132\u0133\u01c4-\u01cc\u01f1-\u01f3\ufb00-\ufb06\ufb13-\ufb17",
    "presentation form": (
        "\ufb50-\ufbb1\ufbd3-\ufc5d\ufc64-\ufd3d\ufd50-\ufd8f\ufd92-\ufdc7\ufdf0-\ufdf9"
        "\ufe80-\ufefc"
    ),
    WIDTH_FORM: "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f\uffa1-\uffdc",
    "mathematical letter": "\U0001d400-\U0001d7ff",
}
"""Kind → characters, as the inside of a character class, that become their compatibility forms
(NFKC)."""
FULL_WIDTH = "\uff01-\uff5e"
"""Full-width punctuation, letters and digits: outside Chinese and Japanese, all become ASCII."""
REPLACED = {
    "unusual space": ("\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000", " "),
    "unusual hyphen": ("\u2010\u2011", "-"),
    "soft hyphen": ("\u00ad", ""),
    "invisible mark": ("\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff", ""),
}
"""Kind → (characters, what replaces each of them)."""
STRAY_JOINER = "(?<![\u0590-\U0010ffff])[\u200c\u200d]"
"""Zero-width joiners where they join nothing: not after a script that uses them, nor after an
emoji."""
COMPOSED = "decomposed character"
ROMANIAN = {"ş": "ș", "ţ": "ț", "Ş": "Ș", "Ţ": "Ț"}
"""Letters with a cedilla, as older keyboards write Romanian → with the comma below of its
spelling."""
FULL_WIDTH_LANGUAGES = ("zh", "yue", "wuu", "ja")

UNSPACED = {
    code: characters
    for codes, characters in {"zh yue wuu bo dz": 1.5, "ja": 2.0, "th lo km my": 4.0}.items()
    for code in codes.split()
}
"""Languages written without spaces → how many of its characters make about one word."""
SPACE = "␣"
"""Begins a word of unspaced text that has a space before it."""


def changes(language: str) -> dict[str, tuple[str, str | None]]:
    """Returns, for each kind of change before NFC, a regular expression (for Python and JavaScript)
    and its replacement; None for the compatibility form."""
    kinds: dict[str, tuple[str, str | None]] = {
        kind: (f"[{some}]", None) for kind, some in FOLDED.items()
    }
    if base(language) not in FULL_WIDTH_LANGUAGES:
        kinds[WIDTH_FORM] = (f"[{FULL_WIDTH}{FOLDED[WIDTH_FORM]}]", None)
    kinds |= {kind: (f"[{some}]", text) for kind, (some, text) in REPLACED.items()}
    if base(language) == "ro":
        for old, new in ROMANIAN.items():
            kinds[f"{old} for {new}"] = f"{old}|{unicodedata.normalize('NFD', old)}", new
    return kinds | {"stray joiner": (STRAY_JOINER, "")}


@functools.cache
def _compiled(
    language: str,
) -> tuple[re.Pattern[str], dict[str, tuple[re.Pattern[str], str | None]]]:
    kinds = changes(language)
    every = re.compile("|".join(pattern for pattern, _ in kinds.values()))
    return every, {kind: (re.compile(pattern), text) for kind, (pattern, text) in kinds.items()}


def normalise(line: str, language: str = "", counts: Counter[str] | None = None) -> str:
    """Returns the line in one spelling: Unicode's NFC, and the tables above.

    language: of the line; Chinese and Japanese keep full-width punctuation. counts: the number of
    changes of each kind is added to it.
    """
    if line.isascii():
        return line
    every, kinds = _compiled(base(language))
    if every.search(line):
        for kind, (pattern, text) in kinds.items():
            line, changed = pattern.subn(_compatible if text is None else text, line)
            if changed and counts is not None:
                counts[kind] += changed
    if unicodedata.is_normalized("NFC", line):
        return line
    composed = unicodedata.normalize("NFC", line)
    if counts is not None:
        counts[COMPOSED] += max(1, len(line) - len(composed))
    return composed


_LETTERS_IN_ONE = re.compile(f"[{FOLDED['ligature']}{FOLDED['presentation form']}]")


def composed(line: str) -> str:
    """Returns the line in NFC and without ligatures; unlike `normalise`, for scores."""
    if line.isascii():
        return line
    return unicodedata.normalize("NFC", _LETTERS_IN_ONE.sub(_compatible, line))


def _compatible(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", found.group())


_SEPARATORS = [0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
# Control characters and Unicode separators separate words; so does the zero-width space of spaced
# text.
_SEPARATED = dict.fromkeys([*range(0x20), *range(0x7F, 0xA1), *_SEPARATORS], " ") | SURROGATES
_SEPARATED |= dict.fromkeys([0xAD, 0x2060, 0xFEFF], "")  # Moses would make words of them
_SPACED = _SEPARATED | {0x200B: " "}
# How tokenizer.perl cleans a line: Perl's white space becomes a space, other ASCII control
# characters are removed. All else is kept as words: soft hyphens, joiners, byte order marks,
# zero-width spaces, control characters above ASCII.
_MOSES = dict.fromkeys(range(0x20), "") | dict.fromkeys([*range(0x09, 0x0E), 0x20, 0x85, 0xA0], " ")
_MOSES |= dict.fromkeys(_SEPARATORS, " ") | SURROGATES
_DOTS = str.maketrans("Iİ", "ıi")


@dataclass(frozen=True)
class Tokeniser:
    """Cuts a line into words and joins words to a line; a plain value that can be sent to another
    process.

    kind: "moses" (as sacremoses, cased, XML left alone) or "space". language: code of the language,
    for "moses" only. lowercase: words are lowercased after the line is split, so that the split
    does not change.
    runs: text without spaces is cut at punctuation and changes of script, for subwords that cut it
    further; otherwise it is cut into characters, and Latin words and numbers. normalised: whether
    lines are normalised first. french: whether `repair` repairs French spelling.

    No word is empty or contains a space; tabs, control characters and every Unicode separator count
    as spaces. Moses's tokeniser does not know combining marks and joiners; here they never end a
    word.
    """

    kind: Literal["moses", "space"]
    language: str
    lowercase: bool = False
    runs: bool = False
    normalised: bool = True
    french: bool = False

    @property
    def unspaced(self) -> bool:
        """Tells whether the language is written without spaces, so that Moses's rules do not
        apply."""
        return self.kind == "moses" and base(self.language) in UNSPACED

    @property
    def unit(self) -> str:
        """Returns the name of its words in reports: in text without spaces, they are none."""
        return ("clauses" if self.runs else "characters") if self.unspaced else "words"

    def words(self, line: str) -> list[str]:
        """Returns the words of a line; none if it is empty."""
        if self.normalised:
            line = normalise(line, self.language)
        if not line.isprintable():
            line = line.translate(_SEPARATED if self.unspaced else _SPACED)
        if self.kind == "space":
            return self._cased(line.split())
        if self.unspaced:
            return self._cased(_unspaced(line, self.runs))
        return self._cased(_moses(base(self.language), True).words(line))

    def length(self, words: Sequence[str]) -> float:
        """Returns the number of words; of text without spaces, an estimate by its characters."""
        return sum(map(len, words)) / UNSPACED[base(self.language)] if self.unspaced else len(words)

    def link_words(self, line: str) -> list[str]:
        """Returns the words that links count: those of `words`, but characters of unspaced text."""
        return [word.removeprefix(SPACE) for word in replace(self, runs=False).words(line)]

    def moses_words(self, line: str) -> list[str]:
        """Returns exactly the words of Moses's tokenizer.perl -no-escape, for scores that are
        defined by it.

        `words` normalises; here invisible characters are words. The script is that of early 2018,
        which does not split the full stop from an abbreviation at the end of a line; nor does
        sacremoses.
        """
        plain = line if line.isprintable() else line.translate(_MOSES)
        return self._cased(_moses(base(self.language), False).words(plain))

    def cased(self, text: str) -> str:
        """Returns the text in lowercase if words are; in Turkish and Azerbaijani, I becomes ı."""
        if not self.lowercase:
            return text
        return (text.translate(_DOTS) if base(self.language) in ("tr", "az") else text).lower()

    def _cased(self, words: list[str]) -> list[str]:
        return list(map(self.cased, words)) if self.lowercase else words

    def text(self, words: Sequence[str]) -> str:
        """Joins the words into a line."""
        if self.kind == "space":
            return " ".join(words)
        if self.unspaced:
            return "".join(words).replace(SPACE, " ").strip()
        return _moses_back(base(self.language)).line(words)


def given_words(line: str) -> list[str]:
    """Returns the words between spaces, as aligners split them. A no-break space or a soft hyphen
    does not end a word."""
    return [token for token in line.split(" ") if token]


def _unspaced(line: str, runs: bool) -> list[str]:
    found = _unspaced_words(runs)(" ".join(line.replace(SPACE, "_").split()))
    return [space.replace(" ", SPACE) + word for space, word in found]


@functools.cache
def _unspaced_words(runs: bool) -> Callable[..., list[tuple[str, str]]]:
    import regex

    latin = rf"[{LETTERS}0-9]+(?:[.,][0-9]+)*"
    # A character with marks, what a joiner, virama or coeng stacks on it, and a vowel that is
    # written before it; a Tibetan syllable.
    one = r"[เ-ไເ-ໄ]?\S(?:\p{M}|[\u200c\u200d\U0001f3fb-\U0001f3ff]|(?<=[\u1039\u17d2\u200d])\S)*"
    syllable = r"[\u0f40-\u0fbc]+[\u0f0b\u0f0c]?"
    run = rf"(?:(?![{LETTERS}0-9])[\p{{L}}\p{{M}}\p{{N}}\u200c\u200d\u0f0b\u0f0c])+"
    words = regex.compile(rf"([ \u200b]?)({latin}|{run if runs else syllable}|{one})")
    find: Callable[..., list[tuple[str, str]]] = words.findall
    return find


_moses, _moses_back = functools.cache(FastMoses), functools.cache(Detokeniser)
