"""The progress of long work, on stderr unless it is unwanted: a callback, a progress bar, and notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

if TYPE_CHECKING:
    from rich.progress import Progress as RichBar
    from rich.progress import TaskID

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done, and of how many, or None if that is unknown."""

QUIET = "RNNSEARCH_QUIET"
"""The environment variable that `--quiet` sets."""


class LastingStream:
    """A text stream whose reader may go and whose disk may fill: what cannot be written is lost, and the
    writer never learns of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # the latter of a closed stream, or of letters that its encoding lacks
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def is_quiet() -> bool:
    """Tells whether progress, warnings and notes are unwanted. Results and errors are always shown."""
    return bool(os.environ.get(QUIET))


def note(text: str) -> None:
    """Prints a warning or a note to stderr, unless they are unwanted. If nobody can be told, the work goes
    on."""
    if not is_quiet():
        print(text, file=cast(TextIO, LastingStream(sys.stderr)))


class ProgressBar:
    """Called with (what is being done, how many are done, of how many or None) and a note; shows nothing
    without a terminal or if unwanted.

    shown: False to show nothing anywhere.
    """

    def __init__(self, shown: bool = True) -> None:
        self.bar: RichBar | None = None
        self.tasks: dict[str, TaskID] = {}
        if is_quiet() or not shown:  # rich need not be imported
            return
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import TextColumn

        console = Console(file=cast(TextIO, LastingStream(sys.stderr)))
        columns = (*Bar.get_default_columns(), TextColumn("{task.fields[note]}"))
        self.bar = Bar(*columns, console=console, transient=True, disable=not console.is_terminal)

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, text: str, done: int, total: int | None, note: str = "") -> None:
        if self.bar is None:
            return
        if text not in self.tasks:
            self.tasks[text] = self.bar.add_task(text, total=total, note=note)
        self.bar.update(self.tasks[text], completed=done, total=total, note=note)
