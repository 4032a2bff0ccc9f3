"""Reads Moses n-best lists, `id ||| hypothesis ||| features ||| score`, and reranks them by a
model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rnnsearch.errors import InputError

SEPARATOR = " ||| "


class NbestEntry(NamedTuple):
    """One line of an n-best list. sentence: 0-based line of the source. rest: features and scores
    of the system that made the list."""

    sentence: int
    text: str
    rest: tuple[str, ...]


def is_nbest(line: str) -> bool:
    """Tells whether a line has the form of an n-best list's."""
    number, separator, _ = line.partition(SEPARATOR)
    return bool(separator) and number.strip().isdecimal()


def parse_nbest(lines: Iterable[str], sentences: int, file: str | Path) -> Iterator[NbestEntry]:
    """Yields the candidates. Raises InputError, with the line, unless the sentence numbers ascend
    and are below `sentences`."""
    before = -1
    for number, line in enumerate(lines, 1):
        if not is_nbest(line):
            raise InputError(
                "is not a line of an n-best list",
                "write id ||| hypothesis ||| …",
                file=file,
                line=number,
            )
        sentence, text, *rest = (field.strip() for field in line.split("|||"))
        if not before <= int(sentence) < sentences:
            raise InputError(
                f"sentence {sentence} of {sentences}"
                + (f" comes after sentence {before}" if int(sentence) < before else ""),
                "numbers start at 0, in the order of the source lines",
                file=file,
                line=number,
            )
        before = int(sentence)
        yield NbestEntry(before, text, tuple(rest))


def rerank(
    score: Callable[[list[tuple[str, str]]], Sequence[float]],
    source: Sequence[str],
    candidates: Iterable[NbestEntry],
) -> Iterator[str]:
    """Yields the list again, each sentence's candidates by falling score:
    `id ||| hypothesis ||| features rnnsearch= s ||| s`.

    score: function from pairs (source line, translation) to log p(y | x).
    """
    for sentence, group in groupby(candidates, key=lambda candidate: candidate.sentence):
        mine = list(group)
        scores = score([(source[sentence], candidate.text) for candidate in mine])
        for value, candidate in sorted(zip(scores, mine, strict=True), key=lambda pair: -pair[0]):
            others = re.sub(r"\s*\brnnsearch= \S+", "", "".join(candidate.rest[:1]))
            features = f"{others} rnnsearch= {value:.4f}".strip()
            fields = str(sentence), candidate.text, features, f"{value:.4f}"
            yield SEPARATOR.join((*fields, *candidate.rest[2:]))
