"""The command as a process among others: exit codes, pipes, signals, full disks, closed streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import HEEDING_CTRL_C, Command, sets

pytestmark = pytest.mark.processes
FULL = Path("/dev/full")
needs_a_full_disk = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
TEXT = "The man sees.\n"
LINES = ["The black cat sleeps .", "A dog runs ."]


MODULE = (sys.executable, "-m", "rnnsearch")


def start(*words: object, command: Sequence[str] = MODULE, **streams: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, *map(str, words)], stderr=subprocess.PIPE, encoding="utf-8", **streams
    )


def ended(process: subprocess.Popen[str], text: str | None = None) -> tuple[int, str, str]:
    out, err = process.communicate(text, timeout=300)
    return process.returncode, out, err


@contextmanager
def translating(
    run: Path, *words: object, stdin: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """`translate`, from which one line after the other is read; at the end it is killed."""
    words = "translate", run, "--beam", 2, "--threads", 1, *words
    with start(*words, command=HEEDING_CTRL_C, stdin=stdin, stdout=subprocess.PIPE) as process:
        last_resort = threading.Timer(300, process.kill)
        last_resort.start()
        try:
            yield process
        finally:
            last_resort.cancel()
            process.kill()


def answer(process: Any, line: str) -> str:
    """Sends a line, and waits for the answer."""
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return str(process.stdout.readline())


@pytest.fixture
def answers(command: Command, tiny_run: Path) -> list[str]:
    text = "".join(f"{line}\n" for line in LINES)
    told = command(f"translate {tiny_run} --beam 2", stdin=text.encode())
    return [f"{line}\n" for line in told.lines]


def test_each_line_is_answered_as_it_comes_until_ctrl_c(tiny_run: Path, answers: list[str]) -> None:
    with translating(tiny_run) as process:
        assert [answer(process, line) for line in LINES] == answers
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr
        said = "rnnsearch: interrupted; with --out FILE the same command would go on after line 2\n"
        assert process.stderr.read() == said


def test_a_reader_may_leave(tiny_run: Path) -> None:
    """As `… | head -1` does: then it ends, and says nothing."""
    with translating(tiny_run) as process:
        assert answer(process, LINES[0])
        assert process.stdout
        process.stdout.close()
        assert process.stdin
        process.stdin.write(f"{LINES[1]}\n")
        process.stdin.flush()
        assert process.wait(120) == 0
        assert process.stderr
        assert process.stderr.read() == ""


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Our end of a terminal, and that of the command."""
    pty = pytest.importorskip("pty", reason="there are no terminals on this system")
    ends = pty.openpty()
    yield ends
    os.close(ends[0])


def test_typed_lines_are_answered_one_by_one(
    tiny_run: Path, answers: list[str], terminal: tuple[int, int]
) -> None:
    """Where the output is no terminal, there is no conversation."""
    ours, theirs = terminal
    with translating(tiny_run, stdin=theirs) as process:
        os.close(theirs)
        assert process.stdout
        for line, told in zip(LINES, answers, strict=True):
            os.write(ours, f"{line}\n".encode())
            assert process.stdout.readline() == told
        os.write(ours, b"\4")  # Ctrl-D
        assert process.wait(60) == 0
        assert process.stdout.read() == ""


@needs_a_full_disk
@pytest.mark.slow
def test_a_full_disk_is_one_line(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT * 40)
    for words in (["translate", tiny_run, tmp_path / "text"], ["--help"]):
        with FULL.open("w") as full:
            code, _, err = ended(start(*words, stdout=full))
        assert (code, err) == (
            2,
            "rnnsearch: the output cannot be written: No space left on device\n",
        )


@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_an_empty_one_or_cannot_be_written(
    tiny_corpus: Path, closed: int
) -> None:
    words = ("aer", "--links", "-", "--gold", tiny_corpus / "test.links")
    command = ("sh", "-c", f'exec "$@" {closed}>&-', "sh", *MODULE)
    process = start(*words, command=command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    code, out, err = ended(process, (tiny_corpus / "test.links").read_text())
    assert code == (0 if closed == 2 else 2)
    assert closed != 1 or err == "rnnsearch: the output cannot be written: Bad file descriptor\n"
    assert out.startswith("AER 0.00" if closed == 2 else "")
    assert "Traceback" not in err


@needs_a_full_disk
@pytest.mark.slow
def test_training_needs_nobody_who_watches(tiny_store: Path, tmp_path: Path) -> None:
    changes = (
        *("max_updates=2", "validate_every=1", "validate_bleu=false"),
        *("select_by=nll", "samples=1"),
    )
    limits = sets("training.threads=1", *(f"stopping.{change}" for change in changes))
    line = f"train demo --data {tiny_store} --out {tmp_path}/run {limits}"
    with FULL.open("w") as full:
        process = subprocess.run(
            [*MODULE, *line.split()],
            stderr=full,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            timeout=300,
        )
    assert (process.returncode, process.stdout) == (0, f"{tmp_path / 'run'}\n")
    assert (tmp_path / "run" / "model.safetensors").exists()
