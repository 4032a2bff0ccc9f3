"""Items that come one by one, in groups of what is already there: nothing waits for items that are still to come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")

_PAUSE = 0.002
"""Seconds without a further item after which a group is passed on: a file or a generator is faster, a person or a program is not."""


class _End:
    """After the last item. error: what the items ended with, if anything."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def arriving(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of the items that are there, at least one and at most `size` of them, in their order.

    The items are read on a thread of their own, at most `size` ahead. What they raise is raised after those that came before it.
    """
    reader = _Reader(items, size)
    try:
        while group := reader.group(size):
            yield group
    finally:
        reader.closed.set()


class _Reader(Generic[Item]):
    def __init__(self, items: Iterable[Item], ahead: int) -> None:
        self.queue: queue.Queue[Item | _End] = queue.Queue(ahead)
        self.closed = threading.Event()
        self.end: _End | None = None
        threading.Thread(target=self._read, args=(items,), name="reading ahead", daemon=True).start()

    def group(self, size: int) -> list[Item]:
        """What is there, after waiting for one item; empty after the last. Raises what the items raised."""
        group: list[Item] = []
        while self.end is None and len(group) < size:
            try:
                item = self.queue.get(timeout=_PAUSE if group else None)
            except queue.Empty:
                break
            if isinstance(item, _End):
                self.end = item
            else:
                group.append(item)
        if not group and self.end is not None and self.end.error is not None:
            raise self.end.error
        return group

    def _read(self, items: Iterable[Item]) -> None:
        try:
            for item in items:
                if not self._put(item):
                    return
        except BaseException as error:  # raised where the items are used
            self._put(_End(error))
        else:
            self._put(_End())

    def _put(self, item: Item | _End) -> bool:
        """Whether somebody still wants it."""
        while not self.closed.is_set():
            try:
                self.queue.put(item, timeout=1)
            except queue.Full:
                continue
            return True
        return False
