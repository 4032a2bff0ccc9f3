"""A word dictionary for unknown words: two words per line, source and target, with a space or a TAB between them."""

from __future__ import annotations

from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_lines


def read_dictionary(path: str | Path) -> dict[str, str]:
    """The first translation of every word. Raises InputError for a line that is not two words."""
    entries: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if len(fields) != 2:
            raise InputError("is not a source word and a target word", file=path, line=number, remedy="write two words per line")
        entries.setdefault(*fields)
    return entries
