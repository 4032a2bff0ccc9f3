"""The queue: what waits together is worked on together, nothing is lost or swapped, and nothing grows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from rnnsearch.serving.work_queue import QueuedTask, WorkQueue


class HeldWork:
    """Work that waits for `go`, writes down its batches, and answers with what it was given."""

    def __init__(self, held: bool = True) -> None:
        self.go, self.begun = threading.Event(), threading.Semaphore(0)
        self.batches: list[list[Any]] = []
        if not held:
            self.go.set()

    def __call__(self, group: Any, tasks: Sequence[QueuedTask]) -> list[Any]:
        self.batches.append([task.item for task in tasks])
        self.begun.release()
        assert self.go.wait(60)
        if "bad" in self.batches[-1]:
            raise ValueError("bad")
        return [(group, task.item) for task in tasks]

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=60)


def in_loop(work: HeldWork, test: Callable[[WorkQueue], Any], batch: int = 4, capacity: int = 10) -> None:
    async def run() -> None:
        queue = WorkQueue(work, batch, capacity)
        working = asyncio.create_task(queue.run())
        await test(queue)
        assert queue.waiting == []
        working.cancel()

    asyncio.run(run())


def tasks(*items: Any, group: str = "g") -> list[QueuedTask]:
    return [QueuedTask(group, item, len(str(item))) for item in items]


def test_what_came_meanwhile_goes_together_by_length_and_short_requests_pass_long_ones() -> None:
    work = HeldWork()

    async def test(queue: WorkQueue) -> None:
        first = queue.submit(tasks("first"))
        await work.has_begun()
        later = queue.submit(tasks("aa", "bbbbbbbbb", "c", "dddddddd", "ee", "f"))
        other = queue.submit(tasks("other", group="h"))
        work.go.set()
        await asyncio.gather(*first, *later, *other)

    in_loop(work, test, capacity=100)
    assert work.batches[0] == ["first"]
    assert sorted(work.batches[1]) == ["aa", "c", "ee", "f"]
    assert work.batches[2:] == [["other"], ["bbbbbbbbb", "dddddddd"]]
