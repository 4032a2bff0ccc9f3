"""The commands of a study, each in a process of its own, and the state of every run."""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rnnsearch.config import Settings, load_config
from rnnsearch.errors import InputError
from rnnsearch.studies.study import StudyFolder, StudyRun
from rnnsearch.system.progress import QUIET
from rnnsearch.training.checkpoint import read_progress
from rnnsearch.training.loop import reason_to_stop

POLL = 0.1
"""Seconds between two checks of the processes."""
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)
"""Linux's prctl. It is looked up here because a process that was just forked should do as little as
possible."""
END_WITH_PARENT = 1
"""prctl's option PR_SET_PDEATHSIG: the signal that a process gets when its parent ends."""


class Command(NamedTuple):
    """A command of rnnsearch. name: also that of its log. words: the arguments. made: the file or folder that
    it writes."""

    name: str
    words: list[str]
    made: Path

    def __str__(self) -> str:
        return shlex.join(["rnnsearch", *self.words])


def train_command(run: StudyRun, one_thread: bool = False) -> Command:
    """Returns the command that trains a run, or resumes its training."""
    words = ["train", run.recipe, "--data", str(run.store), "--out", str(run.path), "--resume"]
    words += changes(run.settings, run.recipe, "model", "training", "search")
    return Command(run.name, [*words, *["--set", "training.threads=1"] * one_thread], run.path)


def changes(wanted: Settings, recipe: str, *sections: str) -> list[str]:
    """Returns `--set` arguments for all settings that differ from the recipe."""
    usual, values = load_config(recipe).model_dump(), wanted.model_dump()
    return [
        word
        for section in sections
        for key, value in values[section].items()
        if value != usual[section][key] and value is not None
        for word in ("--set", f"{section}.{key}={value if isinstance(value, str) else json.dumps(value)}")
    ]


def raise_error(command: Command, error: str) -> None:
    """Raises InputError with the error of a command, if it has one."""
    if error:
        raise InputError(error)


def run_commands(
    commands: Sequence[Command],
    folder: StudyFolder,
    lock: int,
    look: Callable[[str, str], None],
    ended: Callable[[Command, str], None] = raise_error,
    side_by_side: int = 1,
) -> None:
    """Runs every command, `side_by_side` at a time.

    lock: a file descriptor that every process inherits. look: called repeatedly with the name of each running
    command and the last line of its log. ended: called with each command and its error, "" if it succeeded.
    On Ctrl-C the call ends after all processes have saved and ended; a second Ctrl-C kills them.
    """
    waiting = list(commands)
    running: list[tuple[Command, subprocess.Popen[bytes]]] = []
    try:
        while waiting or running:
            while waiting and len(running) < side_by_side:
                command = waiting.pop(0)
                running.append((command, _start(command, folder.log(command.name), lock)))
            for each in list(running):
                command, process = each
                log = folder.log(command.name)
                if process.poll() is None:
                    look(command.name, last_line(log))
                else:
                    running.remove(each)
                    ended(command, _error(log, process.returncode))
            time.sleep(POLL)
    finally:
        _end([process for _, process in running])


def _start(command: Command, log: Path, lock: int) -> subprocess.Popen[bytes]:
    """Starts the command in a session of its own, which Ctrl-C does not reach; it ends with this process."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "rnnsearch", *command.words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            pass_fds=(lock,),
            preexec_fn=_end_with_parent,
            env=os.environ | {QUIET: ""},  # logs are never quiet
        )


def _end_with_parent() -> None:
    """Asks the kernel for SIGTERM when the parent dies; a training then saves and ends."""
    if PRCTL is not None:
        PRCTL(END_WITH_PARENT, signal.SIGTERM)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Asks the processes to save and end, and waits; kills them on a further Ctrl-C."""
    for process in processes:
        process.terminate()
    try:
        for process in processes:
            process.wait()
    except KeyboardInterrupt:
        for process in processes:
            process.kill()
            process.wait()
        raise


def _error(log: Path, code: int) -> str:
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return (last_line(log).removeprefix("rnnsearch: ") or f"exit code {code}") if code else ""


def last_line(log: Path, size: int = 4096) -> str:
    """Returns the last line of a log that is neither empty nor indented; "" if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.path.getsize(log) - size))
            lines = file.read().decode("utf-8", errors="replace").replace("\r", "\n").split("\n")
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.strip() and not line.startswith(" ")), "").strip()


class RunState(NamedTuple):
    """State of a run. share: the fraction of its training that is done. minutes: its training time so far."""

    run: StudyRun
    updates: int = 0
    share: float = 0.0
    minutes: float = 0.0
    trained: bool = False
    measured: bool = False

    @property
    def whole(self) -> float | None:
        """Estimated minutes of the whole training; None if unknown."""
        return self.minutes / self.share if self.share else None

    def line(self, usual: float | None) -> str:
        """Describes the state in a line. usual: minutes of an average run."""
        if self.trained:
            state, after = ("done", "") if self.measured else ("trained", "; not measured yet")
            return f"{self.run.name}: {state}, {self.updates:,} updates in {duration(self.minutes)}{after}"
        whole = self.whole or usual
        left = "" if whole is None else f", about {duration(whole - self.minutes)} left"
        done = f"at update {self.updates:,} ({self.share:.0%})" if self.updates else "not begun"
        return f"{self.run.name}: {done}{left}"


def duration(minutes: float) -> str:
    """Formats a time: `3 min`, `2 h 05 min`."""
    hours, rest = divmod(round(minutes), 60)
    if hours:
        return f"{hours} h {rest:02d} min"
    return f"{rest} min" if minutes >= 1 else f"{60 * minutes:.0f} s"


def usual_minutes(states: list[RunState]) -> float | None:
    """Returns the mean of the trainings' estimated minutes; None if none is known."""
    known = [state.whole for state in states if state.whole]
    return sum(known) / len(known) if known else None


def time_left(states: list[RunState], side_by_side: int) -> str:
    """Describes the remaining training time; empty if it is unknown."""
    usual = usual_minutes(states)
    left = sum((state.whole or usual or 0.0) - state.minutes for state in states)
    return "" if usual is None else f"about {duration(left / side_by_side)} of training left"


def run_state(run: StudyRun, measured: bool = False) -> RunState:
    """Returns the state of a run. measured: whether its row is in the results.

    A run is trained if it has reached the limits in its settings; if a limit is raised, it is not.
    """
    checkpoint = run.path / "checkpoints" / "last.safetensors"
    if not checkpoint.exists():
        return RunState(run)
    progress, training = read_progress(checkpoint), run.settings.training
    minutes = progress.seconds / 60
    if progress.finished and reason_to_stop(training, progress):
        return RunState(run, progress.update, 1.0, minutes, True, measured)
    limits = (
        (training.max_updates, float(progress.update)),
        (training.max_epochs, progress.epochs),
        (training.max_minutes, minutes),
    )
    share = min(1.0, max((done / limit for limit, done in limits if limit), default=0.0))
    return RunState(run, progress.update, share, minutes)
