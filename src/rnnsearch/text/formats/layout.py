"""What a reader must know about its file: the format, and where in it the two sides stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
        """Returns the names that columns and keys may have: those that were given, else the usual ones."""
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
    """A layout of one text, which stands on both sides of what the reader yields. source: its column or key;
    empty = a usual name."""

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
