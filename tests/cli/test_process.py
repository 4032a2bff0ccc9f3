"""The command as a process among others: exit codes, pipes, signals, full disks, closed streams."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from command_line import HEEDING_CTRL_C, sets

from rnnsearch.translation.outputs_file import count_outputs

FULL = Path("/dev/full")
needs_a_full_disk = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
TEXT = "The man sees.\n"


MODULE = (sys.executable, "-m", "rnnsearch")


def start(*words: object, command: Sequence[str] = MODULE, **streams: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([*command, *map(str, words)], stderr=subprocess.PIPE, encoding="utf-8", **streams)


def ended(process: subprocess.Popen[str], text: str | None = None) -> tuple[int, str, str]:
    out, err = process.communicate(text, timeout=120)
    return process.returncode, out, err


@contextmanager
def reading_endless_text(*words: object) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """`yes … | rnnsearch …`, and its output, from which one line has been read: it streams, and is at
    work."""
    with subprocess.Popen(["yes", TEXT.strip()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:
        words = (*words, "--json", "--batch-size", 1, "--threads", 1)
        command = HEEDING_CTRL_C
        with start(*words, command=command, stdin=source.stdout, stdout=subprocess.PIPE) as process:
            last_resort = threading.Timer(120, process.kill)
            last_resort.start()
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith('{"text"')
                yield process, process.stdout
            finally:
                last_resort.cancel()
                process.kill()
                source.kill()


def test_it_translates_what_comes_in(tiny_run: Path) -> None:
    code, out, err = ended(
        start("translate", tiny_run, stdin=subprocess.PIPE, stdout=subprocess.PIPE), f"{TEXT}\n{TEXT}"
    )
    assert (code, err) == (0, "")
    first, second, third, end = out.split("\n")
    assert (first, second, end) == (third, "", "")


def test_a_mistake_has_exit_code_2_and_no_traceback() -> None:
    code, out, err = ended(start("translate", "nosuch", stdout=subprocess.PIPE))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("rnnsearch: there is no folder and no installed model 'nosuch'")


def test_it_streams_and_a_reader_may_leave(tiny_run: Path) -> None:
    """As `… | head -1` does: then it ends, and says nothing."""
    with reading_endless_text("translate", tiny_run) as (process, out):
        out.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(timeout=120) == 0


def test_ctrl_c_has_exit_code_130(tiny_run: Path) -> None:
    with reading_endless_text("translate", tiny_run, "--samples", 1) as (process, out):
        process.send_signal(signal.SIGINT)
        out.read()
        assert process.stderr is not None
        assert process.stderr.read() == "rnnsearch: interrupted\n"
        assert process.wait(timeout=120) == 130


@pytest.mark.slow
def test_killed_it_goes_on_and_the_file_is_that_of_undisturbed_work(
    command: Any, tiny_run: Path, tmp_path: Path
) -> None:
    """kill -9 in the middle, and then the same command: 60 lines in blocks of 16."""
    (tmp_path / "text").write_text(
        "".join(f"The man sees {'the horse and ' * (number % 7)}the woman.\n" for number in range(60))
    )
    line = f"translate {tiny_run} {tmp_path}/text --json --beam 2 --batch-size 1 --threads 1"
    process, journal = start(*line.split(), "--out", tmp_path / "out"), tmp_path / ".out.journal"
    while count_outputs(journal) < 17 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    assert ended(process)[0] == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    before = journal.read_bytes()
    with journal.open("a") as file:
        file.write('{"number": 48, "te')
    assert command(f"{line} --out {tmp_path}/out").code == 0
    assert not journal.exists()
    assert (tmp_path / "out").read_text("utf-8") == command(line).out
    assert 17 <= before.count(b"\n") < 61


@needs_a_full_disk
@pytest.mark.slow
def test_a_full_disk_is_one_line(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT * 40)
    for words in (["translate", tiny_run, tmp_path / "text"], ["--help"]):
        with FULL.open("w") as full:
            code, _, err = ended(start(*words, stdout=full))
        assert (code, err) == (2, "rnnsearch: the output cannot be written: No space left on device\n")
    code, _, err = ended(
        start("translate", tiny_run, tmp_path / "text", "--links", FULL, stdout=subprocess.DEVNULL)
    )
    assert (code, err) == (2, "rnnsearch: /dev/full: cannot be written: No space left on device\n")


@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_an_empty_one(tiny_corpus: Path, closed: int) -> None:
    words = ("aer", "--links", "-", "--gold", tiny_corpus / "test.links")
    command = ("sh", "-c", f'exec "$@" {closed}>&-', "sh", *MODULE)
    process = start(*words, command=command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    code, out, err = ended(process, (tiny_corpus / "test.links").read_text())
    assert code == (2 if closed == 0 else 0)
    assert out.startswith("AER 0.00" if closed == 2 else "")
    assert "Traceback" not in err


@needs_a_full_disk
@pytest.mark.slow
def test_training_needs_nobody_who_watches(tiny_store: Path, tmp_path: Path) -> None:
    changes = (
        *("max_updates=2", "validate_every=1", "validate_bleu=false"),
        *("select_by=nll", "samples=1", "threads=1"),
    )
    limits = sets(*(f"training.{change}" for change in changes))
    line = f"train demo --data {tiny_store} --out {tmp_path}/run {limits}"
    with FULL.open("w") as full:
        process = subprocess.run(
            [*MODULE, *line.split()], stderr=full, stdout=subprocess.PIPE, encoding="utf-8", timeout=120
        )
    assert (process.returncode, process.stdout) == (0, f"{tmp_path / 'run'}\n")
    assert (tmp_path / "run" / "model.safetensors").exists()
