"""Texts as sentences and the white space between them, with the beginnings of their
translations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from rnnsearch.records import Translation
from rnnsearch.translation.beginning import by_sentence
from rnnsearch.translation.source_lines import sentences


class Paragraphs(NamedTuple):
    """A text as its sentences and the white space between them.

    gaps[k] is before sentences[k], and the last gap ends the text. A gap is white space, or empty.
    """

    sentences: list[str]
    gaps: list[str]

    def joined(self, translated: Sequence[str]) -> str:
        """Returns the text with the translations in place of the sentences."""
        inner = (gap + sentence for gap, sentence in zip(self.gaps, translated, strict=False))
        return "".join(inner) + self.gaps[-1]


Translated = tuple[Paragraphs, Sequence[Translation]]
"""The sentences of a text, and their translations."""


def split_paragraphs(text: str, language: str) -> Paragraphs:
    """Splits a text into sentences; a line break always ends one. language: its code, or "".

    `split(…).joined(sentences)` restores the text.
    """
    found: list[str] = []
    gaps = [""]
    for part in chain.from_iterable(
        sentences(line, language) for line in text.splitlines(keepends=True)
    ):
        if sentence := part.strip():
            before, _, after = part.partition(sentence)
            gaps[-1] += before
            found.append(sentence)
            gaps.append(after)
        else:
            gaps[-1] += part
    return Paragraphs(found, gaps)


def by_line(text: Paragraphs, typed: str, language: str) -> list[str]:
    """Cuts the beginning of a text's translation into those of its sentences. Line N of the
    beginning belongs to line N of the text, without blank lines; a line break ends its
    sentences."""
    counts: list[int] = []
    for gap in text.gaps[:-1]:
        counts += [0] * (not counts or len(f"{gap}.".splitlines()) > 1)
        counts[-1] += 1
    *whole, last = f"{typed}.".splitlines()
    lines = [*(f"{line}\n" for line in whole if line.strip()), last[:-1]]
    size = len(counts) - 1
    lines = [*lines[:size], "".join(lines[size:])]
    cut = (by_sentence(*pair, language) for pair in zip(lines, counts, strict=False))
    begun = [*chain.from_iterable(cut)]
    return begun + [""] * (len(text.sentences) - len(begun))
