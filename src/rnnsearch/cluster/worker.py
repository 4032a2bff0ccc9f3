"""A worker: one model, loaded once, that answers shard after shard. It knows nothing of Ray."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path

from rnnsearch.cluster.answer_folder import AnswerFolder, Record
from rnnsearch.cluster.shards import Shard
from rnnsearch.cluster.tasks import Task, Work
from rnnsearch.errors import InputError, printed
from rnnsearch.system.batching import READ_AHEAD
from rnnsearch.system.extras import package_version
from rnnsearch.text.formats.arrow import read_tables
from rnnsearch.text.formats.lines import UNHEARD, read_lines, read_pairs
from rnnsearch.text.formats.records import Layout, LinePair, OneSide, read_json_lines

Item = str | LinePair
"""A line that is translated, or a pair of lines."""


class StartError(InputError):
    """A machine on which no worker can work."""


class Worker:
    """A model that answers shards. Its answers depend on the task and the shard alone, not on the worker or
    the number of attempts."""

    def __init__(self, task: Task, folder: AnswerFolder, version: str) -> None:
        """Keeps what a worker needs. version: of rnnsearch where the command was given."""
        self._task, self._folder, self._version = task, folder, version

    def answer(self, shard: Shard) -> Record:
        """Writes the answers of a shard, unless they are there, and returns their record.

        All lines are read before the first is worked on. Raises InputError, with the file and the line if
        there is one, for a shard that cannot be read or worked on; StartError if no shard can be.
        """
        if record := self._folder.record(shard):
            return record
        _ = self._work
        with lines_of(shard, self._task.layout) as read:
            for _ in read():  # faults first: they cost little to find
                pass
            return self._folder.write(shard, self._answers(shard, read()))

    @cached_property
    def _work(self) -> Work:
        """Loads the models. Raises StartError, with this machine's name, if they, the folder or rnnsearch are
        not those of the command."""
        try:
            if package_version() != self._version:
                what = f"rnnsearch {package_version()} is installed, and the command is of {self._version}"
                raise InputError(what, remedy="install one version on all machines")
            self._folder.check_seen()
            if self._task.key() != self._folder.key:
                what = "its copy of the run differs from that of the machine where the command was started"
                raise InputError(what, remedy="share one folder, or copy it")
            return self._task.load()
        except InputError as error:
            raise StartError(f"on {platform.node()}: {error}") from None

    def _answers(self, shard: Shard, lines: Iterable[Item]) -> Iterator[str]:
        rest, done = iter(lines), 0
        while some := list(islice(rest, READ_AHEAD * self._task.batch_size)):
            try:
                yield from self._work(done, some)
            except InputError as error:
                raise InputError(str(error), file=shard.place) from None
            done += len(some)


@contextmanager
def lines_of(shard: Shard, layout: Layout) -> Iterator[Callable[[], Iterator[Item]]]:
    """Yields a function that reads the shard from its first line on, as often as it is called; a shard at a
    URL is copied here meanwhile.

    layout: a OneSide for lines that are translated, another for pairs. The N-th item is the N-th line, or
    row. Raises InputError, with file and line, for whatever cannot be read: the file is called as the corpus
    calls it.
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
    pairs = (read_json_lines if shard.format == "jsonl" else read_tables)(
        files[0], layout, (UNHEARD, UNHEARD)
    )
    return (text for text, _ in pairs) if isinstance(layout, OneSide) else pairs
