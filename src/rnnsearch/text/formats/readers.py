"""Readers of parallel texts in all formats. Each yields pairs of lines; the N-th pair is always the N-th
record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rnnsearch.errors import InputError, escaped
from rnnsearch.text.formats.lines import NO_LINES, InputWarnings, SideWarnings, read_lines, read_pairs
from rnnsearch.text.formats.opening import STDIN, archive_of, opened, text_suffix, texts_in_zip
from rnnsearch.text.formats.records import Format, Layout, LinePair, read_json_lines, read_tsv
from rnnsearch.text.formats.tmx import read_tmx, read_tmx_links
from rnnsearch.word_links import link_fields

__all__ = ["FORMATS", "Format", "Layout", "LinePair", "ParallelText", "parallel_texts", "read_link_lines"]

FORMATS: dict[Format, Callable[[str | Path, Layout, SideWarnings], Iterator[LinePair]]] = {
    "tsv": read_tsv,
    "tmx": read_tmx,
    "jsonl": read_json_lines,
}
"""Format of a bilingual file → its reader."""

_SUFFIXES: dict[str, Format] = {f".{name}": name for name in FORMATS}
_CONVERT = "write it as TSV or JSON lines; the page on getting corpora has the three lines that do it"
_NOT_READ = NO_LINES | dict.fromkeys((".csv", ".parquet", ".arrow"), _CONVERT)


@dataclass(slots=True)
class ParallelText:
    """One parallel text. name: its name in reports and messages. warnings: about the pairs read so far."""

    name: str
    reader: Callable[[SideWarnings], Iterator[LinePair]]
    warnings: SideWarnings = field(default_factory=lambda: (InputWarnings(), InputWarnings()))

    def pairs(self) -> Iterator[LinePair]:
        """Reads the pairs from the first on, and clears the warnings first. No side contains a control
        character or a line break.

        Raises InputError, with the file and the line or row, if something cannot be read.
        """
        for warnings in self.warnings:
            warnings.clear()
        return self.reader(self.warnings)


def parallel_texts(names: Sequence[str | Path], *, layout: Layout | None = None) -> list[ParallelText]:
    """Returns the parallel texts that the arguments of a command name, in their order.

    A bilingual file (by its name or the layout) is one text, and so is a .zip file that holds one, or a text
    in either language. Any other name is a source file, and the next name is its target. Raises InputError
    for a source without a target, files that do not exist, formats that are not read, and standard input
    named twice.
    """
    layout = layout or Layout()
    _check(names, layout)
    texts, rest = [], [str(name) for name in names]
    while rest:
        name = source = rest.pop(0)
        format, sides = _format(source, layout), _sides_in_zip(source, layout)
        if sides:
            reader = partial(read_pairs, *sides)
        elif format != "lines":
            reader = partial(FORMATS[format], source, layout)
        elif rest and _format(rest[0], layout) == "lines":
            name, reader = f"{source} | {rest[0]}", partial(read_pairs, source, rest.pop(0))
        else:
            remedy = (
                f"give source and target files alternating, or a bilingual file ({', '.join(_SUFFIXES)}, or "
                "any file with its format)"
            )
            after = f": the next file, {rest[0]}, is a bilingual file" if rest else ""
            raise InputError(f"has no target text{after}", file=source, remedy=remedy)
        texts.append(ParallelText(escaped(name), reader))
    return texts


def read_link_lines(path: str | Path) -> Iterator[str]:
    """Yields the word links of each pair, as a line for `parse_links`: the lines of a file, or the links of
    each unit if the name says TMX. Raises InputError as `read_lines`, `link_fields` and `read_tmx_links`
    do."""
    tmx = _format(str(path), Layout()) == "tmx"
    return read_tmx_links(path) if tmx else link_fields(read_lines(path), path)


def _format(name: str, layout: Layout) -> Format:
    """Returns the format of a file; "lines" if its name does not show a bilingual format."""
    if layout.format:
        return layout.format
    suffix = text_suffix(name)
    if _is_zip(name) and suffix not in _SUFFIXES and len(inner := texts_in_zip(Path(name))) == 1:
        suffix = text_suffix(inner[0])
    return _SUFFIXES.get(suffix, "lines")


def _is_zip(name: str) -> bool:
    return Path(name).suffix.lower() == ".zip" and Path(name).is_file()


def _sides_in_zip(name: str, layout: Layout) -> tuple[str, str] | None:
    """Returns the source and the target text in a .zip file of several texts, by the ends of their names, or
    None for any other file."""
    if layout.format in FORMATS or not _is_zip(name) or len(texts := texts_in_zip(Path(name))) < 2:
        return None
    languages = layout.source_language, layout.target_language
    found = [[text for text in texts if text_suffix(text) == f".{language}"] for language in languages]
    if [len(side) for side in found] == [1, 1] and found[0] != found[1]:
        return f"{name}/{found[0][0]}", f"{name}/{found[1][0]}"
    what = (
        f"holds no pair of texts whose names end in .{languages[0]} and .{languages[1]}: {', '.join(texts)}"
    )
    raise InputError(what[:300], file=name, remedy=f"name the two, as in {name}/{texts[0]} {name}/{texts[1]}")


def _check(names: Sequence[str | Path], layout: Layout) -> None:
    """Raises InputError for faults that can be found before reading: the last corpus may be read hours
    later."""
    if layout.format not in ("", "lines", *FORMATS):
        remedy = f"name one of: lines, {', '.join(FORMATS)}"
        raise InputError(f"there is no format '{layout.format}'", remedy=remedy)
    if not names:
        raise InputError("no corpus is named", remedy="name a source and a target file, or a bilingual file")
    if [*map(str, names)].count(STDIN) > 1:
        raise InputError("standard input can be read only once", remedy="name a file in place of one `-`")
    for name in filter(lambda name: str(name) != STDIN, names):
        if not Path(name).exists() and not archive_of(Path(name)):
            raise InputError("no such file", file=name, remedy="check the path")
        if Path(name).is_dir():
            remedy = f"name the files in it; if they are a dataset or Parquet, {_CONVERT}"
            raise InputError("is a folder, not a text file", file=name, remedy=remedy)
        if not layout.format and (suffix := text_suffix(name)) in _NOT_READ:
            with opened(name) as stream:
                start = stream.readline(1000) if suffix == ".csv" else b""
            columns = " with semicolons" if start.count(b";") > start.count(b",") else ""
            raise InputError(f"{suffix} files{columns} are not read", file=name, remedy=_NOT_READ[suffix])
    if bool(layout.source) != bool(layout.target) or (layout.source and layout.source == layout.target):
        raise InputError(
            "source and target each need a column, key or language of their own",
            remedy="give both, or neither",
        )
    if "0" in (layout.source, layout.target):
        raise InputError("columns are counted from 1", remedy="give another column")
