"""The progress bar shows itself on a terminal only."""

from __future__ import annotations

import io
import sys

import pytest

from rnnsearch.system.progress import ProgressBar, note


def work(bar: ProgressBar) -> None:
    with bar as progress:
        progress("reading", 0, None)
        progress("reading", 5, None)
        progress("encoding", 1, 2)
        progress("encoding", 2, 2, "123 words/s")


def test_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    work(ProgressBar())
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_it_counts_on_stderr(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    bar = ProgressBar()
    work(bar)
    out, err = capfd.readouterr()
    assert out == ""
    assert "encoding" in err
    assert "reading" in err
    assert "123 words/s" in err
    assert [(task.completed, task.total) for task in bar.bar.tasks] == [(5, None), (2, 2)]


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
    work(ProgressBar())
    assert capfd.readouterr() == ("", "")
