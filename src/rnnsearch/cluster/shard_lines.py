"""What stands in the lines of a shard: texts, or pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rnnsearch.cluster.shards import Shard
from rnnsearch.errors import InputError, printed
from rnnsearch.text.formats.lines import InputWarnings, read_lines, read_pairs
from rnnsearch.text.formats.readers.arrow import read_parquet
from rnnsearch.text.formats.readers.json_lines import read_json_lines
from rnnsearch.text.formats.readers.layout import Layout, LinePair, OneSide

Item = str | LinePair
"""A line that is translated, or a pair of lines."""


@contextmanager
def lines_of(shard: Shard, layout: Layout) -> Iterator[Callable[[], Iterator[Item]]]:
    """A function that reads the shard from its first line on, as often as it is called; a shard at a URL is copied here meanwhile.

    layout: a OneSide for lines that are translated, another for pairs. The N-th item is the N-th line, or row.
    Raises InputError, with file and line, for whatever cannot be read: the file is called as the corpus calls it.
    """
    with ExitStack() as stack:
        here = [stack.enter_context(place.fetched()) for place in shard.files]
        try:
            yield lambda: _items(here, shard, layout)
        except InputError as error:
            line = str(error)
            for copy, place in zip(here, shard.files, strict=True):
                line = line.replace(printed(copy), printed(place))
            raise InputError(line) from None


def _items(files: list[Path], shard: Shard, layout: Layout) -> Iterator[Item]:
    if len(files) == 2:
        return read_pairs(files[0], files[1])
    if shard.format == "lines":
        return read_lines(files[0])
    pairs = (read_json_lines if shard.format == "jsonl" else read_parquet)(files[0], layout, InputWarnings(), InputWarnings())
    return (text for text, _ in pairs) if isinstance(layout, OneSide) else pairs
