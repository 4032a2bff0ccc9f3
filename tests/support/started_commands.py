"""Trainings of two seconds: in this process, and as commands of their own, for tests that end them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest
import torch
from command_line import sizes

from rnnsearch.config import load_config
from rnnsearch.run import Run
from rnnsearch.settings import Settings
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.dataset import Corpus
from rnnsearch.training import loop
from rnnsearch.training.display import Display

SMALL = [
    *sizes(8),
    *("model.initialisation=glorot", "training.batch_size=10", "stopping.save_every=3"),
    *("stopping.validate_every=10", "stopping.validate_bleu=false", "stopping.select_by=nll"),
    *("stopping.samples=0", "training.threads=1", "dropout.embedding=0.1"),
    # whatever becomes of the test that started it
    *("stopping.max_updates=30", "stopping.max_minutes=15"),
]
"""Settings of a training of two seconds, with dropout."""
TWO = ("--standalone", "--nproc-per-node", "2")
"""Options of torchrun for two ranks."""
ENDLESS = "stopping.max_updates=1000000"


def settings(*changes: str, **stopping: Any) -> Settings:
    """Those of SMALL, changed."""
    named = [f"stopping.{name}={json.dumps(value)}" for name, value in stopping.items()]
    return load_config(overrides=[*SMALL, *changes, *named])


def train(
    given: Settings, corpus: Corpus, path: Path, *, display: Display | None = None, **how: Any
) -> Run:
    """Trains in this process, quietly unless there is a display. Returns the run, also after a signal."""
    try:
        return loop.train(given, corpus, path, display=display or Display(quiet=True), **how)
    except loop.TrainingInterrupted as ended:
        return ended.run


def train_words(store: Path, run: Path, *changes: str, more: Sequence[str] = ()) -> list[str]:
    """The arguments of `rnnsearch`."""
    sets = [word for change in (*SMALL, *changes) for word in ("--set", change)]
    return ["train", "", "--data", str(store), "--out", str(run), *sets, *more]


def start(
    words: Sequence[str], said: Path, launcher: Sequence[str] = (), **environment: str
) -> subprocess.Popen[bytes]:
    """said: the file that gets what it says. launcher: the words before `-m rnnsearch`, if it is not Python
    itself."""
    with said.open("wb") as file:
        everything = [*(launcher or [sys.executable]), "-m", "rnnsearch", *words]
        return subprocess.Popen(
            everything,
            stderr=file,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | environment,
        )


def torchrun(*options: str) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", *options]


def free_port() -> str:
    """Returns a port that no other program gets by chance: Linux gives away those from 32768 on."""
    while True:
        port = SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return str(port)


def until_saved(training: subprocess.Popen[bytes], run: Path) -> None:
    """Waits until a training has another checkpoint than now."""
    before = saved_at(run)
    while saved_at(run) == before:
        assert training.poll() is None, "it ended before it could be ended"
        time.sleep(0.01)


def saved_at(run: Path) -> int:
    """Returns when the last checkpoint was written, in nanoseconds; 0 if there is none."""
    path = run / "checkpoints" / "last.safetensors"
    return path.stat().st_mtime_ns if path.exists() else 0


def children(process: int) -> list[int]:
    """The processes that compute for this one, by the kernel's list; multiprocessing's own tracker is none of
    them."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    if not listed.exists():
        pytest.skip("needs the kernel's list of child processes")
    found = [int(child) for child in listed.read_text().split()]
    return [
        child
        for child in found
        if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def nobody_left(processes: Sequence[int]) -> None:
    """Waits until all of them have ended."""
    deadline = time.monotonic() + 300
    while any(map(alive, processes)):
        assert time.monotonic() < deadline, "a process outlives the command"
        time.sleep(0.05)


def alive(process: int) -> bool:
    """Tells whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_same_checkpoint(one: Path, other: Path) -> None:
    """Bit for bit, of two runs."""
    expected, notes = load_tensors(one / "checkpoints" / "last.safetensors", "")
    found, other_notes = load_tensors(other / "checkpoints" / "last.safetensors", "")
    updates = [one["progress"]["update"] for one in (notes, other_notes)]
    assert updates[0] == updates[1], updates
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        assert torch.equal(tensor, found[name]), name


def own_lines(said: Path) -> list[str]:
    """What rnnsearch itself says of an end."""
    return [
        line
        for line in said.read_text(encoding="utf-8").split("\n")
        if line.startswith("rnnsearch: ")
    ]
