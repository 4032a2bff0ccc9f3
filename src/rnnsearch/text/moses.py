"""Moses's tokeniser: the same words as sacremoses, several times faster.

sacremoses has the rules. It tokenises one space-separated chunk at a time, and its result is cached, because
most chunks of a corpus occur again. Words in Latin letters with punctuation around them are cut without
sacremoses: importing it takes half a second, a fifth of the time until a command's first translation. The
result depends on the surroundings of a chunk in only four ways, which are part of the cache key:

- a comma or an apostrophe at its beginning: whether the line begins there;
- an apostrophe at its end: whether the line ends there;
- a full stop at its end: whether the next chunk begins with a lowercase letter, a digit, or neither, which is
  the same as no next chunk;
- an apostrophe at its end and one at the beginning of the next: once a rule has used the space between them
  for the first, it cannot use it for the second. sacremoses tokenises such lines, which are rare, as a whole.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacremoses import MosesDetokenizer

LETTERS = "A-Za-zÀ-ÖØ-öø-ž"
"""Letters of European languages in Latin script, as the inside of a character class. Both Moses and Python
count them as letters, lowercase or uppercase."""
LATIN = re.compile(f"[{LETTERS}0-9]")
SIGNS = frozenset('"#$%&()*+/:;<=>?@[\\]^_{|}~!«»“”„…–—€°')
"""Punctuation and symbols that are separate words next to a Latin word."""
# Between two letters, with its spaces; elsewhere it stands alone.
_APOSTROPHES = {"en": " '", "fr": "' ", "it": "' "}


class SimpleChunks:
    """Rules that cut a chunk of one word with punctuation around it. alnum, alpha: the insides of character
    classes. sign: a pattern of one character. apostrophe: what replaces an apostrophe between letters.

    prefixes: words whose full stop ends no sentence.
    """

    def __init__(self, alnum: str, alpha: str, sign: str, apostrophe: str, prefixes: frozenset[str]) -> None:
        self._apostrophe, self._prefixes = apostrophe, prefixes
        word, between = f"[{alnum}-]+", f"(?:(?<=[{alpha}])'(?=[{alpha}])[{alnum}-]+)?"
        self._form = re.compile(f"({sign}*)({word}{between})([.,]?)({sign}*)([.,]?)( .?)?")

    @classmethod
    def latin(cls, language: str) -> SimpleChunks:
        """Makes the rules for Latin words from tables that are read without importing sacremoses."""
        signs = "".join(map(re.escape, SIGNS))
        return cls(
            f"{LETTERS}0-9", LETTERS, f"[{signs}]", _APOSTROPHES.get(language, " ' "), prefixes(language)
        )

    def words(self, key: str) -> tuple[str, ...]:
        """Returns the words of a chunk, given as a key of `_ChunkCache`; none for a chunk of another form."""
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
        return (*opening, *words, *closing, last) if last else (*opening, *words, *closing)


@cache
def prefixes(language: str) -> frozenset[str]:
    """Returns Moses's list of a language: words whose full stop ends no sentence, some of them before numbers
    only.

    sacremoses has the lists in a module that imports nothing, which is run alone. If that module is missing,
    all of sacremoses is imported.
    """
    files = _prefix_files()
    if files is None or len(language) > 3:  # a language name instead of a code: sacremoses knows some
        from sacremoses.corpus import NonbreakingPrefixes

        every = list(NonbreakingPrefixes().words(language))
    else:
        text = files.get(f"nonbreaking_prefix.{language}") or files["nonbreaking_prefix.en"]
        every = [line.strip() for line in text.splitlines()]
    return frozenset(
        word.rpartition(" ")[0] if "#NUMERIC_ONLY#" in word else word
        for word in every
        if word and not word.startswith("#")
    )


def _prefix_files() -> dict[str, str] | None:
    """Returns the text of each list by its name; None if this version of sacremoses has them elsewhere."""
    found = find_spec("sacremoses")
    file = Path(found.origin).with_name("_data_nonbreaking_prefixes.py") if found and found.origin else None
    return runpy.run_path(str(file))["NONBREAKING_PREFIXES"] if file and file.exists() else None


class MosesReference:
    """Moses's tokeniser as sacremoses has it. Importing it takes half a second: its regular expressions list
    130,000 letters each. simple: the rules for words in any letters."""

    def __init__(self, language: str) -> None:
        from sacremoses import MosesTokenizer

        self._rules = rules = MosesTokenizer(language)
        # The sets of letters are made once; the original makes one of 130,000 letters at every full stop.
        self.islower = rules.islower = frozenset(rules.IsLower).issuperset
        letters = frozenset(rules.IsAlpha)
        rules.isanyalpha = lambda text: not letters.isdisjoint(text)
        alnum, apostrophe = as_ranges(rules.IsAlnum), " ".join(self.words("a'b"))[1:-1]
        prefixes = frozenset([*rules.NONBREAKING_PREFIXES, *rules.NUMERIC_ONLY_PREFIXES])
        sign = rf"[^{alnum}\s.'`,-]"
        self.simple = SimpleChunks(alnum, as_ranges(rules.IsAlpha), sign, apostrophe, prefixes)

    def words(self, text: str) -> list[str]:
        words: list[str] = self._rules.tokenize(text, escape=False)
        return words


def code_point_ranges(characters: str) -> list[int]:
    """Returns the code points of a set as runs: first, last, first, last, …"""
    ends: list[int] = []
    for code in sorted(set(map(ord, characters))):
        if ends and code == ends[-1] + 1:
            ends[-1] = code
        else:
            ends += [code, code]
    return ends


def as_ranges(characters: str) -> str:
    """Returns a set of letters and digits as ranges for a character class, such as `a-z`. The regular
    expression compiles in a hundredth of the time."""
    ends = map(chr, code_point_ranges(characters))
    return "".join(f"{first}-{last}" for first, last in zip(ends, ends, strict=True))


_CACHE_SIZE = 1 << 17  # chunks; some 25 MB
_LONGEST = 40  # characters of a cached chunk
# Stands for the neighbouring chunks. It is a capital, so that a full stop before it ends a sentence.
_BESIDE = "A"


class FastMoses:
    """The tokeniser of one language. For a language that Moses does not know, it uses the general rules, as
    sacremoses does."""

    def __init__(self, language: str) -> None:
        self.language, self.latin = language, SimpleChunks.latin(language)
        self._cache, self._following = _ChunkCache(self), _Following(self)

    @cached_property
    def reference(self) -> MosesReference:
        """Returns sacremoses's own rules, made when they are first needed."""
        return MosesReference(self.language)

    def words(self, line: str) -> list[str]:
        """Returns the words of a line, as sacremoses gives them without escaping. The line may have no white
        space but spaces."""
        chunks = line.split()
        if not chunks:
            return []
        if "' " in line and " '" in line and "' '" in " ".join(chunks):
            return self.reference.words(line)
        if ". " in line:
            for i, following in enumerate(chunks[1:]):
                if chunks[i][-1] == ".":
                    chunks[i] += self._following[following[0]]
        if chunks[-1][-1] == "'":
            chunks[-1] += " "
        if chunks[0][0] in ",'":
            chunks[0] = " " + chunks[0]
        return list(chain.from_iterable(map(self._cache.__getitem__, chunks)))


class _ChunkCache(dict[str, tuple[str, ...]]):
    """Cache: chunk → its words. A key is a chunk and the relevant surroundings.

    A space before the chunk: the line begins with it. A space after it: the line ends with it. A space and
    `a` or `0` after it: the next chunk begins with a lowercase letter or a digit. The cache is emptied when
    it is full; frequent chunks soon return.
    """

    def __init__(self, rules: FastMoses) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, key: str) -> tuple[str, ...]:
        rules = self._rules
        words = rules.latin.words(key) or rules.reference.simple.words(key) or self._surrounded(key)
        if len(key) <= _LONGEST:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[key] = words
        return words

    def _surrounded(self, key: str) -> tuple[str, ...]:
        """Returns the words of a chunk in the surroundings that its key describes."""
        chunk, space, following = key.removeprefix(" ").partition(" ")
        if not space:
            following = _BESIDE
        before, after = "" if key[0] == " " else f"{_BESIDE} ", f" {following}" if following else ""
        words = self._rules.reference.words(before + chunk + after)
        return tuple(words[bool(before) : -1 if after else None])


class _Following(dict[str, str]):
    """First character of a chunk → its part of the key of the chunk before, if that ends in a full stop."""

    def __init__(self, rules: FastMoses) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, character: str) -> str:
        known = LATIN.match(character) or character in SIGNS
        small = character.islower() if known else self._rules.reference.islower(character)
        self[character] = " a" if small else " 0" if character in "0123456789" else ""
        return self[character]


_WORD = f"[{LETTERS}0-9-][{LETTERS}0-9.-]*"
_FORMS = {"en": f"'?{_WORD}", "fr": f"{_WORD}'?", "it": f"{_WORD}'?"}
_OWN_RULES = ("cs", "fi", "ga")  # for numbers, for what follows a colon, and for apostrophes


class Detokeniser:
    """The detokeniser of one language. It imports sacremoses, which takes half a second, only for unusual
    sentences."""

    def __init__(self, language: str) -> None:
        self.language = language
        word = _FORMS.get(language, _WORD)
        self._plain = None if language in _OWN_RULES else re.compile(f"(?:(?:{word}|[.,]+|[?!:;%()]) )*")
        french = language == "fr"  # French punctuation has a space before it
        self._to_the_left = re.compile(r" ([.,]+|\))(?= )" if french else r" ([.,]+|[)?!:;%])(?= )")
        self._to_the_right = re.compile(r"\( (?![?!:;%])" if french else r"\( ")

    @cached_property
    def reference(self) -> MosesDetokenizer:
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(self.language)

    def line(self, words: Sequence[str]) -> str:
        """Returns the line that these words make, as sacremoses gives it without unescaping."""
        spaced = "".join(f"{word} " for word in words)
        if self._plain is None or not self._plain.fullmatch(spaced):
            line: str = self.reference.detokenize(list(words), unescape=False)
            return line
        joined = self._to_the_right.sub("(", self._to_the_left.sub(r"\1", spaced)).rstrip()
        if self.language == "en":
            return re.sub(f" ('[{LETTERS}])", r"\1", joined)
        if self.language in ("fr", "it"):
            return re.sub(f"([{LETTERS}]') (?=[{LETTERS}])", r"\1", joined)
        return joined
