"""The queue in front of the models: one thread works on the waiting tasks in batches, and never blocks the
event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from rnnsearch.errors import SearchStoppedError
from rnnsearch.serving.limits import busy
from rnnsearch.serving.metrics import Metrics

FAIR_SECONDS = 0.05
"""Seconds by which a task counts as later for every USUAL_WORDS before it in its request, so that short
requests overtake long ones."""
USUAL_WORDS = 25
"""Words of a usual sentence. A batch has at most as many words as a full batch of usual sentences, so that
long sentences do not make others wait longer."""
COLLECT_SECONDS = 0.005
"""Seconds that a batch which is not full waits for further tasks, if it directly follows another. A request
to an idle service never waits."""


@dataclass(eq=False, slots=True)
class QueuedTask:
    """A unit of work: a sentence, a part of a long one, or a pair.

    group: only tasks of one group share a batch. size: length in words; for a pair, that of a sentence that
    takes as long. listener: receives partial results. due: when it should be worked on; with `arrived`,
    seconds of time.monotonic().
    """

    group: Hashable
    item: Any
    size: int
    listener: Callable[[Any], None] | None = None
    due: float = 0.0
    arrived: float = 0.0
    future: asyncio.Future[Any] = field(init=False)


Work = Callable[[Any, Sequence[QueuedTask]], Sequence[Any]]
"""(group, its tasks) → a result for each."""


class WorkQueue:
    """A queue of at most `capacity` tasks. work: does a batch.

    Call `begin` and `submit` in the event loop that waits for the results.
    """

    def __init__(self, work: Work, metrics: Metrics, *, batch: int, capacity: int) -> None:
        self._work, self._metrics, self._batch, self.capacity = work, metrics, batch, capacity
        self._waiting: list[QueuedTask] = []
        self._changed = threading.Condition()
        self._ended = False
        self._thread: threading.Thread | None = None
        self._finished: deque[tuple[float, int]] = deque(maxlen=32)  # (when, tasks) of the latest batches

    def begin(self) -> None:
        """Starts the thread that works on the tasks."""
        arguments = (asyncio.get_running_loop(),)
        self._thread = threading.Thread(target=self._run, args=arguments, name="models", daemon=True)
        self._thread.start()

    async def end(self, seconds: float | None = None) -> None:
        """Finishes the waiting tasks, within this many seconds; a batch that takes longer is not waited
        for."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, seconds)

    @property
    def alive(self) -> bool:
        """Tells whether the thread is at work."""
        return self._thread is not None and self._thread.is_alive()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, tasks: Sequence[QueuedTask]) -> list[asyncio.Future[Any]]:
        """Returns a future for each task; cancelling it removes the task from the queue. Raises RefusalError
        (503) if there is no room for all."""
        now = due = time.monotonic()
        for task in tasks:
            task.arrived, task.due = now, due
            due += FAIR_SECONDS * task.size / USUAL_WORDS
            task.future = asyncio.get_running_loop().create_future()
            task.future.add_done_callback(self._drop_cancelled)
        with self._changed:
            if self._ended:
                raise busy("the service is ending", 5)
            if len(self._waiting) + len(tasks) > self.capacity:
                raise busy("the queue is full", self._seconds_to_clear())
            self._waiting.extend(tasks)
            self._changed.notify()
        self._metrics.waiting(len(self._waiting))
        return [task.future for task in tasks]

    def _seconds_to_clear(self) -> float:
        """Estimates the seconds for half of the queue from the speed of the latest batches; at most 30."""
        if len(self._finished) < 2:
            return 2.0
        elapsed = time.monotonic() - self._finished[0][0]
        done = sum(tasks for _, tasks in self._finished)
        return min(30.0, len(self._waiting) / 2 * elapsed / done)

    def _drop_cancelled(self, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            with self._changed:
                self._waiting = [task for task in self._waiting if task.future is not future]
            self._metrics.waiting(len(self._waiting))

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while tasks := self._wait_for_batch():
            begun = time.monotonic()
            results = self._results(tasks)
            self._finished.append((time.monotonic(), len(tasks)))
            self._metrics.batch([begun - task.arrived for task in tasks], time.monotonic() - begun)
            self._metrics.waiting(len(self._waiting))
            with contextlib.suppress(RuntimeError):  # the loop is closed: the service has ended
                loop.call_soon_threadsafe(_deliver, tasks, results)

    def _wait_for_batch(self) -> list[QueuedTask]:
        """Waits for the next batch and returns it; empty at the end."""
        with self._changed:
            chosen: list[QueuedTask] = []
            while not chosen and not (self._ended and not self._waiting):
                follows = bool(self._waiting)
                self._changed.wait_for(lambda: self._waiting or self._ended)
                if follows:
                    self._changed.wait_for(
                        lambda: self._ended or len(self._next_tasks()) >= self._batch, COLLECT_SECONDS
                    )
                chosen = self._next_tasks()  # empty if all were cancelled meanwhile
            taken = set(chosen)
            self._waiting = [task for task in self._waiting if task not in taken]
        return chosen

    def _next_tasks(self) -> list[QueuedTask]:
        """Returns the next batch: the task that is due first, and those of its group with the most similar
        lengths. Together they have at most the words of a full batch of usual sentences."""
        if not self._waiting:
            return []
        first = min(self._waiting, key=lambda task: task.due)
        alike = [task for task in self._waiting if task.group == first.group]
        alike.sort(key=lambda task: (task is not first, abs(task.size - first.size), task.due))
        words = accumulate(task.size for task in alike[: self._batch])
        fitting = sum(used <= USUAL_WORDS * self._batch for used in words)
        return alike[: max(1, fitting)]

    def _results(self, tasks: Sequence[QueuedTask]) -> list[Any]:
        """Returns a result or an exception for each task: one task's fault does not affect the others."""
        try:
            return list(self._work(tasks[0].group, tasks))
        except Exception as error:
            if len(tasks) == 1 or isinstance(error, SearchStoppedError):
                return [error] * len(tasks)
        return [result for task in tasks for result in self._results([task])]


def _deliver(tasks: Sequence[QueuedTask], results: Sequence[Any]) -> None:
    """Sets the results of the futures, in the event loop."""
    for task, result in zip(tasks, results, strict=True):
        if task.future.done():  # cancelled
            continue
        if isinstance(result, Exception):
            task.future.set_exception(result)
        else:
            task.future.set_result(result)
