"""Workers, and the folder of their answers: for each shard a file, whole or absent, and a record, and one
index. This module does not depend on Ray."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from rnnsearch.cluster.shards import Item, Place, Shard, lines_of
from rnnsearch.cluster.tasks import Task, Work
from rnnsearch.errors import InputError, escaped
from rnnsearch.system.batching import READ_AHEAD
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import checksum, file_checksum

FORMAT = 1
ABOUT, INDEX, ANSWERS, RECORDS = "about.json", "index.jsonl", "answers", "records"
SUFFIX = {"text": ".tsv", "json": ".jsonl"}

Record = dict[str, Any]


@dataclass(frozen=True)
class AnswerFolder:
    """A folder of answers. key: a checksum of all that determines the answers, except the text. form: of the
    answers, text or json."""

    place: Place
    key: str
    form: str

    def begin(self, about: Mapping[str, Any], overwrite: bool) -> None:
        """Writes `about` and the key into the folder, or checks that it has the same key.

        Raises InputError for a folder with other files, and for one with answers of other runs or settings,
        unless it may be overwritten.
        """
        before = _read_object(self.place / ABOUT)
        if before.get("key") == self.key:
            return
        if before and not overwrite:
            what = "holds answers of another command, another run or other settings"
            raise InputError(what, file=str(self.place), remedy="name another folder, or add --overwrite")
        if not before and not self.place.is_empty():
            what = "exists and holds other files"
            raise InputError(what, file=str(self.place), remedy="name another folder")
        content = {"format": FORMAT, "key": self.key, **about, "rnnsearch": package_version()}
        (self.place / ABOUT).write(_json_line(content, indent=2))

    def check_seen(self) -> None:
        """Raises InputError on a machine that does not see what `begin` wrote."""
        if _read_object(self.place / ABOUT).get("key") != self.key:
            what = "this machine does not see the folder that the command made"
            remedy = "--out must be a folder that all machines share, or a URL"
            raise InputError(what, file=str(self.place), remedy=remedy)

    def record(self, shard: Shard) -> Record | None:
        """Returns the record of a shard's answers, if they are complete and of this shard and task; else
        None."""
        record = _read_object(self._record(shard))
        return record if record.get("key") == self._shard_key(shard) else None

    def write_index(self, entries: Iterable[Record]) -> None:
        """Writes the index. entries: a record, or a shard's name and error, for each shard in order."""
        (self.place / INDEX).write("".join(_json_line(entry) for entry in entries))

    def write(self, shard: Shard, answers: Iterable[str]) -> Record:
        """Writes the answers of a shard, one for each line; returns their record.

        An answer may be an n-best list of several lines. The file appears when all answers are written; the
        shard of a worker that dies is begun again.
        """
        name, lines = f"{ANSWERS}/{shard.name}{SUFFIX[self.form]}", 0
        self._record(shard).remove()
        with (self.place / name).replaced() as path:
            with path.open("wb", buffering=0) as file:  # so that users see it grow
                for lines, answer in enumerate(answers, 1):
                    file.write(self._with_origin(shard, lines, answer).encode("utf-8", "surrogatepass"))
            sha256 = file_checksum(path)
        record = {"shard": shard.name, "answers": name, "lines": lines, "sha256": sha256}
        record["key"] = self._shard_key(shard)
        self._record(shard).write(_json_line(record))
        return record

    def _with_origin(self, shard: Shard, number: int, answer: str) -> str:
        name = escaped(shard.name)
        if self.form == "json":
            return _json_line({"shard": name, "line": number, **json.loads(answer)})
        return "".join(f"{name}\t{number}\t{line}\n" for line in answer.split("\n"))

    def _record(self, shard: Shard) -> Place:
        return self.place / f"{RECORDS}/{shard.name}.json"

    def _shard_key(self, shard: Shard) -> str:
        return checksum(str(FORMAT), self.key, shard.name, shard.format, shard.fingerprint)


def _json_line(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"


def _read_object(place: Place) -> Record:
    """Returns the JSON object of a file; empty if there is no such file or object."""
    try:
        value = json.loads(place.read() or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class StartError(InputError):
    """The error of a machine on which no worker can start."""


class Worker:
    """A worker, which answers shards. Answers depend only on the task and the shard."""

    def __init__(self, task: Task, folder: AnswerFolder, version: str) -> None:
        """Keeps the arguments; models are loaded later. version: of rnnsearch where the command was given."""
        self._task, self._folder, self._version = task, folder, version

    def answer(self, shard: Shard) -> Record:
        """Writes the answers of a shard, unless they exist. Returns their record.

        All lines are read once before the work begins. Raises InputError, with file and line, for a shard
        that cannot be read or worked on, and StartError if this machine cannot work.
        """
        if record := self._folder.record(shard):
            return record
        _ = self._work
        with lines_of(shard, self._task.layout) as read:
            for _ in read():  # finds faults before the work
                pass
            return self._folder.write(shard, self._answers(shard, read()))

    @cached_property
    def _work(self) -> Work:
        """Loads the models. Raises StartError, with this machine's name, if its models, folder or rnnsearch
        differ from the command's."""
        try:
            if package_version() != self._version:
                what = f"rnnsearch {package_version()} is installed, but the command has {self._version}"
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
                raise InputError(str(error), file=shard.label) from None
            done += len(some)
