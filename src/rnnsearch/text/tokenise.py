"""Lines to words and back: Moses's tokeniser, or text that is already split by spaces."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rnnsearch.text.moses import Detokeniser, FastMoses

_SPACES = [0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
# No UTF-8 file holds one, but a caller's string may, and no file could be written with it.
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
# All control characters and all Unicode separators, and the zero-width space, separate words. Soft hyphen,
# word joiner and byte order mark go: Moses would make words of them.
_PLAIN = (
    dict.fromkeys([*range(0x20), *range(0x7F, 0xA1), *range(0x2000, 0x200C), *_SPACES], " ") | _SURROGATES
)
_PLAIN |= dict.fromkeys([0xAD, 0x2060, 0xFEFF], "")
# What tokenizer.perl makes of a line before it cuts it: a space of Perl's white space, nothing of the other
# ASCII control characters.
# All else it keeps, and cuts off as words: soft hyphens, joiners, byte order marks, zero-width spaces, the
# control characters above ASCII.
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
        """Returns the words of a line as Moses's tokenizer.perl -no-escape cuts it, character for character:
        for scores that say they are its.

        `words` repairs a line first: it drops invisible characters, which are words here. The script is that
        of early 2018, which leaves the full stop of an abbreviation at the end of a line where it is, as
        sacremoses does.
        """
        plain = line if line.isprintable() else line.translate(_MOSES)
        return self._cased(_moses(self.language).words(plain))

    def _cased(self, words: list[str]) -> list[str]:
        return [word.lower() for word in words] if self.lowercase else words

    def text(self, words: Sequence[str]) -> str:
        """Returns the line that these words make."""
        return " ".join(words) if self.kind == "space" else _moses_back(self.language).line(words)


_moses, _moses_back = functools.cache(FastMoses), functools.cache(Detokeniser)
