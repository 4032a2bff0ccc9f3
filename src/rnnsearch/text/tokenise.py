"""Splits lines into words and joins them: by Moses's tokeniser, or at spaces."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rnnsearch.text.moses import Detokeniser, FastMoses

_SPACES = [0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
# A caller's string may contain these; a UTF-8 file cannot.
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
# All control characters, Unicode separators and the zero-width space separate words. Soft hyphen, word joiner
# and byte order mark are removed, because Moses would make words of them.
_PLAIN = (
    dict.fromkeys([*range(0x20), *range(0x7F, 0xA1), *range(0x2000, 0x200C), *_SPACES], " ") | _SURROGATES
)
_PLAIN |= dict.fromkeys([0xAD, 0x2060, 0xFEFF], "")
# How tokenizer.perl cleans a line: Perl's white space becomes a space, other ASCII control characters are
# removed.
# All else is kept as words: soft hyphens, joiners, byte order marks, zero-width spaces, control characters
# above ASCII.
_PERL_SPACE = [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, *range(0x2000, 0x200B), *_SPACES]
_MOSES = dict.fromkeys(range(0x20), "") | dict.fromkeys(_PERL_SPACE, " ") | _SURROGATES


@dataclass(frozen=True)
class Tokeniser:
    """Cuts a line into words and joins words to a line; a plain value that can be sent to another process.

    kind: "moses" (as sacremoses, cased, XML left alone) or "space". language: code of the language, for
    "moses" only. lowercase: words are lowercased after the line is split, so that the split does not change.
    No word is empty or contains a space; tabs, control characters and every Unicode separator count as
    spaces.
    """

    kind: Literal["moses", "space"]
    language: str
    lowercase: bool = False

    def words(self, line: str) -> list[str]:
        """Returns the words of a line; none if it is empty."""
        plain = line if line.isprintable() else line.translate(_PLAIN)
        return self._cased(plain.split() if self.kind == "space" else _moses(self.language).words(plain))

    def moses_words(self, line: str) -> list[str]:
        """Returns exactly the words of Moses's tokenizer.perl -no-escape, for scores that are defined by it.

        `words` drops invisible characters first; here they are words. The script is that of early 2018, which
        does not split the full stop from an abbreviation at the end of a line; nor does sacremoses.
        """
        plain = line if line.isprintable() else line.translate(_MOSES)
        return self._cased(_moses(self.language).words(plain))

    def _cased(self, words: list[str]) -> list[str]:
        return [word.lower() for word in words] if self.lowercase else words

    def text(self, words: Sequence[str]) -> str:
        """Joins the words into a line."""
        return " ".join(words) if self.kind == "space" else _moses_back(self.language).line(words)


_moses, _moses_back = functools.cache(FastMoses), functools.cache(Detokeniser)
