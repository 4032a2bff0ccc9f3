"""Output files that are written in blocks of lines. After Ctrl-C, kill -9 or on a full disk, the same command
continues after the last block, and the complete file is the same to the last bit.

Until it is complete, the lines of `NAME` are in `.NAME.partial`, and `.NAME.state` says how many of them are
whole, and of which run, settings and text. After a power cut, the file may begin anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

from rnnsearch.errors import InputError
from rnnsearch.system.files import open_locked, prepare_output, read_json, reading, write_text, writing

Item = TypeVar("Item")
READ_AHEAD = 16
"""Batches of the largest block: as many as are sorted by length together."""


class LineFile:
    """A file of lines that are made from items, block by block.

        with LineFile(path, key) as file:
            for block in file.blocks(items, batch_size):
                file.append(block, work(block))
            file.finish()

    path: the file. key: checksum of everything that its lines depend on, except the items. head: text before
    all lines.
    done: number of items whose lines are written.
    """

    def __init__(self, path: Path, key: str, *, head: str = "") -> None:
        self.path, self.key, self.head = path, key, head
        self.partial, self.state = (path.parent / f".{path.name}.{what}" for what in ("partial", "state"))
        self.done = 0
        self._file: BinaryIO
        self._before: dict[str, Any] = {}
        self._items = hashlib.sha256()

    def begin(self, overwrite: bool) -> None:
        """Checks, before the work, that the file may be written. overwrite: replace an existing file, and one
        that was begun with other settings. Raises InputError if it may not be written."""
        prepare_output(self.path, overwrite)
        before = self._read_state()
        if before and before["key"] != self.key:
            if not overwrite:
                what = "was begun with another run or other settings"
                raise InputError(what, file=self.path, remedy="add --overwrite to begin anew")
            os.close(open_locked(self.partial))  # raises if another command is writing it
            self.state.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        with writing(self.partial):
            handle = open_locked(self.partial)
            self._file = open(handle, "rb+")
        before = self._read_state()
        if before and os.fstat(handle).st_size >= before["bytes"][0]:
            self._before = before
        with writing(self.path):
            whole = self._before.get("bytes", [0])[0]
            self._file.truncate(whole)
            self._file.seek(whole)
        if not self._before:
            self._write(self.head)
        return self

    def __exit__(self, *_: object) -> None:
        if not self.state.exists():  # nothing was written
            self.partial.unlink(missing_ok=True)
        self._file.close()

    @property
    def before(self) -> int:
        """Returns the number of items whose lines an earlier process has written."""
        return int(self._before.get("items", 0))

    def missing(self, items: Iterable[Item]) -> Iterator[Item]:
        """Returns the items that have no lines yet. Raises InputError if the earlier ones have changed since
        their lines were written."""
        rest = iter(items)
        if self._before:
            for item in islice(rest, self.before):
                self._count(item)
            if self._items.hexdigest() != self._before["checksum"]:
                what = "was begun with another text"
                raise InputError(what, file=self.path, remedy=f"remove {self.state} to begin anew")
        return rest

    def blocks(self, items: Iterable[Item], batch_size: int) -> Iterator[list[Item]]:
        """Yields the items that have no lines yet, in blocks of 1, 2, 4, … and at most READ_AHEAD batches.
        Raises InputError as `missing` does."""
        rest = self.missing(items)
        for size in _block_sizes(batch_size, self.before):
            if not (block := list(islice(rest, size))):
                return
            yield block

    def append(self, items: Sequence[object], lines: Iterable[str]) -> None:
        """Appends the lines of the next items. Raises InputError if the disk is full."""
        self._write("".join(f"{line}\n" for line in lines))
        for item in items:
            self._count(item)
        with writing(self.path):
            os.fsync(self._file.fileno())
            state = {"key": self.key, "items": self.done, "bytes": [self._file.tell()]}
            write_text(self.state, json.dumps(state | {"checksum": self._items.hexdigest()}))

    def finish(self) -> None:
        """Gives the complete file its name."""
        with writing(self.path):
            os.fsync(self._file.fileno())
            self.partial.replace(self.path)
            self.state.unlink(missing_ok=True)

    def _write(self, text: str) -> None:
        with writing(self.path):
            self._file.write(text.encode("utf-8", "surrogatepass"))
            self._file.flush()

    def _count(self, item: object) -> None:
        self.done += 1
        self._items.update(f"{item!r}\n".encode())

    def _read_state(self) -> dict[str, Any]:
        """Returns the content of the state file; empty if there is none. Raises InputError if it is
        damaged."""
        if not self.state.exists():
            return {}
        with reading(self.state, remedy="remove it to begin anew", found="is damaged"):
            state = read_json(self.state)
            if not isinstance(state, dict) or state.keys() != {"key", "items", "bytes", "checksum"}:
                raise ValueError("it is not a state")
            return state


def _block_sizes(batch_size: int, done: int) -> Iterator[int]:
    """Yields the sizes of the blocks after the first `done` items. They grow: an interruption soon after the
    beginning loses little, and large blocks have batches of equal lengths."""
    for number in count():
        size = batch_size * min(2**number, READ_AHEAD)
        if done <= 0:
            yield size
        done -= size
