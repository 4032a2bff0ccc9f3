"""A worker: one model, loaded once, that answers shard after shard. It knows nothing of Ray."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from rnnsearch.cluster.answer_folder import AnswerFolder, Record
from rnnsearch.cluster.shard_lines import lines_of
from rnnsearch.cluster.shards import Shard
from rnnsearch.cluster.tasks import Task, Work
from rnnsearch.errors import InputError
from rnnsearch.system.version import package_version
from rnnsearch.translation.translator import READ_AHEAD


class Worker:
    """What is written follows from the task and the shard alone: not from the worker, nor from how often it was begun."""

    def __init__(self, task: Task, folder: AnswerFolder, version: str) -> None:
        """version: of rnnsearch where the command was given."""
        self._task, self._folder, self._version = task, folder, version

    def ready(self) -> None:
        """Loads the models. Raises InputError, with this machine's name, if they, the folder or rnnsearch are not those of the command."""
        try:
            if package_version() != self._version:
                what = f"rnnsearch {package_version()} is installed, and the command is of {self._version}"
                raise InputError(what, remedy="install one version on all machines")
            self._folder.check_seen()
            if self._task.key() != self._folder.key:
                raise InputError(
                    "its files of the run differ from those where the command was given", remedy="share one folder, or copy it"
                )
            _ = self._work
        except InputError as error:
            raise InputError(f"on {platform.node()}: {error}") from None

    def answer(self, shard: Shard) -> Record:
        """Writes the answers of a shard, unless they are there, and returns their record.

        All lines are read before the first is worked on. Raises InputError, with the file and the line if there is one, for a shard that
        cannot be read or worked on.
        """
        if record := self._folder.record(shard):
            return record
        if "_work" not in vars(self):  # Ray has started this worker in place of another one, perhaps on another machine
            self.ready()
        block = READ_AHEAD * self._task.batch_size
        with lines_of(shard, self._task.layout) as read:
            for _ in read():  # faults first: they cost little to find
                pass
            with self._folder.journal(shard, block) as journal:
                lines = islice(read(), journal.lines, None)
                while some := list(islice(lines, block)):
                    journal.add(self._answers(shard, journal.lines, some))
                journal.finish()
        record = self._folder.record(shard)
        assert record is not None
        return record

    @cached_property
    def _work(self) -> Work:
        return self._task.load()

    def _answers(self, shard: Shard, done: int, some: Sequence[Any]) -> list[str]:
        try:
            return self._work(done, some)
        except InputError as error:
            raise InputError(str(error), file=shard.place) from None
