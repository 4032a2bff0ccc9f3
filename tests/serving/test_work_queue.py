"""The queue: what waits together is worked on together, nothing is lost or swapped, and nothing grows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.work_queue import QueuedTask, WorkQueue


class Held:
    """Work that waits for `go`, writes down its batches, and answers with what it was given."""

    def __init__(self, held: bool = True) -> None:
        self.go, self.begun = threading.Event(), threading.Semaphore(0)
        self.batches: list[list[Any]] = []
        if not held:
            self.go.set()

    def __call__(self, group: Any, tasks: Sequence[QueuedTask]) -> list[Any]:
        self.batches.append([task.item for task in tasks])
        self.begun.release()
        assert self.go.wait(20)
        return [(group, task.item) for task in tasks]

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=20)


def in_loop(work: Callable[..., Any], test: Callable[[WorkQueue], Any], **options: Any) -> Any:
    async def run() -> Any:
        queue = WorkQueue(work, Metrics(), **({"batch": 4, "capacity": 10} | options))
        queue.begin()
        try:
            return await test(queue)
        finally:
            await asyncio.wait_for(queue.end(), 20)

    return asyncio.run(run())


def tasks(*items: Any, group: str = "g") -> list[QueuedTask]:
    return [QueuedTask(group, item, len(str(item))) for item in items]


def test_each_task_gets_its_own_result() -> None:
    async def test(queue: WorkQueue) -> None:
        asked = [
            asyncio.gather(*queue.submit(tasks(f"{n}", f"{n}" * (n % 7 + 1), group=f"g{n % 3}")))
            for n in range(100)
        ]
        for n, answer in enumerate(await asyncio.gather(*asked)):
            assert answer == [(f"g{n % 3}", f"{n}"), (f"g{n % 3}", f"{n}" * (n % 7 + 1))]

    in_loop(Held(held=False), test, capacity=1_000)


def test_a_lone_task_does_not_wait_and_those_that_came_meanwhile_go_together_by_length() -> None:
    work = Held()

    async def test(queue: WorkQueue) -> None:
        first = queue.submit(tasks("first"))
        await work.has_begun()
        later = queue.submit(tasks("aa", "bbbbbbbbb", "c", "dddddddd", "ee", "f"))
        other = queue.submit(tasks("other", group="h"))
        work.go.set()
        await asyncio.gather(*first, *later, *other)

    in_loop(work, test)
    assert work.batches[0] == ["first"]
    assert sorted(work.batches[1]) == ["aa", "c", "ee", "f"]
    assert sorted(map(sorted, work.batches[2:])) == [["bbbbbbbbb", "dddddddd"], ["other"]]


def test_a_short_request_passes_a_long_one() -> None:
    work = Held()

    async def test(queue: WorkQueue) -> None:
        first = queue.submit(tasks("first"))
        await work.has_begun()
        many = queue.submit(tasks(*range(100, 140), group="long"))
        short = queue.submit(tasks("short"))
        work.go.set()
        await asyncio.gather(*first, *many, *short)

    in_loop(work, test, capacity=100)
    assert ["short"] in work.batches[2:4]


def test_what_one_task_brings_about_is_no_fault_of_the_others() -> None:
    def work(group: Any, some: Sequence[QueuedTask]) -> list[Any]:
        if any(task.item == "bad" for task in some):
            raise ValueError("bad")
        return [task.item for task in some]

    async def test(queue: WorkQueue) -> None:
        results = await asyncio.gather(*queue.submit(tasks("a", "bad", "c")), return_exceptions=True)
        assert results[0] == "a"
        assert isinstance(results[1], ValueError)
        assert results[2] == "c"
        assert await queue.submit(tasks("later"))[0] == "later"

    in_loop(work, test)
