"""The chunks of a line that Moses's rules cut in the plainest way: signs, or a word with signs on either side and one apostrophe inside."""

from __future__ import annotations

import re
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path

LETTERS = "A-Za-zÀ-ÖØ-öø-ž"
"""Letters of the Latin languages of Europe, as the inside of a character class: to Moses and to Python alike letters, small or large."""
LATIN = re.compile(f"[{LETTERS}0-9]")
SIGNS = frozenset('"#$%&()*+/:;<=>?@[\\]^_{|}~!«»“”„…–—€°')
"""Signs that are words of their own beside a Latin word."""
_APOSTROPHES = {"en": " '", "fr": "' ", "it": "' "}  # between two letters, with its spaces; elsewhere it stands alone


class SimpleChunks:
    """alnum, alpha: the insides of character classes. sign: a pattern of one character. apostrophe: what becomes of one between letters.

    prefixes: words whose full stop ends no sentence.
    """

    def __init__(self, alnum: str, alpha: str, sign: str, apostrophe: str, prefixes: frozenset[str]) -> None:
        self._apostrophe, self._prefixes = apostrophe, prefixes
        word, between = f"[{alnum}-]+", f"(?:(?<=[{alpha}])'(?=[{alpha}])[{alnum}-]+)?"
        self._form = re.compile(f"({sign}*)({word}{between})([.,]?)({sign}*)([.,]?)( .?)?")

    @classmethod
    def latin(cls, language: str) -> SimpleChunks:
        """Of a language's words in Latin letters, by tables that are read without importing sacremoses's rules."""
        signs = "".join(map(re.escape, SIGNS))
        return cls(f"{LETTERS}0-9", LETTERS, f"[{signs}]", _APOSTROPHES.get(language, " ' "), prefixes(language))

    def words(self, key: str) -> tuple[str, ...]:
        """The words of such a chunk, which a key of `FastMoses` tells; none for a chunk of another form."""
        if SIGNS.issuperset(key):
            return tuple(key)
        found = self._form.fullmatch(key)
        if not found or "DOTMULTI" in key:  # sacremoses's own sign for several full stops
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
    """Moses's list of a language: words whose full stop ends no sentence, some of them before numbers only.

    sacremoses keeps the lists in a module that imports nothing. It is run by itself; without it they come from sacremoses as a whole.
    """
    files = _prefix_files()
    if files is None or len(language) > 3:  # a name and not a code: sacremoses knows some
        from sacremoses.corpus import NonbreakingPrefixes

        every = list(NonbreakingPrefixes().words(language))
    else:
        text = files.get(f"nonbreaking_prefix.{language}") or files["nonbreaking_prefix.en"]
        every = [line.strip() for line in text.splitlines()]
    return frozenset(word.rpartition(" ")[0] if "#NUMERIC_ONLY#" in word else word for word in every if word and not word.startswith("#"))


def _prefix_files() -> dict[str, str] | None:
    """Name of a list → its text; None if this sacremoses keeps them elsewhere."""
    found = find_spec("sacremoses")
    file = Path(found.origin).parent / "_data_nonbreaking_prefixes.py" if found and found.origin else None
    if file is None or not file.exists():
        return None
    loader = SourceFileLoader("sacremoses_prefixes", str(file))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    files: dict[str, str] = module.NONBREAKING_PREFIXES
    return files
