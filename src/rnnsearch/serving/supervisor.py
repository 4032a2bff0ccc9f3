"""Several processes behind one socket: one that dies is replaced, and only the requests that it held are lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.serving.limits import SHUTDOWN_SECONDS
from rnnsearch.serving.metrics import SHARED
from rnnsearch.serving.server import ProcessOptions, serve
from rnnsearch.system.workers import end_with_parent

PATIENCE, MOST_PATIENCE = 1.0, 30.0
"""Seconds before a worker is begun again whose predecessor ended before it was ready: they double each time."""


@dataclass
class Worker:
    """told: what the process has to say, once: an empty text when it is ready, or why it cannot be."""

    process: BaseProcess
    told: Pipe
    ready: bool = False

    def hear(self) -> str:
        """Why it cannot be ready, if it says so."""
        with contextlib.suppress(EOFError, OSError):
            if not self.ready and self.told.poll():
                problem: str = self.told.recv()
                self.ready = not problem
                return problem
        return ""


class Supervisor:
    """Keeps `options.workers` processes at work. say: is told of what happens to them."""

    def __init__(self, bound: socket.socket, options: ProcessOptions, say: Callable[[str], None]) -> None:
        self._bound, self._options, self._say = bound, options, say
        self._context = multiprocessing.get_context("spawn")  # a fork of a process that runs threads may hang
        self._workers: list[Worker] = []
        self._ended = False

    def run(self, ready: Callable[[], None]) -> None:
        """Until SIGTERM or SIGINT. ready: called when all are ready for the first time. Raises InputError if one cannot be made."""
        with tempfile.TemporaryDirectory(prefix="rnnsearch-metrics-") as folder:
            os.environ[SHARED] = folder
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._told_to_end)
            try:
                self._workers = [self._begin() for _ in range(self._options.workers)]
                for worker in self._workers:
                    self._await(worker)
                if not self._ended:
                    ready()
                self._replace_until_end(Path(folder))
            finally:
                self._end()
                os.environ.pop(SHARED, None)

    def _told_to_end(self, number: int, frame: object) -> None:
        self._ended = True

    def _begin(self) -> Worker:
        here, there = self._context.Pipe(duplex=False)
        # No daemon: those are killed at the end, and what is running shall be finished.
        process = self._context.Process(target=run_worker, args=(self._bound, self._options, there), name="rnnsearch worker")
        process.start()
        there.close()
        return Worker(process, here)

    def _await(self, worker: Worker) -> None:
        """Waits until a worker of the beginning is ready. Raises InputError with what it says if it cannot be."""
        while not self._ended and not worker.ready:
            ended = not worker.process.is_alive()  # asked first: what it said before its end is still heard
            if problem := worker.hear():
                raise InputError(problem)
            if ended and not worker.ready:
                raise InputError(f"a worker ended with code {worker.process.exitcode} before it was ready")
            time.sleep(0.05)

    def _replace_until_end(self, folder: Path) -> None:
        patience = 0.0
        while not self._ended:
            wait([worker.process.sentinel for worker in self._workers], timeout=0.5)  # signals are handled between
            for place, worker in enumerate(self._workers):
                ended = not worker.process.is_alive()
                problem = worker.hear()
                if self._ended or not ended:
                    continue
                _forget_gauges(folder, worker.process.pid)
                what = problem or f"worker {worker.process.pid} ended with code {worker.process.exitcode}"
                self._say(f"{what}: it is replaced")
                patience = 0.0 if worker.ready else min(MOST_PATIENCE, 2 * patience + PATIENCE)
                self._sleep(patience)
                worker.told.close()
                self._workers[place] = self._begin()

    def _sleep(self, seconds: float) -> None:
        latest = time.monotonic() + seconds
        while not self._ended and (left := latest - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))

    def _end(self) -> None:
        """Lets the workers finish what is running."""
        self._bound.close()
        for worker in self._workers:
            with contextlib.suppress(ProcessLookupError, AttributeError):
                worker.process.terminate()
        latest = time.monotonic() + SHUTDOWN_SECONDS + 5
        for worker in self._workers:
            worker.process.join(max(0.1, latest - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def run_worker(bound: socket.socket, options: ProcessOptions, told: Pipe) -> None:
    """The process of a worker. Ctrl-C is the supervisor's business, and without a supervisor there is no worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        serve(bound, options, lambda: told.send(""))
    except InputError as error:
        with contextlib.suppress(OSError):
            told.send(str(error))
        sys.exit(2)


def _forget_gauges(folder: Path, number: int | None) -> None:
    """The queue of a worker that has ended is no queue; what it counted still counts."""
    for file in folder.glob(f"gauge_live*_{number}.db"):
        file.unlink(missing_ok=True)
