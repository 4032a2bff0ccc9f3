"""The queue in front of the models: requests that wait together are worked on together, by one thread that never blocks the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rnnsearch.serving.refusal import busy

FAIR_SECONDS = 0.01
"""A sentence waits as if it had come so much later for each sentence before it in its request: long requests let short ones pass."""
COLLECT_SECONDS = 0.005
"""A batch that would not be full waits so long for others, if it follows another at once. A request that finds no work never waits."""


@dataclass(eq=False, slots=True)
class Task:
    """One sentence, or one pair. group: only tasks of one group are worked on together. size: its length, in any unit."""

    group: Hashable
    item: Any
    size: int
    listener: Callable[[Any], None] | None = None
    due: float = 0.0
    arrived: float = 0.0
    future: asyncio.Future[Any] = field(init=False)


Work = Callable[[Any, Sequence[Task]], Sequence[Any]]
"""(group, its tasks) → a result for each."""


class Observer(Protocol):
    """Is told what happens, by any thread."""

    def waiting(self, tasks: int) -> None: ...

    def batch(self, tasks: Sequence[Task], begun: float, seconds: float) -> None: ...


class WorkQueue:
    """Holds `capacity` tasks at most. `begin` and `submit` are called in the event loop that waits for the results."""

    def __init__(self, work: Work, *, batch: int, capacity: int, observer: Observer | None = None) -> None:
        self._work, self._batch, self.capacity, self._observer = work, batch, capacity, observer
        self._waiting: list[Task] = []
        self._changed = threading.Condition()
        self._ended = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finished: deque[tuple[float, int]] = deque(maxlen=32)  # (when, tasks) of the latest batches

    def begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)
        self._thread.start()

    async def end(self) -> None:
        """Finishes what waits."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, tasks: Sequence[Task]) -> list[asyncio.Future[Any]]:
        """Their futures; one that is cancelled gives its place up. Raises RefusalError (503) if there is no room for all."""
        now = time.monotonic()
        for index, task in enumerate(tasks):
            task.arrived, task.due = now, now + index * FAIR_SECONDS
            task.future = asyncio.get_running_loop().create_future()
            task.future.add_done_callback(self._given_up)
        with self._changed:
            if self._ended:
                raise busy("the service is ending", 5)
            if len(self._waiting) + len(tasks) > self.capacity:
                raise busy("the queue is full", self._seconds_to_clear())
            self._waiting.extend(tasks)
            self._changed.notify()
        self._tell()
        return [task.future for task in tasks]

    def _tell(self) -> None:
        if self._observer is not None:
            with contextlib.suppress(Exception):
                self._observer.waiting(len(self._waiting))

    def _seconds_to_clear(self) -> float:
        """About how long half of the queue will take, by the speed of the latest batches; at most half a minute."""
        if len(self._finished) < 2:
            return 2.0
        elapsed = time.monotonic() - self._finished[0][0]
        done = sum(tasks for _, tasks in self._finished)
        return min(30.0, len(self._waiting) / 2 * elapsed / done)

    def _given_up(self, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            with self._changed:
                self._waiting = [task for task in self._waiting if task.future is not future]
            self._tell()

    def _run(self) -> None:
        follows = False  # another batch, at once
        while True:
            tasks, follows = self._next(follows)
            if not tasks:
                return
            begun = time.monotonic()
            results = self._results(tasks)
            self._finished.append((time.monotonic(), len(tasks)))
            assert self._loop is not None
            self._loop.call_soon_threadsafe(_deliver, tasks, results)
            if self._observer is not None:
                with contextlib.suppress(Exception):  # numbers that cannot be written end no work
                    self._observer.batch(tasks, begun, time.monotonic() - begun)
                self._tell()

    def _next(self, follows: bool) -> tuple[list[Task], bool]:
        """The next batch, waited for; none at the end. And whether the batch after it will follow at once."""
        with self._changed:
            if not self._waiting:
                follows = False
            while not self._waiting and not self._ended:
                self._changed.wait()
            chosen = self._chosen()
            latest = time.monotonic() + COLLECT_SECONDS
            while follows and not self._ended and len(chosen) < self._batch and (left := latest - time.monotonic()) > 0:
                self._changed.wait(left)
                chosen = self._chosen()
            taken = set(map(id, chosen))
            self._waiting = [task for task in self._waiting if id(task) not in taken]
        if not chosen and not self._ended:  # all have been given up meanwhile
            return self._next(False)
        return chosen, True

    def _chosen(self) -> list[Task]:
        """Of the waiting the first that is due, and those of its group that are nearest to it in length: they search side by side."""
        if not self._waiting:
            return []
        first = min(self._waiting, key=lambda task: task.due)
        alike = [task for task in self._waiting if task.group == first.group]
        return sorted(alike, key=lambda task: (abs(task.size - first.size), task.due))[: self._batch]

    def _results(self, tasks: Sequence[Task]) -> list[Any]:
        """A result, or the exception that it brought, for each: what one task brings about is no fault of the others."""
        try:
            return list(self._work(tasks[0].group, tasks))
        except Exception as error:
            if len(tasks) == 1:
                return [error]
        return [result for task in tasks for result in self._results([task])]


def _deliver(tasks: Sequence[Task], results: Sequence[Any]) -> None:
    """In the event loop."""
    for task, result in zip(tasks, results, strict=True):
        if task.future.done():  # nobody waits for it any more
            continue
        if isinstance(result, Exception):
            task.future.set_exception(result)
        else:
            task.future.set_result(result)
