"""Parallel texts in whatever files they come: each becomes pairs of lines, and the N-th pair is the file's N-th record, whatever that holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from rnnsearch.errors import InputError
from rnnsearch.text.reading import Oddities, read_pairs

Format = Literal["", "lines", "tsv", "csv", "tmx", "jsonl", "parquet", "dataset"]
LinePair = tuple[str, str]

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Layout:
    """Which format a file has, and where in it the two sides stand.

    format: empty = by the file's name. Standard input has none, so that it is two files of lines unless the format is given.
    source, target: a column's number (1-based) or name in TSV and CSV, a key in JSON lines, Parquet and datasets (`translation.en` for one
    inside another), a language code in TMX. Empty = what the format's reader takes for granted, see there.
    source_language, target_language: codes, for what is taken for granted.
    """

    format: Format = ""
    source: str = ""
    target: str = ""
    source_language: str = "en"
    target_language: str = "fr"


@dataclass(slots=True)
class ParallelText:
    """One parallel text. name: what reports and messages call it. source_oddities, target_oddities: of the pairs read so far."""

    name: str
    reader: Callable[[Oddities, Oddities], Iterator[LinePair]]
    source_oddities: Oddities = field(default_factory=Oddities)
    target_oddities: Oddities = field(default_factory=Oddities)

    def pairs(self) -> Iterator[LinePair]:
        """Reads the pairs from the first on, and begins the oddities anew. Neither side holds a control character or a line break.

        Raises InputError, with the file and the line or record, for whatever cannot be read.
        """
        self.source_oddities.clear()
        self.target_oddities.clear()
        return self.reader(self.source_oddities, self.target_oddities)


def parallel_texts(names: Sequence[str | Path], *, layout: Layout | None = None) -> list[ParallelText]:
    """The parallel texts that the arguments of a command name, in their order.

    A bilingual file (as its name or `layout` says) or the folder of a dataset stands for itself; any other name is a source file, and the
    next one its target. Raises InputError for a name without its other side, files that do not exist, and standard input named twice.
    """
    layout = layout or Layout()
    _check(names)
    texts, rest = [], [str(name) for name in names]
    while rest:
        source = rest.pop(0)
        if not rest:
            raise InputError("is a source text without its target", file=source, remedy="name source and target files by turns")
        target = rest.pop(0)
        texts.append(ParallelText(f"{source} | {target}", partial(read_pairs, source, target)))
    return texts


def _check(names: Sequence[str | Path]) -> None:
    if not names:
        raise InputError("no corpus is named", remedy="name a source and a target file, or a bilingual file")
    if sum(str(name) == STDIN for name in names) > 1:
        raise InputError("standard input can be read only once", remedy="name a file in place of one `-`")
    for name in names:
        if str(name) != STDIN and not Path(name).exists():
            raise InputError("no such file", file=name, remedy="check the path")
