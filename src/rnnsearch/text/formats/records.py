"""Where the two sides are in the records of a file, and readers of TSV, CSV and JSON lines. The rows of
tables (`arrow`) share the code for records with keys."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import InputWarnings, SideWarnings, plain_field, plain_line, raw_lines

Format = Literal["", "lines", "tsv", "csv", "tmx", "jsonl", "parquet", "dataset"]
LinePair = tuple[str, str]

EMPTY_LINE = "empty line"
NO_TEXT = "no text on this side"


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a file, and the places of the two sides in it.

    format: empty = by the file's name. Standard input has none, so that it is a file of lines unless the
    format is given. source, target: a column's number (1-based) or name in TSV and CSV, a key in JSON lines,
    Parquet and datasets (`translation.en` for one inside another), a language code in TMX. Both empty = the
    first of `names` that the file has, else the first two columns; in TMX the languages. A TSV or CSV file
    with names has them in its first line, which is then no pair. source_language, target_language: codes, for
    the usual names of columns and keys, and for TMX.
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

    def wanted(self) -> str:
        """Returns the names, for a message."""
        return " or ".join(f"'{source}' and '{target}'" for source, target in self.names())

    def remedy(self, kind: str) -> str:
        """Returns the remedy in a message about a file without the names. kind: column or key."""
        return f"give the {kind}s of source and target"


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

    def wanted(self) -> str:
        return " or ".join(f"'{name}'" for name, _ in self.names())

    def remedy(self, kind: str) -> str:
        return f"give the {kind} of the text"


Record = dict[str, Any]
_Rows = Iterator[tuple[int, list[str]]]

_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = object()


def read_tsv(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields two columns between TABs. Nothing is quoted: a quotation mark is a character of the text. An
    empty line is a pair of empty sides.

    Raises InputError, with the line, for a line that lacks a column, besides what `read_lines` raises.
    """
    rows = ((number, line.split("\t")) for number, line in enumerate(raw_lines(path, warnings[0]), 1))
    return _pairs(rows, plain_line, path, layout, warnings)


def read_csv(path: str | Path, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields two columns between commas as in RFC 4180: a quoted one may hold commas, doubled quotation
    marks, and line breaks, which become spaces.

    Raises InputError as `read_tsv` does, and for invalid quotation marks, with the line where the record
    begins.
    """
    return _pairs(_csv_rows(path, warnings[0]), plain_field, path, layout, warnings)


def _csv_rows(path: str | Path, warnings: InputWarnings) -> _Rows:
    reader = csv.reader((_csv_line(line) for line in raw_lines(path, warnings)), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = f"the record that begins here is not valid CSV: {error}"
            remedy = "write quotation marks inside quoted text twice, and close the quoted text"
            raise InputError(what, file=path, line=number, remedy=remedy) from None
        yield number, row


def _csv_line(line: str) -> str:
    """Returns the line with its line feed. To csv, a lone carriage return ends a record; here it is only a
    control character, so it is replaced by another one."""
    body = line.removesuffix("\r")
    return body.replace("\r", "\x1a") + line[len(body) :] + "\n"


def _pairs(
    rows: _Rows,
    clean: Callable[[str, int, InputWarnings], str],
    path: str | Path,
    layout: Layout,
    warnings: SideWarnings,
) -> Iterator[LinePair]:
    places: tuple[int, int] | None = None
    for number, cells in rows:
        if places is None:
            places, named = _places(cells, layout, path, number)
            if named:
                warnings[0].note("line of column names", number)
                continue
        if cells in ([], [""], ["\r"]):
            warnings[0].note(EMPTY_LINE, number)
            yield "", ""
            continue
        if len(cells) <= max(places):
            what = f"has {len(cells)} column{'s' * (len(cells) != 1)}, but column {max(places) + 1} is needed"
            remedy = "correct or delete the line, or give other columns"
            raise InputError(what, file=path, line=number, remedy=remedy)
        source = clean(cells[places[0]], number, warnings[0])
        yield source, clean(cells[places[1]], number, warnings[1])


def _places(first: list[str], layout: Layout, path: str | Path, number: int) -> tuple[tuple[int, int], bool]:
    """Returns (index of the source column, of the target column), and True if the first line holds their
    names."""
    if layout.source.isdecimal() and layout.target.isdecimal():
        return (int(layout.source) - 1, int(layout.target) - 1), False
    names = [name.removesuffix("\r") for name in first]
    for source, target in layout.names():
        if source in names and target in names:
            return (names.index(source), names.index(target)), True
    if not layout.source:
        return (0, 1), False
    what = (
        f"the first line does not name the columns '{layout.source}' and '{layout.target}'; it has: "
        f"{', '.join(names)}"
    )
    remedy = "give columns of this line, or column numbers"
    raise InputError(what[:300], file=path, line=number, remedy=remedy)


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
        keys = keys or find_keys(record, layout, "key", path, number)
        yield texts_at(record, keys, path, number, warnings)


def find_keys(
    record: Record, layout: Layout, kind: str, path: str | Path, number: int | None = None
) -> tuple[str, str]:
    """Returns the first names of the layout that this record has. kind: the word for a key in messages."""
    for source, target in layout.names():
        if _value(record, source) is not _MISSING and _value(record, target) is not _MISSING:
            return source, target
    what = f"does not have the {kind}s {layout.wanted()}; it has: {', '.join(record)}"
    raise InputError(what[:400], file=path, line=number, remedy=layout.remedy(kind))


def texts_at(
    record: Record, keys: tuple[str, str], path: str | Path, number: int, warnings: SideWarnings
) -> LinePair:
    """Returns the texts at the keys, empty for null. Raises InputError for anything else."""
    source = _text_at(record, keys[0], path, number, warnings[0])
    return source, _text_at(record, keys[1], path, number, warnings[1])


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
        what = f"has no text at the key '{key}', but {json.dumps(value, default=str)[:40]}"
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
