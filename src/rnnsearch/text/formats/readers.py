"""Readers of parallel texts in all formats. Each yields pairs of lines; the N-th pair is always the N-th
record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rnnsearch.errors import InputError, escaped
from rnnsearch.text.formats.arrow import read_tables
from rnnsearch.text.formats.lines import InputWarnings, SideWarnings, read_lines, read_pairs
from rnnsearch.text.formats.opening import COMPRESSIONS, STDIN
from rnnsearch.text.formats.records import Format, Layout, LinePair, read_csv, read_json_lines, read_tsv
from rnnsearch.text.formats.tmx import read_tmx, read_tmx_links
from rnnsearch.word_links import link_fields

__all__ = ["FORMATS", "Format", "Layout", "LinePair", "ParallelText", "parallel_texts", "read_link_lines"]

FORMATS: dict[Format, Callable[[str | Path, Layout, SideWarnings], Iterator[LinePair]]] = {
    "tsv": read_tsv,
    "csv": read_csv,
    "tmx": read_tmx,
    "jsonl": read_json_lines,
    "parquet": read_tables,
    "dataset": read_tables,
}
"""Format of a bilingual file → its reader."""

_SUFFIXES: dict[str, Format] = {f".{name}": name for name in FORMATS} | {".arrow": "dataset"}


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

    A bilingual file (by its name or the layout) or the folder of a dataset is one text. Any other name is a
    source file, and the next name is its target. Raises InputError for a source without a target, files that
    do not exist, and standard input named twice.
    """
    layout = layout or Layout()
    _check(names, layout)
    texts, rest = [], [str(name) for name in names]
    while rest:
        name = source = rest.pop(0)
        format = _format(source, layout)
        if format != "lines":
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
    path = Path(name)
    if name != STDIN and path.is_dir():
        return "dataset"
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS:
        suffix = Path(path.stem).suffix.lower()
    return _SUFFIXES.get(suffix, "lines")


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
    if layout.format in ("parquet", "dataset") and STDIN in map(str, names):
        raise InputError(f"{layout.format} cannot be read from standard input", remedy="name a file")
    for name in names:
        if str(name) != STDIN and not Path(name).exists():
            raise InputError("no such file", file=name, remedy="check the path")
    if bool(layout.source) != bool(layout.target) or (layout.source and layout.source == layout.target):
        raise InputError(
            "source and target each need a column, key or language of their own",
            remedy="give both, or neither",
        )
    if "0" in (layout.source, layout.target):
        raise InputError("columns are counted from 1", remedy="give another column")
