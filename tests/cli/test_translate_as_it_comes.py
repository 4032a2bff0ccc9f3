"""`translate` answers each line when it comes: typed at a terminal, or through a pipe that stays open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pty = pytest.importorskip("pty", reason="there are no terminals on this system")

# Tests that run in the background of a shell were told to ignore Ctrl-C, and so would be what they start.
HEEDING_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import rnnsearch.cli; rnnsearch.cli.main()"
LINES = ["The black cat sleeps .", "A dog runs ."]


@contextmanager
def translating(run: Path, stdin: int, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TERM": "dumb"}
    command = [sys.executable, "-c", HEEDING_CTRL_C, "translate", str(run), "--beam", "2", "--threads", "1", *words]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def answers(command: Callable[..., Any], tiny_run: Path) -> list[bytes]:
    told = command("translate", tiny_run, "--beam", "2", stdin="".join(f"{line}\n" for line in LINES).encode())
    return [f"{line}\n".encode() for line in told.lines]


def test_through_a_pipe_that_stays_open_and_ctrl_c(tiny_run: Path, answers: list[bytes]) -> None:
    with translating(tiny_run, subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for line, answer in zip(LINES, answers, strict=True):  # the second line is sent only after the answer to the first
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert b"interrupted; with --out FILE the same command would go on after line 2" in process.stderr.read()


def test_at_a_terminal(tiny_run: Path, answers: list[bytes]) -> None:
    ours, theirs = pty.openpty()
    try:
        with translating(tiny_run, theirs) as process:
            os.close(theirs)
            assert process.stdout
            assert process.stderr
            assert process.stderr.readline() == b"Type a sentence and press Enter to translate it; Ctrl-D ends.\n"
            for line, answer in zip(LINES, answers, strict=True):
                assert process.stderr.read(2) == b"> "
                os.write(ours, f"{line}\n".encode())
                assert process.stdout.readline() == answer
            assert process.stderr.read(2) == b"> "
            os.write(ours, b"\4")  # Ctrl-D
            assert process.wait(60) == 0
            assert process.stdout.read() == b""
    finally:
        os.close(ours)


@pytest.mark.slow
def test_quietly_there_is_no_prompt(tiny_run: Path, answers: list[bytes]) -> None:
    ours, theirs = pty.openpty()
    try:
        with translating(tiny_run, theirs, "--quiet") as process:
            os.close(theirs)
            os.write(ours, f"{LINES[0]}\n".encode() + b"\4")
            assert process.communicate(timeout=100) == (answers[0], b"")
    finally:
        os.close(ours)
