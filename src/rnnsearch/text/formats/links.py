"""Reads word links: Pharaoh format, gold links in it, and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import raw_lines
from rnnsearch.text.formats.opening import FilePath
from rnnsearch.word_links import GoldLinks, Link

# At most nine digits: no text has such positions, and a wrong file gives one clear error. A score
# may follow.
_PHARAOH_ITEM = re.compile(
    r"([0-9]{1,9})([-?p])([0-9]{1,9})(?:[:/]-?[0-9]*\.?[0-9]+(?:[eE]-?[0-9]+)?)?"
)
_NUMBERED = re.compile(r"\s*([0-9]{1,9})(?:[:.](?=\s|$)|\s*\|\|\||\s*$|\s+(?=[0-9]+[-?p][0-9]))")
_SCORE = re.compile(r"\s*-?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?\s*")


def read_link_lines(path: FilePath) -> Iterator[str]:
    """Yields the word links of each pair, as a line for `parse_links`. Raises InputError as
    `raw_lines` and `link_fields` do."""
    return link_fields(raw_lines(path), path)


def link_fields(lines: Iterable[str], file: FilePath) -> Iterator[str]:
    """Yields the links of each line of a file, for `parse_links`: without a sentence number before
    them, and without text and score in further fields (fast_align): `source ||| target ||| links`,
    with or without `||| score`, and `links ||| score`.

    Raises InputError, with file and line, if the first line is numbered and a later one is not the
    next.
    """
    start = None
    for number, line in enumerate(lines, 1):
        match = _NUMBERED.match(line)
        if number == 1 and match and int(match[1]) <= 1:
            start = int(match[1])
        if start is not None:
            if match is None or int(match[1]) != number - 1 + start:
                remedy = "number every sentence, in order, or none"
                what = f"does not begin with the sentence's number {number - 1 + start}"
                raise InputError(what, remedy, file=file, line=number)
            line = line[match.end() :]
        fields = line.split("|||")
        if len(fields) in (3, 4):
            line = fields[2]
        elif len(fields) == 2 and _SCORE.fullmatch(fields[1]):
            line = fields[0]
        yield line


def parse_links(line: str, file: FilePath, number: int, *, swapped: bool = False) -> list[Link]:
    """Reads a line of Pharaoh format: `0-0 1-2` is [(0, 0), (1, 2)]; an empty line has no links. A
    score may follow a link: `0-0:0.9`. In a line of JSON, the links are at the key `links`, as such
    text or as [[0, 0], [1, 2]].

    swapped: whether the file lists target-source. file, number: file and line number in messages.
    Raises InputError for an invalid line.
    """
    links = []
    for source, marker, target in _items(line, file, number):
        if marker != "-":
            raise _not_a_link(f"{source}{marker}{target}", file, number)
        links.append((target, source) if swapped else (source, target))
    return links


def parse_gold_links(line: str, file: FilePath, number: int, *, first: int = 0) -> GoldLinks:
    """Reads a line as `parse_links` does; possible links are written `3?4` or `3p4`. first: the
    position of the first word, 0 or 1. Raises InputError for anything else."""
    sure: set[Link] = set()
    possible: set[Link] = set()
    for source, marker, target in _items(line, file, number):
        if min(source, target) < first:
            what = (
                f"the link {source}{marker}{target} is of position 0, but the links count from"
                f" {first}"
            )
            raise InputError(what, "count from 0", file=file, line=number)
        (sure if marker == "-" else possible).add((source - first, target - first))
    return GoldLinks(frozenset(sure), frozenset(possible))


def _items(line: str, file: FilePath, number: int) -> Iterator[tuple[int, str, int]]:
    items = _json_items(line, file, number) if line.lstrip().startswith("{") else line.split()
    for item in items:
        match = _PHARAOH_ITEM.fullmatch(item)
        if match is None:
            raise _not_a_link(item, file, number)
        yield int(match[1]), match[2], int(match[3])


def _json_items(line: str, file: FilePath, number: int) -> list[str]:
    try:
        links = json.loads(line)["links"]
        if isinstance(links, str):
            return links.split()
        return [f"{source!r}-{target!r}" for source, target in links]
    except (ValueError, TypeError, KeyError, RecursionError):
        remedy = 'write an object with the links, for example {"links": [[0, 0], [1, 2]]}'
        raise InputError("is no JSON with word links", remedy, file=file, line=number) from None


def _not_a_link(item: str, file: FilePath, number: int) -> InputError:
    remedy = (
        "write links source-target, counted from 0, for example 0-0 1-2; possible links, 3?4, are"
        " for gold files only"
    )
    shown = item if len(item) <= 30 else item[:29] + "…"
    return InputError(f"{shown!r} is not a link", remedy, file=file, line=number)
