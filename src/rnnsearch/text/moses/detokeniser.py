"""Words to a line, as sacremoses's detokeniser does it, which is asked where more than words and the commonest signs are to be joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rnnsearch.text.moses.simple_chunks import LETTERS

if TYPE_CHECKING:
    from sacremoses import MosesDetokenizer

_WORD = f"[{LETTERS}0-9-][{LETTERS}0-9.-]*"
_FORMS = {"en": f"'?{_WORD}", "fr": f"{_WORD}'?", "it": f"{_WORD}'?"}
_OWN_RULES = ("cs", "fi", "ga")  # for numbers, for what follows a colon, and for apostrophes


class Detokeniser:
    """Of one language. Importing sacremoses takes half a second, which most sentences do not need."""

    def __init__(self, language: str) -> None:
        self.language = language
        word = _FORMS.get(language, _WORD)
        self._plain = None if language in _OWN_RULES else re.compile(f"(?:(?:{word}|[.,]+|[?!:;%()]) )*")
        french = language == "fr"  # its signs have a space before them
        self._to_the_left = re.compile(r" ([.,]+|\))(?= )" if french else r" ([.,]+|[)?!:;%])(?= )")
        self._to_the_right = re.compile(r"\( (?![?!:;%])" if french else r"\( ")

    @cached_property
    def reference(self) -> MosesDetokenizer:
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(self.language)

    def line(self, words: Sequence[str]) -> str:
        """The line that these words make, as sacremoses gives it without unescaping."""
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
