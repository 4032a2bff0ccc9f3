"""Progress of long work: a callback, a progress bar, and notes on stderr, unless `--quiet` is
given."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

Progress = Callable[[str, int, int | None], None]
"""Callback with (what is being done, number done, total or None if it is unknown)."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, except the tab and the line feed."""
QUIET = "RNNSEARCH_QUIET"
"""The environment variable that `--quiet` sets."""


def silent(text: str, done: int, total: int | None) -> None:
    """Reports no progress."""


class LastingStream:
    """A text stream that ignores errors of writing, such as a closed pipe or a full disk."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        # ValueError: a closed stream, or characters that its encoding lacks
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def is_quiet() -> bool:
    """Tells whether `--quiet` suppresses progress, warnings and notes. Results and errors are
    always shown."""
    return bool(os.environ.get(QUIET))


def note(text: str) -> None:
    """Prints a warning or a note to stderr, unless `--quiet` is given. Errors of writing are
    ignored."""
    if not is_quiet():
        print(safe_for(sys.stderr, text), file=cast(TextIO, LastingStream(sys.stderr)))


def show(text: str, stream: TextIO | None = None) -> None:
    """Prints a line of results at once, by default to stdout."""
    stream = stream or sys.stdout
    print(safe_for(stream, text), file=stream, flush=True)


def safe_for(stream: TextIO, text: str) -> str:
    """Returns the text for a stream. A terminal gets control characters and changes of writing
    direction as escapes such as `\\x1b`, because they could forge what is on the screen."""
    with suppress(ValueError):  # a closed stream
        if stream.isatty():
            return _CONTROLS.sub(
                lambda found: found[0].encode("unicode_escape").decode("ascii"), text
            )
    return text


@contextmanager
def progress_bar(shown: bool = True) -> Iterator[Callable[..., None]]:
    """Yields a function that shows progress: (what is being done, number done, total or None) and a
    note.
    Without a terminal, with `--quiet` and unless `shown`, it shows nothing."""
    if is_quiet() or not shown:  # rich need not be imported
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn

    console = Console(file=cast(TextIO, LastingStream(sys.stderr)))
    columns = (*Bar.get_default_columns(), TextColumn("{task.fields[note]}"))
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}

        def advance(text: str, done: int, total: int | None, note: str = "") -> None:
            if text not in tasks:
                tasks[text] = bar.add_task(text, total=total, note=note)
            bar.update(tasks[text], completed=done, total=total, note=note)

        yield advance
