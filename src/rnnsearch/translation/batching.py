"""Makes batches of items: in order, by length, as they arrive, and small enough for memory."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rnnsearch.errors import InputError

READ_AHEAD = 16
"""Number of batches whose items are sorted by length together."""
_PAUSE = 0.002
"""Seconds without a further item after which a batch is yielded. Files and generators are faster; a
person or a program at a pipe is slower."""

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def batches(items: Iterable[Piece], size: int) -> Iterator[list[Piece]]:
    """Yields lists of `size` items; the last may be shorter. If `items` raises InputError, the
    items before it are yielded first."""
    batch: list[Piece] = []
    fault: InputError | None = None
    try:
        for item in items:
            batch.append(item)
            if len(batch) >= size:
                yield batch
                batch = []
    except InputError as error:
        fault = error
    if batch:
        yield batch
    if fault is not None:
        raise fault


def batched_by_length(
    items: Sequence[Piece],
    length: Callable[[Piece], int],
    batch_size: int,
    work: Callable[[list[Piece]], Sequence[Result]],
) -> list[Result]:
    """Calls `work` on batches of items of similar length; returns its results in the order of the
    items."""
    order = sorted(range(len(items)), key=lambda index: length(items[index]), reverse=True)
    results: dict[int, Result] = {}
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        results.update(zip(batch, work([items[index] for index in batch]), strict=True))
    return [results[index] for index in range(len(items))]


def in_halves(
    items: list[Piece],
    cost: Callable[[list[Piece]], int],
    most: int,
    work: Callable[[list[Piece]], list[Result]],
) -> list[Result]:
    """Returns `work(items)`. If its cost is above `most`, works on each half instead; a single item
    is never refused."""
    if len(items) < 2 or cost(items) <= most:
        return work(items)
    middle = len(items) // 2
    halves = items[:middle], items[middle:]
    return [result for half in halves for result in in_halves(half, cost, most, work)]


def stream_batches(items: Iterable[Piece], size: int) -> Iterator[list[Piece]]:
    """Yields lists of 1 to `size` items, as many as are ready, in order.

    A thread reads the items, at most `size` ahead. If `items` raises an exception, the items before
    it are yielded first.
    """
    waiting: queue.Queue[Any] = queue.Queue(size)
    closed, end, faults = threading.Event(), object(), list[BaseException]()

    def put(item: object) -> bool:
        """Adds to the queue. Returns False if the generator was closed."""
        while not closed.is_set():
            try:
                waiting.put(item, timeout=1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as error:  # raised where the items are used
            faults.append(error)
        put(end)

    threading.Thread(target=read, name="reading ahead", daemon=True).start()
    item: Any = None
    try:
        while item is not end:
            group: list[Piece] = []
            while len(group) < size:
                try:
                    item = waiting.get(timeout=_PAUSE if group else None)
                except queue.Empty:
                    break
                if item is end:
                    break
                group.append(item)
            if group:
                yield group
        if faults:
            raise faults[0]
    finally:
        closed.set()
