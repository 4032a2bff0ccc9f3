"""Maps a function over items in several processes, in order and with bounded memory; ends processes
with their parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from rnnsearch.errors import InputError

Given = TypeVar("Given")
Made = TypeVar("Made")


def ordered_map(
    function: Callable[[Given], Made], items: Iterable[Given], workers: int
) -> Iterator[tuple[Given, Made]]:
    """Yields (item, function(item)) in the order of the items. With more than one worker, function,
    items and results must be picklable.

    At most 2 × workers + 1 items are held. The workers end when this process ends, even by kill -9.
    Raises InputError if a worker dies.
    """
    if workers <= 1:
        yield from ((item, function(item)) for item in items)
        return
    # spawn: a fork of a process that runs threads (torch) may hang.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker)
    waiting: deque[tuple[Given, Future[Made]]] = deque()
    try:
        for item in items:
            waiting.append((item, executor.submit(function, item)))
            if len(waiting) > 2 * workers:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    except BrokenProcessPool:
        remedy = 'use one worker; a script with several needs `if __name__ == "__main__":`'
        raise InputError("a worker process ended before its work was done", remedy) from None
    finally:
        executor.shutdown(cancel_futures=True)


def _first(waiting: deque[tuple[Given, Future[Made]]]) -> tuple[Given, Made]:
    item, future = waiting.popleft()  # which frees the item
    return item, future.result()


def _begin_worker() -> None:
    """Leaves Ctrl-C to the parent, and ends the worker when the parent ends, even by kill -9."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_launcher() -> None:
    """Ends this process when torchrun, which started it, has ended: first by SIGTERM, after 20
    seconds by force. Does nothing without torchrun."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()


def _end_after(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(20.0)
    os._exit(2)


def end_with_parent() -> None:
    """Waits for the end of the parent process, and then ends this one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
