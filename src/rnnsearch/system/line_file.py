"""Output files that are written in blocks of lines. After Ctrl-C, kill -9 or on a full disk, the
same command continues after the last block, and the complete file is the same to the last bit.

Until it is complete, the lines of `NAME` are in `.NAME.partial`, and `.NAME.state` says how many of
them are whole, and of which run, settings and text. After a power cut, the file may begin anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self, TypeVar

from rnnsearch.errors import InputError
from rnnsearch.system.files import (
    end_of_link,
    open_locked,
    prepare_output,
    read_json,
    reading,
    write_text,
    writing,
)

Entry = TypeVar("Entry")
LINES_AHEAD = 16
"""Batches of the largest block: as many as are sorted by length together."""


class FileState(NamedTuple):
    """The content of the state file. key: of the LineFile. items, checksum: of those whose lines
    are written.
    size: of these lines, in bytes."""

    key: str = ""
    items: int = 0
    checksum: str = ""
    size: int = 0


class LineFile:
    """A file of lines that are made from items, block by block.

        with LineFile(path, key) as file:
            for block in file.blocks(items, batch_size):
                file.append(block, work(block))

    The file gets its name at the end of the `with` block, unless an exception ends it.

    path: the file. key: checksum of everything that its lines depend on, except the items. head:
    text before all lines. overwrite: replace an existing file, and one that was begun with another
    key; entering raises InputError if the file may not be written.

    done: number of items whose lines are written. before: state that an earlier process has left.
    """

    def __init__(self, path: Path, key: str, *, head: str = "", overwrite: bool = False) -> None:
        self.path, self.key, self.head, self.overwrite = end_of_link(path), key, head, overwrite
        self.partial, self.state_file = (
            self.path.with_name(f".{self.path.name}.{what}") for what in ("partial", "state")
        )
        self.done, self.before = 0, FileState()
        self._file: BinaryIO
        self._items = hashlib.sha256()

    def __enter__(self) -> Self:
        prepare_output(self.path, self.overwrite)
        with ExitStack() as opened, writing(self.path):
            self._file = opened.enter_context(open(open_locked(self.partial), "rb+"))
            state = self._read_state()
            if state.key not in ("", self.key):
                if not self.overwrite:
                    what = "was begun with another run, version or settings"
                    raise InputError(what, "add --overwrite to begin anew", file=self.path)
                self.state_file.unlink()
            elif state.size <= self._file.seek(0, os.SEEK_END):
                self.before = state
            self._file.truncate(self.before.size)
            self._file.seek(self.before.size)
            if not self.before.items:
                self._write(self.head)
            opened.pop_all()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with self._file, writing(self.path):
            if error is None:
                os.fsync(self._file.fileno())
                self.partial.replace(self.path)
                self.state_file.unlink(missing_ok=True)
            elif not self.state_file.exists():  # nothing was written
                self.partial.unlink(missing_ok=True)

    def missing(self, items: Iterable[Entry]) -> Iterator[Entry]:
        """Returns the items that have no lines yet. Raises InputError if the earlier ones have
        changed since their lines were written."""
        rest = iter(items)
        if self.before.items:
            for item in islice(rest, self.before.items):
                self._count(item)
            if self._items.hexdigest() != self.before.checksum:
                what = "was begun with another text"
                raise InputError(what, f"remove {self.state_file} to begin anew", file=self.path)
        return rest

    def blocks(self, items: Iterable[Entry], batch_size: int) -> Iterator[list[Entry]]:
        """Yields the items that have no lines yet, in blocks of 1, 2, 4, … and at most LINES_AHEAD
        batches.
        Raises InputError as `missing` does."""
        rest = self.missing(items)
        for size in _block_sizes(batch_size, self.before.items):
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
            state = FileState(self.key, self.done, self._items.hexdigest(), self._file.tell())
            write_text(self.state_file, json.dumps(state._asdict()))

    def _write(self, text: str) -> None:
        with writing(self.path):
            self._file.write(text.encode("utf-8", "surrogatepass"))
            self._file.flush()

    def _count(self, item: object) -> None:
        self.done += 1
        self._items.update(f"{item!r}\n".encode())

    def _read_state(self) -> FileState:
        """Returns the content of the state file. Raises InputError if it is damaged or a link, by
        which another file would be written."""
        if self.state_file.is_symlink():
            raise InputError("is a link to another file", "remove it", file=self.state_file)
        if not self.state_file.exists():
            return FileState()
        with reading(self.state_file, "remove it to begin anew", "is damaged"):
            state = read_json(self.state_file)
            kinds = {"key": str, "items": int, "checksum": str, "size": int}
            found = isinstance(state, dict) and {name: type(value) for name, value in state.items()}
            if found != kinds or min(state["items"], state["size"]) < 0:
                raise ValueError("it is not a state")
            return FileState(**state)


def _block_sizes(batch_size: int, done: int) -> Iterator[int]:
    """Yields the sizes of the blocks after the first `done` items. They grow: an interruption soon
    after the beginning loses little, and large blocks have batches of equal lengths."""
    for number in count():
        size = batch_size * min(2**number, LINES_AHEAD)
        if done <= 0:
            yield size
        done -= size
