"""Command lines: what tests call, what they start, and settings that train something tiny."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Command = Callable[..., Any]
"""The fixture `command`."""
HEEDING_CTRL_C = (
    *(sys.executable, "-c"),
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "import rnnsearch.cli; rnnsearch.cli.main()",
)
"""`rnnsearch` as a process: tests that run in the background of a shell were told to ignore Ctrl-C, and so
would be what they start."""


def sizes(size: int) -> list[str]:
    """Settings that give every layer of a network this size."""
    return [
        f"model.{layer}_size={size}" for layer in ("embedding", "hidden", "alignment", "maxout")
    ]


def sets(*settings: str) -> str:
    """Returns the settings as options, with spaces between them: `--set a.b=1 --set c.d=2`."""
    return " ".join(f"--set {setting}" for setting in settings)


def assert_refused(done: Any, *said: str) -> None:
    """The command had no output and exit code 2, and one line that says all of this."""
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert done.err.startswith("rnnsearch: ")
    for part in said:
        assert part in done.err
