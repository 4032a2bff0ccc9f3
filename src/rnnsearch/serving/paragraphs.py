"""A text as the sentences that are translated and the white space between them, which is kept as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from rnnsearch.errors import InputError

_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


class Paragraphs(NamedTuple):
    """gaps[k] stands before sentences[k]; the last gap ends the text. A gap is white space, or empty."""

    sentences: list[str]
    gaps: list[str]

    def joined(self, translated: Sequence[str]) -> str:
        """The translations in place of the sentences."""
        return "".join(part for pair in zip(self.gaps, translated, strict=False) for part in pair) + self.gaps[-1]


def split(text: str, language: str) -> Paragraphs:
    """The sentences of a text; a line break always ends one. `split(text, …).joined(sentences)` is the text.

    language: its code; of one that the splitter does not know, or none, sentences are told by their punctuation.
    """
    sentences: list[str] = []
    gaps = [""]
    for part in _parts(text, language):
        sentence = part.strip()
        if not sentence:
            gaps[-1] += part
            continue
        start = part.index(sentence)
        gaps[-1] += part[:start]
        sentences.append(sentence)
        gaps.append(part[start + len(sentence) :])
    return Paragraphs(sentences, gaps)


def check_splitter() -> None:
    """Raises InputError if the sentence splitter is not installed."""
    _segment("a.", "en")


def _parts(text: str, language: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield from _segment(line, language)
        else:
            yield line


def _segment(line: str, language: str) -> list[str]:
    try:
        from sentencex import segment
    except ImportError:
        raise InputError("the service needs sentencex", remedy="pip install 'rnnsearch[serve]'") from None
    # One plain space for each wide one: the splitter fails on white space of several bytes.
    plain = _WIDE_SPACE.sub(" ", line)
    try:
        parts: list[str] = segment(language or "en", plain)
    except BaseException as error:  # its faults are no Exception
        if type(error).__name__ != "PanicException":
            raise
        return [line]
    if "".join(parts) != plain:  # the splitter keeps everything; if not, one sentence is better than a lost word
        return [line]
    ends = list(accumulate(map(len, parts)))
    return [line[begin:end] for begin, end in pairwise([0, *ends])]
