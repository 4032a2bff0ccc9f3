"""Where a file has the two sides of its pairs: its format, and names of columns, keys or
languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rnnsearch.errors import InputError

Format = Literal["", "lines", "tsv", "tmx", "jsonl"]

LinePair = tuple[str, str]

OPTIONS = (
    ", by --columns SOURCE TARGET, or by --set data.source_language=… and data.target_language=…"
)
"""How to give the places, at the end of a message."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a file, and the places of the two sides in it.

    format: empty = by the file's name. Standard input has none, so that it is a file of lines
    unless the format is given. source, target: a column's number (1-based) or name in TSV, a key in
    JSON lines (`translation.en` for one inside another), a language code in TMX. Both empty = the
    first of `names` that the file has, else the only two columns; in TMX the languages. A TSV file
    with names has them in its first line, which is then no pair. source_language, target_language:
    codes, for the usual names of columns and keys, and for TMX. Raises InputError for an unknown
    format, and for places that cannot be.
    """

    format: Format = ""
    source: str = ""
    target: str = ""
    source_language: str = "en"
    target_language: str = "fr"

    def __post_init__(self) -> None:
        formats = get_args(Format)
        if self.format not in formats:
            remedy = f"name one of: {', '.join(filter(None, formats))}"
            raise InputError(f"there is no format '{self.format}'", remedy)
        if bool(self.source) != bool(self.target) or (self.source and self.source == self.target):
            what = "source and target each need a column, key or language of their own"
            raise InputError(what, "give both, or neither")
        if any(name and not name.strip("0") for name in (self.source, self.target)):
            raise InputError("columns are counted from 1", "give another column")

    def names(self) -> list[tuple[str, str]]:
        """Returns the possible names of columns and keys: the given ones, or else the usual
        ones."""
        if self.source or self.target:
            return [(self.source, self.target)]
        languages = (self.source_language, self.target_language)
        nested = (f"translation.{languages[0]}", f"translation.{languages[1]}")
        return [("source", "target"), ("src", "tgt"), languages, nested]

    def wanted(self) -> str:
        """Returns the possible names as words of a message."""
        return " or ".join(" and ".join(dict.fromkeys(map(repr, pair))) for pair in self.names())


NAMED_LAYOUT = Layout()
"""The layout of files whose own names say it."""
