"""Runs done in processes of their own, several side by side; ended together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.studies.job import INTERRUPTED, Job, describe
from rnnsearch.system.progress import QUIET

POLL = 0.1
"""Seconds between two looks at the processes."""


@dataclass(frozen=True)
class Task:
    """A job and the file that gets what its process says."""

    name: str
    job: Job
    log: Path


@dataclass(frozen=True)
class Outcome:
    """error: the last line that the process said, empty if all went well."""

    task: Task
    error: str


def last_line(log: Path, size: int = 4096) -> str:
    """The last line of a log that is not empty and not part of a list; "" if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.path.getsize(log) - size))
            lines = file.read().decode("utf-8", errors="replace").replace("\r", "\n").split("\n")
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.strip() and not line.startswith(" ")), "").strip()


def run_all(
    tasks: Sequence[Task], side_by_side: int, lock: int, ended: Callable[[Outcome], None], watch: Callable[[list[Task]], None]
) -> None:
    """Does every task, `side_by_side` at a time; one that fails does not stop the others.

    lock: a descriptor that every process inherits. ended: told of every task in the order they end. watch: called again and again.
    On Ctrl-C every process is asked to save and end, and waited for; a second Ctrl-C kills them. Raises KeyboardInterrupt then.
    """
    waiting = list(tasks)
    running: dict[str, tuple[Task, subprocess.Popen[str]]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < side_by_side:
                task = waiting.pop(0)
                running[task.name] = task, _start(task, lock)
            for name, (task, process) in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    _close(process)
                    if process.returncode == INTERRUPTED:  # somebody ended this one alone, and wants an end
                        raise KeyboardInterrupt
                    ended(Outcome(task, _error(task, process.returncode)))
            watch([task for task, _ in running.values()])
            time.sleep(POLL)
    finally:
        _end([process for _, process in running.values()])


def _start(task: Task, lock: int) -> subprocess.Popen[str]:
    task.log.parent.mkdir(parents=True, exist_ok=True)
    with task.log.open("a", encoding="utf-8") as log:
        # In a session of its own, so that Ctrl-C reaches it through us only: a second one would cost what it has not saved.
        process = subprocess.Popen(
            [sys.executable, "-m", "rnnsearch.studies"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            encoding="utf-8",
            start_new_session=True,
            pass_fds=(lock,),
            env={name: value for name, value in os.environ.items() if name != QUIET},  # a log holds all that there is to say
        )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended already: its exit code says so
        process.stdin.write(describe(task.job))
        process.stdin.flush()
    return process


def _error(task: Task, code: int) -> str:
    if code == 0:
        return ""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
    return last_line(task.log).removeprefix("rnnsearch: ") or f"exit code {code}"


def _end(processes: list[subprocess.Popen[str]]) -> None:
    """Asks them to save and end, and waits; kills them if the user cannot wait."""
    try:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            process.wait()
    except KeyboardInterrupt:
        for process in processes:
            process.kill()
            process.wait()
        raise
    finally:
        for process in processes:
            _close(process)


def _close(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.close()
