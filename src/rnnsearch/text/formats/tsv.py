"""Reads TSV: two columns between TABs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rnnsearch.errors import InputError
from rnnsearch.text.formats.layout import Layout, LinePair
from rnnsearch.text.formats.lines import EMPTY_LINE, SideWarnings, plain_line, raw_lines
from rnnsearch.text.formats.opening import FilePath
from rnnsearch.text.language_codes import LANGUAGES, base

QUOTED = "quotation marks around whole cells, which stay (is it quoted as CSV is?)"
_QUOTED_CELL = re.compile('"(?:[^"]|"")*"')
# One word of ASCII characters with a digit or a sign of addresses.
_IDENTIFIER = re.compile(r"(?=.*[0-9/@:#_])[!-~]+")
_SENTENCE = re.compile(r"[,;!?…]|\.$")
_FEW = 20  # pairs of a table from which a column is judged


def read_tsv(path: FilePath, layout: Layout, warnings: SideWarnings) -> Iterator[LinePair]:
    """Yields two columns between TABs. Nothing is quoted: a quotation mark is a character of the
    text, and those around both cells, or around others that are doubled, are noted. An empty line
    is a pair of empty sides.

    Raises InputError, with the line, for a line that lacks a column, and if the columns of the text
    cannot be told, besides what `read_lines` raises.
    """
    columns: tuple[int, int] | None = None
    first: list[LinePair] = []
    names: list[str] = []
    others = False
    for number, line in enumerate(raw_lines(path, warnings[0]), 1):
        fault = partial(InputError, file=path, line=number)
        cells = line.split("\t")
        if line in ("", "\r"):
            warnings[0].note(EMPTY_LINE, number)
            yield "", ""
            continue
        if columns is None:
            columns, named = _columns(cells, layout, fault)
            if named:
                names = [cells[column] for column in columns]
                warnings[0].note("line of column names", number)
                continue
        if len(cells) <= max(columns):
            remedy = (
                "write TABs between the columns; correct or delete the line, or give other columns"
            )
            if cells[-1].startswith('"') and cells[-1].count('"') % 2:
                remedy = "write each pair on one line, without quotation marks around line breaks"
            raise fault(f"has no column {max(columns) + 1}, but only {len(cells)}", remedy)
        pair = [cells[column].removesuffix("\r") for column in columns]
        if not layout.source and pair == names:
            if not first:
                raise _no_text(columns[0], "the same words again and again", path)
            what = f"repeats the names of columns, {pair[0]} and {pair[1]}"
            raise fault(what, "delete the line, or give the numbers of two columns of text")
        quoted = list(filter(_QUOTED_CELL.fullmatch, pair))
        if len(quoted) == 2 or any('""' in cell[1:-1] for cell in quoted):
            warnings[0].note(QUOTED, number)
        source = plain_line(cells[columns[0]], number, warnings[0])
        target = plain_line(cells[columns[1]], number, warnings[1])
        if len(first) < _FEW and not layout.source:
            first.append((source, target))
            others = others or len(cells) > 2
            if len(first) == _FEW:
                _check_text(first, columns, others, path)
        yield source, target
    if others and len(first) < _FEW:
        _check_text(first, columns or (0, 1), others, path)


def _columns(
    cells: list[str], layout: Layout, fault: Callable[..., InputError]
) -> tuple[tuple[int, int], bool]:
    """Returns the columns of both sides, counted from 0, and whether these cells are names of
    columns."""
    header = [cell.strip().casefold() for cell in cells]
    languages = [_language_names(layout.source_language), _language_names(layout.target_language)]
    roles = [{"source", "src"}, {"target", "tgt", "trg"}]
    either = list(map(set.union, languages, roles))
    if layout.source.isdecimal() and layout.target.isdecimal():
        columns = int(layout.source) - 1, int(layout.target) - 1
        there = [dict(enumerate(header)).get(column, "") for column in columns]
        orders = there, there[::-1]  # columns 2 and 1 of a file from the source to the target
        return columns, any(all(map(_is_name, names, either)) for names in orders)
    for source, target in layout.names():
        if source.casefold() in header and target.casefold() in header:
            return (header.index(source.casefold()), header.index(target.casefold())), True
    if not layout.source:
        # Languages alone first: a third column `source` may say where a text comes from.
        for sides in (languages, roles, either):
            found = [[i for i, cell in enumerate(header) if _is_name(cell, side)] for side in sides]
            if [len(places) for places in found] == [1, 1] and found[0] != found[1]:
                return (found[0][0], found[1][0]), True
        if len(cells) < 3 and len(set(map(_is_number, header))) == 1:
            return (0, 1), False
    what = f"does not name columns {layout.wanted()}; it has: {', '.join(cells)}"
    remedy = "give the names or numbers of two columns of text by --columns SOURCE TARGET"
    raise fault(what[:300], remedy)


def _check_text(
    pairs: Sequence[LinePair], columns: tuple[int, int], others: bool, path: FilePath
) -> None:
    """Raises InputError if a column of these first pairs is constant, or holds numbers or
    identifiers below a line that may be its name. others: whether the file has other columns; then
    neither may hold labels, which are a few different cells."""
    for column, cells in zip(columns, zip(*pairs, strict=True), strict=True):
        repeated = len(cells) > 2 and len(set(cells)) <= max(1, others * len(cells) // 3)
        if repeated or (all(_is_number(cell.strip()) for cell in cells[1:]) and len(cells) == _FEW):
            what = "the same words again and again" if repeated else "numbers or identifiers"
            raise _no_text(column, what, path)


def _no_text(column: int, what: str, path: FilePath) -> InputError:
    return InputError(
        f"column {column + 1} holds {what}", "give the numbers of two columns of text", file=path
    )


def _is_number(cell: str) -> bool:
    """Tells whether a cell has no letter, or is an identifier or an address."""
    return not any(map(str.isalpha, cell)) or _IDENTIFIER.fullmatch(cell) is not None


def _language_names(code: str) -> set[str]:
    """Returns the names of a language's columns, in lowercase."""
    name, three = LANGUAGES.get(base(code), (code, code))
    return {code.casefold(), base(code), three, name.casefold()}


def _is_name(cell: str, words: set[str]) -> bool:
    """Tells whether a cell is a name with one of the words, as French, fr-CA, fra_Latn and text_fr
    are for French. What has the punctuation of a sentence is none."""
    parts = re.findall(r"[^\W_]+", cell)
    return (
        0 < len(parts) <= 3
        and not _SENTENCE.search(cell)
        and not any(map(str.isdigit, cell))
        and not words.isdisjoint([*parts, cell])
    )


def column_languages(path: FilePath, layout: Layout) -> list[str]:
    """Returns the codes of the languages that name the columns of a file, in their order."""
    cells = list(map(str.strip, next(raw_lines(path), "").casefold().split("\t")))
    given = [layout.source.casefold(), layout.target.casefold()]
    if all(map(str.isdecimal, given)):
        cells = [cells[int(one) - 1] for one in given if 0 < int(one) <= len(cells)]
    elif all(given) and {*given} <= {*cells}:
        cells = given
    found = (
        [code for code in LANGUAGES if _is_name(cell, _language_names(code))] for cell in cells
    )
    return [codes[0] for codes in found if codes]
