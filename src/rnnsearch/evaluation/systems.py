"""Systems under comparison: any file of translations is one, whoever made it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.evaluation.likelihood import Likelihood
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.nbest import is_nbest, parse_nbest


@dataclass(frozen=True, slots=True)
class System:
    """What one system made of a test set.

    hypotheses: one line per sentence, detokenised. run: the folder of the model, for one of ours. likelihood: of the references, under
    that model. nbest: the candidates of every sentence, best first, if the system gave more than one.
    """

    name: str
    hypotheses: list[str]
    run: Path | None = None
    likelihood: Likelihood | None = None
    nbest: list[list[str]] | None = None


def read_system(argument: str, lines: int) -> System:
    """`NAME=FILE`: a file of translations of `lines` sentences, as plain lines or as a Moses n-best list.

    Raises InputError for a missing name or file, another number of lines, an empty file, or sentences that an n-best list leaves out.
    """
    name, separator, file = argument.partition("=")
    if not (separator and name.strip() and file):
        raise InputError(f"{argument!r} is not NAME=FILE", remedy="for example moses=moses.out")
    return hypotheses_of(file, lines, name.strip())


def hypotheses_of(file: str | Path, lines: int, name: str = "") -> System:
    """As `read_system`. The name is the file's, without folders and suffixes, if none is given."""
    text = list(read_lines(file))
    nbest = None
    if text and is_nbest(text[0]):
        nbest = _candidates(text, lines, file)
        text = [candidates[0] for candidates in nbest]
    if not text:
        raise InputError("has no translations", file=file, remedy=f"give one line for each of the {lines:,} sentences")
    if len(text) != lines:
        remedy = "line N must translate line N of the source"
        raise InputError(f"has {_counted(len(text))}, but there are {lines:,} references", file=file, remedy=remedy)
    return System(name or _stem(file), text, nbest=nbest)


def require_different_names(systems: Iterable[System]) -> None:
    """Raises InputError if two systems have one name, since nobody could tell them apart in a table."""
    seen: set[str] = set()
    for system in systems:
        if system.name in seen:
            raise InputError(f"two systems are named {system.name!r}", remedy="give one of them another name with --system NAME=FILE")
        seen.add(system.name)


def _candidates(text: list[str], lines: int, file: str | Path) -> list[list[str]]:
    """The candidates of every sentence of an n-best list, in the order of the list."""
    found = [
        (sentence, [candidate.text for candidate in group])
        for sentence, group in groupby(parse_nbest(text, lines, file), key=lambda candidate: candidate.sentence)
    ]
    for expected in range(lines):
        if expected >= len(found) or found[expected][0] != expected:
            remedy = f"every sentence from 0 to {lines - 1} needs at least one line"
            raise InputError(f"the n-best list has no candidate for sentence {expected}", file=file, remedy=remedy)
    return [candidates for _, candidates in found]


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines:,} lines"


def _stem(file: str | Path) -> str:
    return Path(file).name.split(".")[0] or str(file) if str(file) != "-" else "stdin"
