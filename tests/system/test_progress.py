"""The progress bar shows itself on a terminal only."""

from __future__ import annotations

import io
import re
import sys

import pytest

from rnnsearch.system.progress import note, progress_bar


def work() -> None:
    with progress_bar() as progress:
        progress("reading", 0, None)
        progress("reading", 5, None)
        progress("encoding", 1, 2)
        progress("encoding", 2, 2, "123 words/s")


def test_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    work()
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_it_counts_on_stderr(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    work()
    out, err = capfd.readouterr()
    assert out == ""
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", err)
    assert "reading" in shown
    assert re.search(r"encoding .* 100% .*123 words/s", shown)


def test_a_note_that_nobody_can_read_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    note("warning: nobody reads this")


def test_quiet_is_for_notes_and_bars(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TTY_COMPATIBLE", "FORCE_COLOR", "RNNSEARCH_QUIET"):
        monkeypatch.setenv(name, "1")
    note("unwanted")
    work()
    assert capfd.readouterr() == ("", "")
