"""Work in batches: of items as they come, of similar length, and of what the memory holds."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rnnsearch.errors import InputError

READ_AHEAD = 16
"""Batches that are sorted by length together; results come back in the order of the input."""
LARGEST_TENSOR = 1 << 29
"""Numbers in the largest tensor of one step. At the paper's size a batch has 64 × 12 hypotheses with 30,000
words each: 23 million."""
_PAUSE = 0.002
"""Seconds without a further item after which a group is passed on: a file or a generator is faster, a person
or a program is not."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yields lists of `size` items, and one of what is left. An InputError of the items is raised after those
    that came before it."""
    batch: list[Item] = []
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
    items: Sequence[Item],
    length: Callable[[Item], int],
    batch_size: int,
    work: Callable[[list[Item]], Sequence[Result]],
) -> list[Result]:
    """Calls `work` on batches of items of similar length; returns its results in the order of the items."""
    order = sorted(range(len(items)), key=lambda index: length(items[index]), reverse=True)
    results: dict[int, Result] = {}
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        results.update(zip(batch, work([items[index] for index in batch]), strict=True))
    return [results[index] for index in range(len(items))]


def in_halves(
    items: list[Item], cost: Callable[[list[Item]], int], work: Callable[[list[Item]], list[Result]]
) -> list[Result]:
    """Returns `work(items)`, or the work on each half where that costs more than LARGEST_TENSOR; a single
    item is always worked on."""
    if len(items) < 2 or cost(items) <= LARGEST_TENSOR:
        return work(items)
    middle = len(items) // 2
    return [result for half in (items[:middle], items[middle:]) for result in in_halves(half, cost, work)]


def stream_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yields lists of the items that are there, at least one and at most `size`, in their order.

    The items are read on a thread of their own, at most `size` ahead. What they raise is raised after those
    that came before it.
    """
    waiting: queue.Queue[Item | _End] = queue.Queue(size)
    closed = threading.Event()

    def put(item: Item | _End) -> bool:
        """Returns False once nobody wants it any more."""
        while not closed.is_set():
            try:
                waiting.put(item, timeout=1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        end = _End()
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as error:  # raised where the items are used
            end.error = error
        put(end)

    threading.Thread(target=read, name="reading ahead", daemon=True).start()
    end: _End | None = None
    try:
        while end is None:
            group: list[Item] = []
            while end is None and len(group) < size:
                try:
                    item = waiting.get(timeout=_PAUSE if group else None)
                except queue.Empty:
                    break
                if isinstance(item, _End):
                    end = item
                else:
                    group.append(item)
            if group:
                yield group
        if end.error is not None:
            raise end.error
    finally:
        closed.set()


class _End:
    """The mark after the last item. error: what the items ended with, if anything."""

    error: BaseException | None = None
