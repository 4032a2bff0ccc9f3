"""Plain data classes that several packages use. They do not import torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import combining

import numpy as np
from numpy.typing import NDArray

from rnnsearch.arguments import require
from rnnsearch.word_links import Link, hard_links

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_IN_JSON = (
    "text tokens source_tokens score log_probabilities confidence doubtful_numbers unknown_words"
    " finished alignment"
)
_DIGITS = 5
_SHOWN_LETTERS = 60


def is_no_letter(character: str) -> bool:
    """Tells whether a character is white space, a joiner, which is in tokens only, or an accent
    that stands alone."""
    return character.isspace() or character == "\u2060" or combining(character) > 0


def after_letters(text: str, count: int, skipped: Callable[[str], bool] = str.isspace) -> int:
    """Returns where the first `count` characters of a text end. skipped: tells which do not
    count."""
    ends = [0, *(place for place, letter in enumerate(text, 1) if not skipped(letter))]
    return ends[min(count, len(ends) - 1)]


def _plain(value: Any) -> Any:
    """Returns lists for arrays, rounded numbers, and None for NaN."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, _DIGITS)
    return value


class Choice(NamedTuple):
    """A word that may come next in a translation, and its probability given all words before it."""

    word: str
    probability: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Translation:
    """One translated sentence, in words.

    text: detokenised target text. tokens: target words, without the end of sentence.
    source_tokens: source words **with** the end of sentence (`</s>`), which the model can attend
    to.
    score: the model's score: log p(y | x), normalised if the search settings say so; with a
    bidirectional decoder, the mean of both directions; NaN, which is not shown, if only the
    alignment was asked for.
    log_probabilities: one per target token of the model (subwords count singly), the end of
    sentence last if it was reached.
    alignment: (len(tokens), len(source_tokens)) float32, the α of Eq. 6 at word level. Rows sum to
    1, except that of the first word in the decoder variant `appendix`, which reads no context: it
    is 0.
    finished: False if the length limit cut it off.
    alternatives: the n-best list without this one, best first.
    parts: number of sentences, or parts of long ones, that were translated by themselves. Each has
    its own end of sentence.
    confidence: confidence of the model in each of `tokens`, from 0 to 1; empty for a given
    translation.
    doubtful_numbers: source numbers whose place in the translation is not certain or that it only
    spells, and numbers of the translation that the source has not in digits (with
    `translation.faithful`).
    unknown_words: words of the given beginning that neither the model knows nor the source has.
    """

    text: str
    tokens: list[str]
    source_tokens: list[str]
    score: float
    log_probabilities: list[float]
    alignment: NDArray[np.float32]
    finished: bool = True
    alternatives: list[Translation] = field(default_factory=list)
    parts: int = 1
    confidence: list[float] = field(default_factory=list)
    doubtful_numbers: list[str] = field(default_factory=list)
    unknown_words: list[str] = field(default_factory=list)

    def __eq__(self, other: object) -> bool:
        """Tells whether both have the same class and equal fields; arrays must have equal shapes
        and numbers."""
        if type(self) is not type(other):
            return False
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b or (a != a and b != b)
            for a, b in pairs
        )

    def __repr__(self) -> str:
        text = (
            self.text if len(self.text) <= _SHOWN_LETTERS else f"{self.text[: _SHOWN_LETTERS - 1]}…"
        )
        sizes = f"{len(self.tokens)} tokens, {len(self.source_tokens)} source tokens"
        more = f", {len(self.alternatives)} alternatives" if self.alternatives else ""
        score = "" if math.isnan(self.score) else f"score {self.score:.4f}, "
        return f"<Translation {text!r}, {score}{sizes}{more}>"

    def _repr_html_(self) -> str:
        """Returns the text, its score and its alignment, for a notebook."""
        from rnnsearch.figure3 import alignment_table

        score = "" if math.isnan(self.score) else f" ({self.score:.3f})"
        return alignment_table(
            self.source_tokens, self.tokens, self.alignment, f"{self.text}{score}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the object that `--json` prints, with plain lists and numbers to five decimals.
        Its alternatives have no alternatives of their own."""
        return self._fields() | {"alternatives": [other._fields() for other in self.alternatives]}

    def _fields(self) -> dict[str, Any]:
        return {name: _plain(getattr(self, name)) for name in _IN_JSON.split()}

    def links(self) -> list[Link]:
        """Returns hard word links: each target word is linked to its strongest source word, unless
        that is the end of sentence."""
        return hard_links(self.alignment)

    def before(self, position: int) -> str:
        """Returns the text before a target word, for `Translator.choices`; 0 is the first word."""
        count = sum(not is_no_letter(one) for one in "".join(self.tokens[:position]))
        end = after_letters(self.text, count, is_no_letter)
        while end and combining(self.text[end : end + 1] or " "):
            end += 1
        return self.text[:end]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draws the alignment as the paper's Figure 3 does, and writes it to `path` (PNG, SVG or
        PDF) if given.

        Raises InputError if matplotlib (extra `plot`) is not installed.
        """
        from rnnsearch.figure3 import alignment_figure
        from rnnsearch.installed import need

        need("plot")
        require("path", path, str, Path, NoneType)
        return alignment_figure(self.source_tokens, self.tokens, self.alignment, path)
