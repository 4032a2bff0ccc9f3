"""Readers of parallel texts: two files of lines, TSV, JSON lines and TMX. Each yields pairs of
lines; the N-th pair is always the N-th record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rnnsearch.errors import InputError, escaped
from rnnsearch.text.formats.json_lines import read_json_lines
from rnnsearch.text.formats.layout import NAMED_LAYOUT, Format, Layout, LinePair
from rnnsearch.text.formats.lines import NO_LINES, UNREPORTED, SideWarnings, read_pairs
from rnnsearch.text.formats.opening import STDIN, FilePath, text_suffix, texts_in_zip
from rnnsearch.text.formats.tmx import read_tmx, unit_languages
from rnnsearch.text.formats.tsv import column_languages, read_tsv

BILINGUAL: dict[Format, Callable[[FilePath, Layout, SideWarnings], Iterator[LinePair]]] = {
    "tsv": read_tsv,
    "tmx": read_tmx,
    "jsonl": read_json_lines,
}
"""Format of a bilingual file → its reader."""

_SUFFIXES: dict[str, Format] = {f".{name}": name for name in BILINGUAL}
_CONVERT = (
    "write it as TSV or JSON lines; the page on getting corpora has the three lines that do it"
)
_NOT_READ = NO_LINES | dict.fromkeys((".csv", ".parquet", ".arrow"), _CONVERT)
_NOT_READ[".json"] = (
    "write a JSON array as .jsonl, one object on each line; for such lines add --format jsonl"
)


class ParallelText(NamedTuple):
    """One parallel text. name: its name in reports and messages."""

    name: str
    reader: Callable[[SideWarnings], Iterator[LinePair]]

    def pairs(self, warnings: SideWarnings = UNREPORTED) -> Iterator[LinePair]:
        """Reads the pairs from the first on, and notes warnings about them. No side contains a
        control character or a line break.

        Raises InputError, with the file and the line or row, if something cannot be read.
        """
        return self.reader(warnings)


def parallel_texts(
    names: Sequence[FilePath], *, layout: Layout = NAMED_LAYOUT
) -> list[ParallelText]:
    """Returns the parallel texts that the arguments of a command name, in their order.

    A bilingual file (by its name or the layout) is one text. Any other name is a source file, and
    the next name is its target. Before anything is read, since the last text may be read hours
    later, raises InputError for a source without a target, files that do not exist, formats that
    are not read, and standard input named twice.
    """
    if not names:
        raise InputError(
            "no corpus is named", "name a source and a target file, or a bilingual file"
        )
    files = [(str(name), _format(str(name), layout)) for name in names]
    if [name for name, _ in files].count(STDIN) > 1:
        raise InputError("standard input can be read only once", "name a file in place of one `-`")
    texts = []
    while files:
        name, format = files.pop(0)
        if sides := _sides_in_zip(name, layout):
            reader = partial(read_pairs, *sides)
        elif format != "lines":
            reader = partial(BILINGUAL[format], name, layout)
        elif files and files[0][1] == "lines":
            target, _ = files.pop(0)
            name, reader = f"{name} | {target}", partial(read_pairs, name, target)
        else:
            remedy = (
                "give source and target files alternating, or a bilingual file"
                f" ({', '.join(_SUFFIXES)}, or any file with its format)"
            )
            after = f": the next file, {files[0][0]}, is a bilingual file" if files else ""
            raise InputError(f"has no target text{after}", remedy, file=name)
        texts.append(ParallelText(escaped(name), reader))
    return texts


def _format(name: str, layout: Layout) -> Format:
    """Returns the format of a file; "lines" if its name does not show a bilingual format. Raises
    InputError if it does not exist or is not read."""
    suffix = text_suffix(name)
    if name != STDIN and ".zip/" not in name.lower() and not Path(name).exists():
        raise InputError("no such file", "check the path", file=name)
    if Path(name).is_dir():
        remedy = f"name the files in it; if they are a dataset or Parquet, {_CONVERT}"
        raise InputError("is a folder, not a text file", remedy, file=name)
    if suffix not in _SUFFIXES and len(inner := texts_in_zip(name)) == 1:
        suffix = text_suffix(inner[0])
    if not layout.format and suffix in _NOT_READ.keys() - _SUFFIXES.keys():
        raise InputError(f"{suffix} files are not read", _NOT_READ[suffix], file=name)
    return layout.format or _SUFFIXES.get(suffix, "lines")


def _sides_in_zip(name: str, layout: Layout) -> tuple[str, str] | None:
    """Returns the source and the target text in a .zip file, by the ends of their names, if it has
    both."""
    inner = [] if layout.format else texts_in_zip(name)
    languages = layout.source_language, layout.target_language
    found = [
        f"{name}/{text}" for end in languages for text in inner if text_suffix(text) == f".{end}"
    ]
    return (found[0], found[1]) if len(found) == 2 and found[0] != found[1] else None


def languages_in(path: FilePath, layout: Layout) -> list[str]:
    """Returns the codes of the two languages of the first units of a TMX file, or of the names of a
    TSV file's columns; nothing if there are not two, or for another file."""
    suffix, found = text_suffix(Path(path)), list[str]()
    with suppress(InputError):
        if suffix == ".tmx":
            found = unit_languages(path)
        elif suffix == ".tsv":
            found = column_languages(path, layout)
    return codes if len(codes := list(dict.fromkeys(found))) == 2 else []
