"""Lines of Moses n-best lists: `id ||| hypothesis ||| features ||| score`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.errors import InputError

SEPARATOR = " ||| "


@dataclass(frozen=True, slots=True)
class NbestEntry:
    """One line of an n-best list. sentence: 0-based line of the source. rest: features and scores of whoever made the list."""

    sentence: int
    text: str
    rest: tuple[str, ...]


def is_nbest(line: str) -> bool:
    """Whether a line is one of an n-best list."""
    number, separator, _ = line.partition(SEPARATOR)
    return bool(separator) and number.strip().isdecimal()


def parse_nbest(lines: Iterable[str], sentences: int, file: str | Path) -> Iterator[NbestEntry]:
    """The candidates, whose numbers must rise and name one of the `sentences` source lines. Raises InputError with the line."""
    before = -1
    for number, line in enumerate(lines, 1):
        if not is_nbest(line):
            raise InputError("is not a line of an n-best list", file=file, line=number, remedy="write id ||| hypothesis ||| …")
        sentence, text, *rest = (field.strip() for field in line.split("|||"))
        if not before <= int(sentence) < sentences:
            what = f"sentence {sentence} of {sentences}" + (f" comes after sentence {before}" if int(sentence) < before else "")
            raise InputError(what, file=file, line=number, remedy="numbers start at 0, in the order of the source lines")
        before = int(sentence)
        yield NbestEntry(before, text, tuple(rest))
