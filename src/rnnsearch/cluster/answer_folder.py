"""The folder of answers: one file for each shard, whole or absent, a record beside each, and the index of all.

A shard that is being worked on has a hidden journal, which goes on growing after its worker was killed. Of a folder at a URL the journal
lies on the worker's machine, so that a shard whose worker is killed begins anew.
"""

from __future__ import annotations

import glob
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rnnsearch.cluster.shards import Shard
from rnnsearch.cluster.storage import Place
from rnnsearch.errors import InputError, printed
from rnnsearch.system.checksums import checksum, file_checksum
from rnnsearch.system.locks import lock
from rnnsearch.system.version import package_version

FORMAT = 1
ABOUT, INDEX, ANSWERS, RECORDS = "about.json", "index.jsonl", "answers", "records"
SUFFIX = {"text": ".tsv", "json": ".jsonl"}
PATIENCE = 60.0
"""Seconds for which a worker waits for a journal that another process holds: one that is being killed lets go of it soon."""

Record = dict[str, Any]


@dataclass(frozen=True)
class AnswerFolder:
    """place: the folder. key: a checksum of all that the answers follow from, but for the text. form: of the answers, text or json."""

    place: Place
    key: str
    form: str

    def begin(self, about: Mapping[str, Any], overwrite: bool) -> None:
        """Writes what the folder holds, or sees that it holds the same already.

        Raises InputError for a folder that holds answers of other runs or settings, or anything else, unless it may be overwritten.
        """
        before = self._about()
        if before.get("key") == self.key:
            return
        if before and not overwrite:
            what = "holds answers of another command, another run or other settings"
            raise InputError(what, file=str(self.place), remedy="name another folder, or add --overwrite")
        if not before and not self.place.is_empty():
            raise InputError("exists and holds other files", file=str(self.place), remedy="name another folder")
        (self.place / ABOUT).write(_json({"format": FORMAT, "key": self.key, **about, "rnnsearch": package_version()}, indent=2))

    def check_seen(self) -> None:
        """Raises InputError on a machine that does not see what `begin` wrote."""
        if self._about().get("key") != self.key:
            what = "this machine does not see the folder that the command made"
            raise InputError(what, file=str(self.place), remedy="--out must be a folder that all machines share, or a URL")

    def record(self, shard: Shard) -> Record | None:
        """What is known of a shard's answers, if they are whole and those of this very shard and task."""
        record = _object(self._record(shard).read())
        return record if record.get("key") == self._shard_key(shard) else None

    def write_index(self, entries: Sequence[Record]) -> None:
        """entries: a record, or a shard's name and error, for each shard in order."""
        (self.place / INDEX).write("".join(_json(entry) for entry in entries))

    @contextmanager
    def journal(self, shard: Shard, block: int) -> Iterator[Journal]:
        """The answers of a shard so far, to be added to; once `finish` was called they are in their place. block: lines added together."""
        answers = self._answers(shard)
        if answers.local is None:
            with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder, (Path(folder) / "answers").open("wb+") as file:
                journal = Journal(file, Path(file.name), self.form, shard.name, 0)
                yield journal
                if journal.whole:
                    self._record(shard).remove()
                    answers.send(journal.path)
                    self._finish(shard, journal, answers)
            return
        path = answers.local.with_name(f".{answers.local.name}.{self._shard_key(shard)[:16]}.journal")
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in path.parent.glob(f".{glob.escape(answers.local.name)}.*.journal"):
            if other != path:  # of the shard as it was before, or of other settings
                other.unlink(missing_ok=True)
        with _locked(path) as file:
            journal = Journal(file, path, self.form, shard.name, _whole_blocks(file, self.form, block))
            yield journal
            if journal.whole:
                self._record(shard).remove()
                path.replace(answers.local)
                self._finish(shard, journal, answers)

    def _finish(self, shard: Shard, journal: Journal, answers: Place) -> None:
        name = answers.path.removeprefix(self.place.path).lstrip("/")
        known = {"shard": shard.name, "answers": name, "lines": journal.lines, "sha256": journal.checksum, "key": self._shard_key(shard)}
        self._record(shard).write(_json(known))

    def _answers(self, shard: Shard) -> Place:
        return self.place / f"{ANSWERS}/{shard.name}{SUFFIX[self.form]}"

    def _record(self, shard: Shard) -> Place:
        return self.place / f"{RECORDS}/{shard.name}.json"

    def _shard_key(self, shard: Shard) -> str:
        return checksum(str(FORMAT), self.key, shard.name, shard.format, shard.fingerprint)

    def _about(self) -> Record:
        return _object((self.place / ABOUT).read())


class Journal:
    """The answers of the first `lines` lines of a shard, in a file. whole: whether they are all. checksum: of the whole file."""

    def __init__(self, file: BinaryIO, path: Path, form: str, shard: str, lines: int) -> None:
        self._file, self._form, self._shard = file, form, printed(shard)
        self.path, self.lines, self.whole, self.checksum = path, lines, False, ""

    def add(self, answers: Sequence[str]) -> None:
        """The answers of the next block, on the disk when this returns. An answer of several lines, an n-best list, has them all."""
        for number, answer in enumerate(answers, self.lines + 1):
            self._file.write("".join(f"{line}\n" for line in self._with_origin(number, answer)).encode("utf-8", "surrogatepass"))
        self._to_disk()
        self.lines += len(answers)

    def finish(self) -> None:
        self._to_disk()
        self.whole, self.checksum = True, file_checksum(self.path)

    def _with_origin(self, number: int, answer: str) -> Iterator[str]:
        if self._form == "json":
            yield f'{{"shard": {json.dumps(self._shard, ensure_ascii=False)}, "line": {number}, {answer[1:]}'
        else:
            yield from (f"{self._shard}\t{number}\t{line}" for line in answer.split("\n"))

    def _to_disk(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The file, for this process alone. Raises InputError while another process keeps it."""
    given_up = time.monotonic() + PATIENCE
    while True:
        with open(path, "rb+", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666)) as file:
            if lock(file.fileno()) and _is(path, file):
                yield file
                return
        if time.monotonic() > given_up:
            raise InputError("another process is writing it", file=path, remedy="wait for it, or end it")
        time.sleep(0.2)


def _is(path: Path, file: BinaryIO) -> bool:
    """False if whoever had the file before has finished it, and moved it to its place, since it was opened here."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _whole_blocks(file: BinaryIO, form: str, block: int) -> int:
    """How many lines were answered in whole blocks; cuts off what stands behind. A last block may lack lines: it is made again."""
    whole = end = offset = number = 0
    for line in file:
        now = _number(line, form)
        if now is None:
            break
        if now != number and number % block == 0:
            whole, end = number, offset
        number, offset = now, offset + len(line)
    file.seek(end)
    file.truncate()
    return whole


def _number(line: bytes, form: str) -> int | None:
    """Of the shard's line that this line of answers belongs to; None if it is broken off."""
    try:
        return int(json.loads(line)["line"] if form == "json" else line.split(b"\t", 2)[1]) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"


def _object(content: bytes | None) -> Record:
    """Of a file that is written whole; empty if there is none, or another one."""
    try:
        value = json.loads(content or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
