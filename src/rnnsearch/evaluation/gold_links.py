"""Gold links: Pharaoh lines, JSON lines, TMX and the NAACL 2003 format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.text.formats.readers import read_link_lines
from rnnsearch.text.links import FROM_ZERO, PairWordCounts, count_from_one, given_words
from rnnsearch.word_links import GoldLinks, Link, parse_gold_links

_POSITION = "([0-9]{1,9})"
_NAACL_LINE = re.compile(rf"{_POSITION}\s+{_POSITION}\s+{_POSITION}(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?")


def read_pharaoh(path: str | Path) -> list[set[Link]]:
    """Reads the links of a Pharaoh file, one sentence per line: `i-j`, source-target, 0-based. An empty line
    is a sentence without links. JSON lines and TMX are read as well (`read_link_lines`, `parse_links`).

    Possible links, written `i?j` or `ipj` in gold files, count as links here; `read_gold` keeps them apart.
    Raises InputError with file and line for anything else.
    """
    lines = enumerate(read_link_lines(path), 1)
    return [set(parse_gold_links(line, path, number).possible) for number, line in lines]


def read_gold(
    path: str | Path, *, first: int | None = None, pairs: Sequence[tuple[str, str]] = ()
) -> list[GoldLinks]:
    """Reads gold links in sentence order, from a NAACL file (named .wa or .wa.gz, or recognised by its first
    line) or a file that `read_pharaoh` reads.

    first: the position of the first word in a file of the second kind, 0 or 1; if None, it is 0. pairs: the
    text, if it is known: if `first` is None, InputError is raised for links that seem to count from 1.

    A NAACL line is `sentence source_position target_position [S|P] [confidence]`, 1-based; without a letter
    the link is sure. Position 0 is the empty word: such a line adds no link, but its sentence counts. Blank
    lines are skipped.
    Raises InputError with file and line for a malformed link, and for a NAACL file that leaves out a
    sentence: the n-th entry must belong to the n-th line of the text.
    """
    lines = list(read_link_lines(path))
    if not _is_naacl(lines, path):
        numbered = enumerate(lines, 1)
        found = [parse_gold_links(line, path, number, first=first or 0) for number, line in numbered]
        if first is None and count_from_one(_word_counts(found, pairs)):
            raise from_one(path)
        return found
    sentences = _parse_naacl(lines, path)
    for expected, number in enumerate(sorted(sentences), start=1):
        if number != expected:
            raise InputError(
                f"there is no line for sentence {expected}, but one for sentence {number}",
                file=path,
                remedy=f"number the sentences from 1; write a sentence without links as '{expected} 0 0'",
            )
    return [sentences[number] for number in sorted(sentences)]


def _word_counts(gold: Sequence[GoldLinks], pairs: Sequence[tuple[str, str]]) -> Iterator[PairWordCounts]:
    for links, pair in zip(gold, pairs, strict=False):
        source, target = (len(given_words(line)) for line in pair)
        yield PairWordCounts(list(links.possible), (source, target), (source, target))


def from_one(path: str | Path) -> InputError:
    """Returns the error for gold links that seem to count words from 1."""
    what = "its gold links seem to count words from 1: none has position 0"
    return InputError(what, file=path, remedy="add --gold-from 1, or --gold-from 0 if they count from 0")


def require_same_start(gold: Sequence[GoldLinks], path: str | Path, links: Sequence[set[Link]]) -> None:
    """Raises InputError if links have position 0 and the gold links have not, so that they seem to count from
    1, or the other way round. path: of the gold links."""
    ours = {position for sentence in links for link in sentence for position in link}
    theirs = {position for sentence in gold for link in sentence.possible for position in link}
    if ours and theirs and (0 in ours) != (0 in theirs):
        if 0 in ours:
            raise from_one(path)
        remedy = f"count from 0: {FROM_ZERO}; add --gold-from 0 if they do"
        raise InputError("the links seem to count words from 1: none has position 0", remedy=remedy)


def _is_naacl(lines: Sequence[str], path: str | Path) -> bool:
    if str(path).removesuffix(".gz").endswith(".wa"):
        return True
    first = next((line for line in lines if line.strip()), "")
    return _NAACL_LINE.fullmatch(first.strip()) is not None


def _parse_naacl(lines: Sequence[str], path: str | Path) -> dict[int, GoldLinks]:
    found: dict[int, tuple[set[Link], set[Link]]] = {}
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _NAACL_LINE.fullmatch(line.strip())
        if match is None or int(match[1]) == 0:
            remedy = "write a line as: sentence source_position target_position [S|P], counted from 1"
            raise InputError(
                f"{line.strip()!r} is not a NAACL link", file=path, line=line_number, remedy=remedy
            )
        sentence, source, target = int(match[1]), int(match[2]), int(match[3])
        links = found.setdefault(sentence, (set(), set()))[match[4] == "P"]
        if source > 0 and target > 0:
            links.add((source - 1, target - 1))
    return {sentence: GoldLinks(*map(frozenset, sides)) for sentence, sides in found.items()}
