"""Where the two sides are in the records of a file, and readers of TSV and JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from rnnsearch.errors import InputError
from rnnsearch.text.formats.columns import SAMPLE, find_columns
from rnnsearch.text.formats.lines import InputWarnings, SideWarnings, plain_field, plain_line, raw_lines

Format = Literal["", "lines", "tsv", "tmx", "jsonl"]
LinePair = tuple[str, str]

_EMPTY_ROWS = ([""], ["\r"])

EMPTY_LINE = "empty line"
NO_TEXT = "no text on this side"


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a file, and the places of the two sides in it.

    format: empty = by the file's name. Standard input has none, so that it is a file of lines unless the
    format is given. source, target: a column's number (1-based) or name in TSV, a key in JSON lines
    (`translation.en` for one inside another), a language code in TMX. Both empty = the first of `names` that
    the file has, else the columns that `find_columns` finds; in TMX the languages. A TSV file with names has
    them in its first line, which is then no pair. source_language, target_language: codes, for the usual
    names of columns and keys, and for TMX.
    """

    format: Format = ""
    source: str = ""
    target: str = ""
    source_language: str = "en"
    target_language: str = "fr"

    def names(self) -> list[tuple[str, str]]:
        """Returns the possible names of columns and keys: the given ones, or else the usual ones."""
        if self.source or self.target:
            return [(self.source, self.target)]
        languages = (self.source_language, self.target_language)
        nested = (f"translation.{languages[0]}", f"translation.{languages[1]}")
        return [("source", "target"), ("src", "tgt"), languages, nested]


@dataclass(frozen=True, slots=True)
class OneSide(Layout):
    """A layout of one text: the reader yields it as both sides. source: its column or key; empty = a usual
    name."""

    def names(self) -> list[tuple[str, str]]:
        names = (
            [self.source]
            if self.source
            else ["text", "source", "src", self.source_language, f"translation.{self.source_language}"]
        )
        return [(name, name) for name in names]


Record = dict[str, Any]
_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = object()


def read_tsv(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields two columns between TABs. Nothing is quoted: a quotation mark is a character of the text. An
    empty line is a pair of empty sides.

    Raises InputError, with the line, for a line that lacks a column, besides what `read_lines` and
    `find_columns` raise.
    """
    rows = ((number, line.split("\t")) for number, line in enumerate(raw_lines(path, warnings[0]), 1))
    sample: list[tuple[int, list[str]]] = []
    fault: InputError | None = None
    try:
        sample.extend(islice(rows, SAMPLE))
    except InputError as error:  # the pairs before it come first
        fault = error
    filled = [(number, cells) for number, cells in sample if cells not in _EMPTY_ROWS]
    languages = layout.source_language, layout.target_language
    columns = find_columns([cells for _, cells in filled], layout.names(), languages, path)
    for note in columns.notes:
        warnings[0].note(note, filled[0][0])
    needed = 1 + max(columns.source, columns.target)
    for number, cells in chain(sample, rows):
        if cells in _EMPTY_ROWS:
            warnings[0].note(EMPTY_LINE, number)
            yield "", ""
        elif len(cells) < needed:
            raise _too_few(cells, needed, path, number)
        elif number != filled[0][0] or not columns.named:
            source = plain_line(cells[columns.source], number, warnings[0])
            yield source, plain_line(cells[columns.target], number, warnings[1])
    if fault:
        raise fault


def _too_few(cells: list[str], needed: int, path: str | Path, number: int) -> InputError:
    what = f"has {len(cells)} column{'s' * (len(cells) != 1)}, but column {needed} is needed"
    remedy = "correct or delete the line, or give other columns"
    for sign in (";", '","', "|"):
        if len(cells) == 1 and sign in cells[0]:
            remedy = f"write TABs between the columns, not {sign.strip(chr(34))!r}"
    return InputError(what, file=path, line=number, remedy=remedy)


def read_json_lines(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields the texts at two keys of each object. An empty line is a pair of empty sides; null is an empty
    side.

    Raises InputError as `read_lines` does, and, with the line, for one that is no JSON object, lacks a key or
    has no text there.
    """
    keys: tuple[str, str] | None = None
    for number, line in enumerate(raw_lines(path, warnings[0]), 1):
        if not line.strip(" \t\r"):
            warnings[0].note(EMPTY_LINE, number)
            yield "", ""
            continue
        record = _record(line, path, number)
        keys = keys or _find_keys(record, layout, path, number)
        source = _text_at(record, keys[0], path, number, warnings[0])
        yield source, _text_at(record, keys[1], path, number, warnings[1])


def _find_keys(record: Record, layout: Layout, path: str | Path, number: int) -> tuple[str, str]:
    """Returns the first names of the layout that this record has."""
    for source, target in layout.names():
        if _value(record, source) is not _MISSING and _value(record, target) is not _MISSING:
            return source, target
    wanted = " or ".join(" and ".join(dict.fromkeys(map(repr, pair))) for pair in layout.names())
    what = f"does not have the keys {wanted}; it has: {', '.join(record)}"
    raise InputError(what[:400], file=path, line=number, remedy="give the keys of the text")


def _text_at(record: Record, key: str, path: str | Path, number: int, warnings: InputWarnings) -> str:
    value = _value(record, key)
    if value is None:
        warnings.note(NO_TEXT, number)
        return ""
    if isinstance(value, str):
        if value.isprintable() or not _SURROGATE.search(value):
            return plain_field(value, number, warnings)
        what = f"has an incomplete character (a lone surrogate) at the key '{key}'"
    elif value is _MISSING:
        what = f"does not have the key '{key}'"
    else:
        what = f"has no text at the key '{key}', but {json.dumps(value)[:40]}"
    raise InputError(what, file=path, line=number, remedy="correct or delete it")


def _record(line: str, path: str | Path, number: int) -> Record:
    remedy = "each line must be one JSON object: correct or delete it"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", file=path, line=number, remedy=remedy) from None
    if not isinstance(record, dict):
        raise InputError(f"is JSON, but not an object: {line[:40]}", file=path, line=number, remedy=remedy)
    return record


def _value(record: Record, key: str) -> Any:
    """Returns the value at the key, or, if there is no such key, at the nested keys that its dots
    separate."""
    inner: Any = record
    for step in [key] if key in record else key.split("."):
        if inner is None:
            return None
        inner = inner.get(step, _MISSING) if isinstance(inner, dict) else _MISSING
    return inner
