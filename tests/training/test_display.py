"""What a person sees of a training, at any width of the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from rnnsearch.training import display as display_module
from rnnsearch.training.display import Display


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in {
        "TTY_COMPATIBLE": "1",
        "FORCE_COLOR": "1",
        "TERM": "xterm",
        "RNNSEARCH_QUIET": "",
        "TTY_INTERACTIVE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def set_clock(patch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
    """Sets the clock of the display alone: a service that another test left open sleeps by Python's own."""
    patch.setattr(display_module, "time", SimpleNamespace(monotonic=clock))


def shown(stream: io.StringIO) -> list[str]:
    """The lines of a terminal, without its control sequences."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()))


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_the_time_left_is_in_the_live_line(terminal: pytest.MonkeyPatch, columns: int) -> None:
    terminal.setenv("COLUMNS", str(columns))
    stream, now = io.StringIO(), 0.0
    set_clock(terminal, lambda: now)
    with Display(stream) as display:
        display.begin(150_000, 0)
        display.update(12_045, 0.36, 4.6, 12_345.6)
        now = 87.5
        display.update(12_345, 0.37, 4.5678, 12_345.6)
        display.live.refresh()
    lines = [line.rstrip() for line in shown(stream) if "12,345 of 150,000" in line]
    assert lines
    for line in lines:
        assert re.search(r"\b11:09:10 left", line), line
        assert len(line) <= columns
    assert ("nll/word 4.568" in lines[-1]) == (columns >= 80)
    assert ("tokens/s" in lines[-1]) == (columns >= 100)


def test_the_time_left_ends_at_the_limit_of_minutes(terminal: pytest.MonkeyPatch) -> None:
    stream, now = io.StringIO(), 0.0
    set_clock(terminal, lambda: now)
    with Display(stream) as display:
        display.begin(150_000, 0, seconds=100.0)
        display.update(12_045, 0.36, 4.6, 12_345.6)
        now = 87.5
        display.update(12_345, 0.37, 4.5678, 12_345.6)
        display.live.refresh()
    assert any("12,345 of 150,000  0:00:12 left" in line for line in shown(stream))


SAMPLE = ("wörd " * 40, "短い文 " * 40, "short\x1b[2J")


def test_samples_take_a_line_each_on_a_terminal(terminal: pytest.MonkeyPatch) -> None:
    terminal.setenv("COLUMNS", "60")
    stream = io.StringIO()
    Display(stream).samples([SAMPLE])
    source, reference, translation = [line for line in shown(stream) if line.strip()]
    assert source.startswith("  source       wörd wörd")
    assert len(source) == 60
    assert source.endswith("…")
    assert len(reference.encode("utf-16-le")) // 2 < 60  # wide letters take two columns
    assert reference.endswith("…")
    assert translation == "  translation  short\N{REPLACEMENT CHARACTER}[2J"
