"""What no one has foreseen is one line too: exit code 2 for the input and the machine, 1 for an error inside
rnnsearch."""

from __future__ import annotations

import errno
from collections.abc import Callable

import numpy as np
import pytest
import torch
from command_line import Command

from rnnsearch.cli.commands import exit_message
from rnnsearch.evaluation import alignment_error


def of_depth() -> None:
    of_depth()


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (lambda: torch.empty(1 << 60), "there is not enough memory"),
        (lambda: torch.empty(1 << 62, 1 << 62), "too large"),
        (lambda: np.zeros(1 << 50), "there is not enough memory: Unable to allocate"),
        (lambda: np.int64(1 << 80), "a number or a size is too large"),
        (lambda: int("9" * 5000), "a number or a size is too large"),
        (of_depth, "nested too deeply"),
    ],
)
def test_the_machine_and_the_input(fails: Callable[[], object], said: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        fails()
    code, line = exit_message(caught.value)
    assert code == 2
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "the output cannot be written: No space left on device",
        ),
        (OSError(errno.EMFILE, "Too many open files"), "[Errno 24] Too many open files"),
        (
            OSError(errno.EACCES, "Permission denied", "a\nb\udcff"),
            r"a b\udcff: Permission denied (check path and permissions)",
        ),
    ],
)
def test_the_system(error: OSError, line: str) -> None:
    assert exit_message(error) == (2, line)


def test_memory_for_a_process() -> None:
    _, line = exit_message(OSError(errno.ENOMEM, "Cannot allocate memory"))
    assert line.startswith("there is not enough memory: ")


def test_an_error_inside_is_one_line_and_debug_shows_all_of_it(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("two\nlines")

    monkeypatch.setattr(alignment_error, "read_gold", broken)
    line = "aer --links a --gold b"
    done, shown = command(line), command(f"--debug {line}")
    assert (done.code, done.out, shown.code) == (1, "", 1)
    assert (
        done.err
        == "rnnsearch: internal error: KeyError: 'two\\nlines' (run `rnnsearch --debug …` for the "
        "traceback, and report it)\n"
    )
    assert shown.err.startswith("Traceback (most recent call last):\n")
    assert shown.err.endswith(done.err)
