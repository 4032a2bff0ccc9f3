"""Ctrl-C and SIGTERM while a command trains: an exit code that says so, and a line that says how to go on."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Command, sets, sizes

from rnnsearch.cli.commands import app
from rnnsearch.run import read_statistics
from rnnsearch.training.loop import received_signals

LIMITS = ("max_updates=6", "validate_every=100", "samples=0")
SMALL = sets(*sizes(4), *(f"stopping.{limit}" for limit in LIMITS))


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGUSR1, 138)],
)
def test_an_interrupted_training_says_so_by_its_exit_code(
    command: Command, interrupted: Any, tiny_store: Path, tmp_path: Path, number: int, code: int
) -> None:
    made = interrupted(2, number)
    line = f"train demo --data {tiny_store} --out {tmp_path}/run {SMALL}"
    stopped = command(line)
    assert (stopped.code, stopped.out) == (code, "")
    assert "\ninterrupted after 2 updates, " in stopped.err
    assert stopped.err.endswith("\ngo on with --resume\n")
    finished = command(f"{line} --resume")
    assert finished.code == 0
    assert made == [1, 2, 3, 4, 5, 6]
    assert "reached stopping.max_updates" in finished.err


def test_which_signals_end_training_at_once() -> None:
    """A terminal that goes away sends SIGHUP twice, and nohup has it ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with received_signals() as received:
            signal.raise_signal(signal.SIGHUP)
            assert received == []
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with received_signals() as received:
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM):
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert len(received) == 4
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A demo of a second, in a folder whose name must be quoted."""
    monkeypatch.setattr("rnnsearch.demo.TRAIN_PAIRS", 120)
    monkeypatch.setattr("rnnsearch.demo.HELD_OUT_PAIRS", 5)
    monkeypatch.chdir(tmp_path)
    return [f"demo {SMALL} --set search.max_length_ratio=1.0 --out", "my demo"]


def test_the_demo_goes_on_where_it_was_interrupted(
    command: Command, interrupted: Any, demo: list[str]
) -> None:
    made = interrupted(2)
    stopped = command(*demo)
    assert (stopped.code, stopped.out) == (130, "")
    assert stopped.err.count("\n") == 3
    assert "\ninterrupted after 2 updates, " in stopped.err
    assert stopped.err.endswith("\nthe same command goes on\n")
    finished = command(*demo)
    assert finished.code == 0, finished.err
    assert made == [1, 2, 3, 4, 5, 6]
    assert read_statistics(Path("my demo/run"))["updates"] == 6
    assert Path("my demo/alignment.png").exists()
    assert command(*demo).out == finished.out  # nothing is left to train
    assert made == [1, 2, 3, 4, 5, 6]
    other = command(*demo, "--set", "training.seed=7")
    assert (other.code, "name another folder with --out" in other.err) == (2, True)


def test_the_demos_last_lines_do_as_they_stand(command: Command, demo: list[str]) -> None:
    """Two are run; of the others the words are parsed and the files looked for."""
    lines = command(*demo).out.split("What to type next:")[1].split("\n")
    shown = [shlex.split(line) for line in lines if line.startswith("  ")]
    echoed, report, prepare, train = shown
    assert echoed[:1] + echoed[2:4] == ["echo", "|", "rnnsearch"]
    assert command(*echoed[4:], stdin=f"{echoed[1]}\n".encode()).code == 0
    assert command(*prepare[1:]).code == 0
    for _, name, *words in (report, train):
        parameters = typer.main.get_command(app).commands[name].make_context(name, words).params  # type: ignore[attr-defined]
        assert parameters
        assert all(
            Path(word).exists() for word in words if word.startswith("my demo/") or word == "store"
        )
