"""`translate` answers each line when it comes: typed at a terminal, or through a pipe that stays open."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import HEEDING_CTRL_C, Command

pty = pytest.importorskip("pty", reason="there are no terminals on this system")

LINES = ["The black cat sleeps .", "A dog runs ."]


@contextmanager
def translating(run: Path, stdin: int, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TERM": "dumb"}
    words = (*f"translate {run} --beam 2 --threads 1".split(), *words)
    command = [*HEEDING_CTRL_C, *words]
    with subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def answers(command: Command, tiny_run: Path) -> list[bytes]:
    told = command(f"translate {tiny_run} --beam 2", stdin="".join(f"{line}\n" for line in LINES).encode())
    return [f"{line}\n".encode() for line in told.lines]


def test_through_a_pipe_that_stays_open_and_ctrl_c(tiny_run: Path, answers: list[bytes]) -> None:
    with translating(tiny_run, subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for line, answer in zip(
            LINES, answers, strict=True
        ):  # the second line is sent only after the answer to the first
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert (
            b"interrupted; with --out FILE the same command would go on after line 2" in process.stderr.read()
        )


def test_at_a_terminal(tiny_run: Path, answers: list[bytes]) -> None:
    ours, theirs = pty.openpty()
    try:
        with translating(tiny_run, theirs) as process:
            os.close(theirs)
            assert process.stdout
            assert process.stderr
            assert (
                process.stderr.readline()
                == b"Type a sentence and press Enter to translate it; Ctrl-D ends.\n"
            )
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


def test_a_dictionary_from_a_pipe_is_waited_for_visibly(
    command: Command, tiny_run: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "dictionary"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("horse\tcheval\n"))
    writer.start()
    done = command(f"translate {tiny_run} --replace-unk --dictionary {pipe}", stdin=b"The man sees.\n")
    writer.join()
    assert done.code == 0
    assert done.err.startswith(f"reading {pipe} to its end\n")
