"""Finds the columns of a table that are the two sides of a parallel text, also by names of languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from rnnsearch.errors import InputError

SAMPLE = 200
"""Number of first lines from which the columns are found."""

_LANGUAGES = """
    ar ara Arabic, bg bul Bulgarian, bn ben Bengali, ca cat Catalan, cs ces Czech, da dan Danish,
    de deu German, el ell Greek, en eng English, eo epo Esperanto, es spa Spanish, et est Estonian,
    eu eus Basque, fa fas Persian, fi fin Finnish, fr fra French, ga gle Irish, gl glg Galician,
    he heb Hebrew, hi hin Hindi, hr hrv Croatian, hu hun Hungarian, id ind Indonesian, is isl Icelandic,
    it ita Italian, ja jpn Japanese, ko kor Korean, lt lit Lithuanian, lv lav Latvian, mk mkd Macedonian,
    ms msa Malay, mt mlt Maltese, nb nob Norwegian Bokmål, nl nld Dutch, no nor Norwegian, pl pol Polish,
    pt por Portuguese, ro ron Romanian, ru rus Russian, sk slk Slovak, sl slv Slovenian, sq sqi Albanian,
    sr srp Serbian, sv swe Swedish, sw swa Swahili, ta tam Tamil, th tha Thai, tr tur Turkish,
    uk ukr Ukrainian, ur urd Urdu, vi vie Vietnamese, zh zho Chinese
"""
NAMES = {
    code: (name, three) for code, three, name in (w.strip().split(maxsplit=2) for w in _LANGUAGES.split(","))
}
"""Code of a language → its English name, and its code of three letters."""


class SideColumns(NamedTuple):
    """The columns of source and target, counted from 0. named: whether the first line holds names of columns.
    notes: what should be said about the choice."""

    source: int
    target: int
    named: bool = False

    @property
    def notes(self) -> list[str]:
        notes = ["line of column names"] if self.named else []
        if (self.source, self.target) != (0, 1):
            notes.append(f"columns {self.source + 1} and {self.target + 1} taken")
        return notes


def find_columns(
    rows: Sequence[list[str]], names: list[tuple[str, str]], languages: tuple[str, str], path: str | Path
) -> SideColumns:
    """Returns the columns of source and target: those of given numbers or names, those that the first line
    names after the languages, or else the first two that hold text.

    rows: the first rows of the file, without empty ones. names: possible names; a single pair is what the
    user gave. Raises InputError if given names are not there, and if the columns hold numbers, identifiers,
    addresses or a constant instead of two sides.
    """
    given = names[0] if len(names) == 1 else None
    if given and all(map(str.isdecimal, given)):
        return SideColumns(int(given[0]) - 1, int(given[1]) - 1)
    if not rows:
        return SideColumns(0, 1)
    first = [cell.removesuffix("\r") for cell in rows[0]]
    for header in (first, [cell.casefold() for cell in first]):
        for source, target in names:
            if source in header and target in header:
                return SideColumns(header.index(source), header.index(target), named=True)
    if given:
        what = f"the first line does not name the columns '{given[0]}' and '{given[1]}'; it has: "
        remedy = "give columns of this line, or column numbers"
        raise InputError((what + ", ".join(first))[:300], file=path, line=1, remedy=remedy)
    columns = list(zip_longest(*rows, fillvalue=""))
    for sides in ([*map(_language_names, languages)], [{"source", "src"}, {"target", "tgt", "trg"}]):
        places = [[i for i, column in enumerate(columns) if _has_header(column, side)] for side in sides]
        if [len(place) for place in places] == [1, 1] and places[0] != places[1]:
            return SideColumns(places[0][0], places[1][0], named=True)
    return _by_content(rows, path)


def _language_names(code: str) -> set[str]:
    name, three = NAMES.get(code.casefold().split("-")[0], (code, code))
    return {code.casefold(), three, name.casefold()}


def _has_header(column: Sequence[str], words: set[str]) -> bool:
    """Tells whether only the first cell of a column is a name with one of the words, as French, fr-CA,
    fra_Latn and text_fr are for French. A corpus may be about languages, so that all cells have one."""
    names = []
    for text in (cell.strip().casefold() for cell in column):
        parts = re.findall(r"[^\W_]+", text)
        named = 0 < len(parts) <= 3 and not any(map(str.isdigit, text))
        names.append(named and not words.isdisjoint([*parts, text]))
    return names[0] and not any(names[1:])


def _by_content(rows: Sequence[list[str]], path: str | Path) -> SideColumns:
    """Returns the first two columns of text. A first line without numbers, above columns of numbers or
    identifiers, holds names."""
    below = _kinds(rows[1:])
    named = len(rows) > 2 and any(
        kind in (_NUMBERS, _CODES) and _kind([cell], []) == _TEXT
        for kind, cell in zip(below, rows[0], strict=False)
    )
    kinds = below if named else _kinds(rows)
    texts = [column for column, kind in enumerate(kinds) if kind == _TEXT]
    if len(texts) > 1:
        return SideColumns(texts[0], texts[1], named)
    if len(kinds) < 2 or len(set(map(tuple, rows))) < _FEW:
        return SideColumns(0, 1, named)
    found = ", ".join(f"column {number} holds {kind}" for number, kind in enumerate(kinds[:9], 1))
    what = f"does not look like parallel text: {found}"
    remedy = "give two columns of text, or name the columns if they are right after all"
    raise InputError(what, file=path, remedy=remedy)


_TEXT, _NUMBERS, _CODES, _CONSTANT = (
    "text",
    "numbers",
    "identifiers or addresses",
    "the same words again and again",
)
_NOTHING = "nothing"
_FEW = 3  # different rows from which a column can be judged
# One word of ASCII characters with a digit or a sign of addresses.
_CODE = re.compile(r"(?=.*[0-9/@:#_])[!-~]+")


def _kinds(rows: Sequence[list[str]]) -> list[str]:
    different = list(dict.fromkeys(map(tuple, rows)))
    columns = max(map(len, rows), default=0)
    return [_kind([row[i].strip() for row in different if i < len(row)], different) for i in range(columns)]


def _kind(cells: list[str], rows: Sequence[object]) -> str:
    filled = [cell for cell in cells if cell]
    if not filled:
        return _TEXT if len(rows) < _FEW else _NOTHING
    if all(any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell)) for cell in filled):
        return _NUMBERS
    if all(map(_CODE.fullmatch, filled)):
        return _CODES
    if len(rows) >= _FEW and len(set(filled)) <= max(1, len(rows) // 10):
        return _CONSTANT
    return _TEXT
