"""The queue in front of the models, where one thread works on batches of the waiting tasks; and the
counters and refusals of the service."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock
from typing import Any

from fastapi import HTTPException
from prometheus_client import Counter, Histogram

OWNER = ContextVar("owner", default="")
"""The API key or the address of the client whose request is being answered."""
REQUESTS = Histogram(
    "rnnsearch_request_seconds", "Time of a request; status 0: gone", ["route", "status"]
)
WORDS = Counter("rnnsearch_words", "Words of translations that were written", ["model"])
USUAL_WORDS = 25
"""Words of a usual sentence. A batch has at most as many words as a full batch of usual sentences,
so that long sentences do not make others wait longer."""
OVERTAKING = 4
"""Times that a task is longer than those that may overtake it while it is worked on."""


class AbandonedError(Exception):
    """Raised in work whose result nobody waits for any more."""


def check_limit(owner: str, number: int, things: str, most: int, remedy: str = "send less") -> None:
    """Raises HTTPException if `owner` has more than `most` things."""
    if number > most:
        raise HTTPException(
            413, f"{owner} has {number:,} {things}, but the limit is {most:,}: {remedy}"
        )


def busy(what: str, status: int = 503) -> HTTPException:
    """Returns the refusal of a request that may succeed later."""
    return HTTPException(status, f"{what}; try again in 5 s", {"Retry-After": "5"})


@dataclass(eq=False, slots=True)
class QueuedTask:
    """A unit of work: a sentence in parts, or a pair.

    group: only tasks of one group share a batch. size: length in words; for a pair or a wide beam,
    that of a usual sentence that takes as long. numbers: of its alignments, as expected. due: the
    place in the queue, in words. future: of the result; once it is done or cancelled, nobody waits.
    """

    group: Hashable
    item: Any
    size: int
    numbers: int = 0
    owner: str = ""
    due: int = 0
    future: asyncio.Future[Any] = field(init=False)


class WorkQueue:
    """A queue of at most `capacity` tasks, of which one client may have half.

    work: (group, its tasks) → a result for each.
    """

    def __init__(
        self, work: Callable[[Any, Sequence[QueuedTask]], Sequence[Any]], batch: int, capacity: int
    ) -> None:
        self.work, self._batch, self._capacity = work, batch, capacity
        self.waiting: list[QueuedTask] = []
        self._changed, self._lock = asyncio.Event(), Lock()
        self._now = 0  # the place of the latest task that was begun

    def submit(self, tasks: Sequence[QueuedTask]) -> list[asyncio.Future[Any]]:
        """Returns a future for each task. Raises HTTPException if there is no room for all.

        A request's later tasks come after the first ones of others, so that short requests overtake
        long ones.
        """
        owner, number = OWNER.get(), len(tasks)
        with self._lock:
            self._drop()
            theirs = sum(task.owner == owner for task in self.waiting)
            if len(self.waiting) + number > self._capacity:
                raise busy("the queue is full")
            if theirs and 2 * (theirs + number) > self._capacity:
                raise busy("half of the queue waits for this client already", 429)
            for task, due in zip(tasks, accumulate(task.size for task in tasks), strict=True):
                task.owner, task.due = owner, self._now + due
                task.future = asyncio.get_running_loop().create_future()
            self.waiting += tasks
        self._changed.set()
        return [task.future for task in tasks]

    async def run(self) -> None:
        """Works on the tasks until it is cancelled."""
        models, loop = ThreadPoolExecutor(1, "models"), asyncio.get_running_loop()
        while await self._changed.wait():
            if tasks := self._next_batch():
                await loop.run_in_executor(models, self._work_on, loop, tasks)
            else:
                self._changed.clear()

    def let_overtake(self, tasks: Sequence[QueuedTask]) -> None:
        """Works on waiting tasks that are much shorter than these, one batch at a time, unless
        these are of a usual length. Called in the models' thread while it works on them. Raises
        AbandonedError if nobody waits for any of these tasks."""
        largest = max(task.size for task in tasks) // OVERTAKING
        if largest >= USUAL_WORDS and (shorter := self._next_batch(largest)):
            self._work_on(tasks[0].future.get_loop(), shorter)
        if all(task.future.done() for task in tasks):
            raise AbandonedError

    def _work_on(self, loop: asyncio.AbstractEventLoop, tasks: Sequence[QueuedTask]) -> None:
        """Works on tasks, in the models' thread, and sets their results in the event loop."""
        loop.call_soon_threadsafe(_set_results, tasks, self._results(tasks))

    def _next_batch(self, largest: float = math.inf) -> list[QueuedTask]:
        """Takes the task that is due first, of those that are not larger than `largest`, and those
        of its group with the most similar lengths."""
        with self._lock:
            self._drop()
            waiting = [task for task in self.waiting if task.size <= largest]
            if not waiting:
                return []
            first = min(waiting, key=lambda task: task.due)
            alike = [task for task in waiting if task.group == first.group]
            alike.sort(key=lambda task: (task is not first, abs(task.size - first.size), task.due))
            words = accumulate(task.size for task in alike[: self._batch])
            chosen = alike[: max(1, sum(used <= USUAL_WORDS * self._batch for used in words))]
            self.waiting = [task for task in self.waiting if task not in chosen]
            self._now = max(self._now, first.due)
            return chosen

    def _drop(self) -> None:
        """Drops the tasks that nobody waits for."""
        self.waiting = [task for task in self.waiting if not task.future.done()]

    def _results(self, tasks: Sequence[QueuedTask]) -> list[Any]:
        """Returns a result or an exception for each task: one task's fault does not affect the
        others."""
        try:
            return list(self.work(tasks[0].group, tasks))
        except Exception as error:
            if len(tasks) == 1 or isinstance(error, AbandonedError):
                return [error] * len(tasks)
        return [result for task in tasks for result in self._results([task])]


def _set_results(tasks: Sequence[QueuedTask], results: Sequence[Any]) -> None:
    for task, result in zip(tasks, results, strict=True):
        if not task.future.done():
            failed = isinstance(result, Exception)
            (task.future.set_exception if failed else task.future.set_result)(result)
