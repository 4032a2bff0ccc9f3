"""Work in batches: what was read before a fault is worked on before the fault is raised, and no batch outgrows the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rnnsearch.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one of what is left. An InputError of the items is raised after those that came before it."""
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


def in_halves(items: list[Item], cost: Callable[[list[Item]], int], limit: int, work: Callable[[list[Item]], list[Result]]) -> list[Result]:
    """`work(items)`, or, if that costs more than `limit`, the work on each half of them; a single item is always worked on."""
    if len(items) < 2 or cost(items) <= limit:
        return work(items)
    middle = len(items) // 2
    return [result for half in (items[:middle], items[middle:]) for result in in_halves(half, cost, limit, work)]
