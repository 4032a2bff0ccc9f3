"""The words of a translation, each with the source words that it reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float32]
COPIED = 0.5
"""Confidence of a copied word. The network's probability is that of the word that it replaces, if
any, and says nothing about the copy: in news, half of the copied words are right, whatever it
is."""

RARE = 0.25
"""A rare source word or a number replaces a word if its weight is at least this share of the
largest."""


@dataclass(frozen=True)
class Word:
    """A target word. row: its weights, (source words + 1,). copied: position of the source word
    that it copies, if any."""

    text: str
    row: Weights
    confidence: float
    copied: int | None = None

    @property
    def read(self) -> int | None:
        """Returns the source position with the largest weight; None for the end of sentence or if
        all weights are 0."""
        place = int(np.argmax(self.row))
        return place if self.row[place] > 0 and place < len(self.row) - 1 else None


def word_at(words: Sequence[str], place: int) -> str:
    """Returns the word at a place; nothing outside of the words."""
    return words[place] if 0 <= place < len(words) else ""


def beside(words: Sequence[str], place: int) -> tuple[str, str]:
    """Returns the words before and after a place; nothing outside of the words."""
    return word_at(words, place - 1), word_at(words, place + 1)


def reword(made: list[Word], at: int, text: str) -> None:
    """Writes another text instead of a word."""
    made[at] = replace(made[at], text=text)


def has_text(word: str) -> bool:
    """Tells whether a word has letters or digits."""
    return any(map(str.isalnum, word))


def copy(text: str, run: Sequence[Word], place: int) -> Word:
    """Returns the word that replaces a run of words by the source word at `place`."""
    return Word(text, mean(run), COPIED, place)


def added(text: str, place: int, sources: int) -> Word:
    """Returns a copy of a source word that no word of the network stands for."""
    return Word(text, np.eye(1, sources + 1, place, dtype=np.float32)[0], COPIED, place)


def mean(run: Sequence[Word]) -> Weights:
    """Returns the mean of the words' weights."""
    weights: Weights = np.stack([word.row for word in run]).mean(0, dtype=np.float32)
    return weights


def insert(made: list[Word], text: str, place: int, sources: int, around: range = range(0)) -> None:
    """Inserts a copy of a source word behind the words that read earlier places; an opening tag,
    before the words that read later ones. around: next to the words that read these places, if
    there are any."""
    read = [(at, word.read) for at, word in enumerate(made) if word.read is not None]
    if inner := [at for at, other in read if other in around]:
        at = inner[0] if place < around.start else inner[-1] + 1
    elif re.match(r"<\w.*[^/]>$", text, re.DOTALL):
        at = next((at for at, other in read if other > place), len(made))
    else:
        at = max((at + 1 for at, other in read if other < place), default=0)
    while 0 < at < len(made) and made[at - 1].copied == made[at].copied is not None:
        at += 1  # not inside a number
    made.insert(at, added(text, place, sources))
