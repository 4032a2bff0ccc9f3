"""TSV and CSV: a record is a line of columns, in CSV perhaps several lines."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import InputWarnings, plain, plain_field, raw_lines
from rnnsearch.text.formats.readers.layout import EMPTY_LINE, Layout, LinePair

_Rows = Iterator[tuple[int, list[str]]]
_Clean = Callable[[str, int, InputWarnings], str]


def read_tsv(path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings) -> Iterator[LinePair]:
    """Columns between TABs. Nothing is quoted: a quotation mark is a character of the text. An empty line is a pair of empty sides.

    Raises InputError, with the line, for a line that lacks a column, besides what `read_lines` raises.
    """
    rows = ((number, line.split("\t")) for number, line in enumerate(raw_lines(path, source_warnings), 1))
    return _pairs(rows, plain, path, layout, source_warnings, target_warnings)


def read_csv(path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings) -> Iterator[LinePair]:
    """Columns between commas as in RFC 4180: a quoted one may hold commas, doubled quotation marks, and line breaks, which become spaces.

    Raises InputError as `read_tsv` does, and for quotation marks that do not fit, with the line where the record begins.
    """
    return _pairs(_csv_rows(path, source_warnings), plain_field, path, layout, source_warnings, target_warnings)


def _csv_rows(path: str | Path, warnings: InputWarnings) -> _Rows:
    reader = csv.reader((_csv_line(line) for line in raw_lines(path, warnings)), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            remedy = "write quotation marks inside quoted text twice, and close the quoted text"
            raise InputError(f"the record that begins here is not valid CSV: {error}", file=path, line=number, remedy=remedy) from None
        yield number, row


def _csv_line(line: str) -> str:
    """The line with its end. For csv a lone carriage return ends a record; here it is a control character, so it becomes another one."""
    body = line.removesuffix("\r")
    return body.replace("\r", "\x1a") + line[len(body) :] + "\n"


def _pairs(
    rows: _Rows, clean: _Clean, path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings
) -> Iterator[LinePair]:
    places: tuple[int, int] | None = None
    for number, cells in rows:
        if places is None:
            places, named = _places(cells, layout, path, number)
            if named:
                source_warnings.note("line of column names", number)
                continue
        if "".join(cells) in ("", "\r") and len(cells) < 2:
            source_warnings.note(EMPTY_LINE, number)
            yield "", ""
            continue
        if len(cells) <= max(places):
            what = f"has {len(cells)} column{'s' * (len(cells) != 1)}, but column {max(places) + 1} is needed"
            raise InputError(what, file=path, line=number, remedy="correct or delete the line, or give other columns")
        yield clean(cells[places[0]], number, source_warnings), clean(cells[places[1]], number, target_warnings)


def _places(first: list[str], layout: Layout, path: str | Path, number: int) -> tuple[tuple[int, int], bool]:
    """((index of the source column, of the target column), whether the first line holds names)"""
    if layout.source.isdecimal() and layout.target.isdecimal():
        return (int(layout.source) - 1, int(layout.target) - 1), False
    names = [name.removesuffix("\r") for name in first]
    for source, target in layout.names():
        if source in names and target in names:
            return (names.index(source), names.index(target)), True
    if not layout.source:
        return (0, 1), False
    what = f"the first line does not name the columns '{layout.source}' and '{layout.target}'; it has: {', '.join(names)}"
    raise InputError(what[:300], file=path, line=number, remedy="give columns of this line, or column numbers")
