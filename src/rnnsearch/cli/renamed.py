"""Options whose names have changed. The old name works for one more version, with a warning; no help shows it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rnnsearch.errors import RenamedWarning, warn_renamed

RENAMED = {
    "align": {"--beside": "--compare"},
    "bench": {"--candidates": "--lexical-shortlist"},
    "translate": {
        "--candidates": "--lexical-shortlist",
        "--frequent-candidates": "--lexical-shortlist-frequent",
        "--candidates-per-word": "--lexical-shortlist-per-word",
    },
}
"""Command → old name of an option → its name today."""


def current_options(command: str, arguments: Sequence[str]) -> list[str]:
    """The arguments of a command with today's names of its options; warns of old ones."""
    renamed, result = RENAMED.get(command, {}), []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in renamed:
            warn_renamed(name, renamed[name])
            name = renamed[name]
        result.append(f"{name}{equals}{value}")
    return result


@contextmanager
def warnings_in_one_line(say: Callable[[str], None]) -> Iterator[None]:
    """Says each RenamedWarning in one line, where Python would show a line of its source."""
    with warnings.catch_warnings():
        shown_before = warnings.showwarning

        def show(
            message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None, line: str | None = None
        ) -> None:
            if issubclass(category, RenamedWarning):
                say(f"rnnsearch: warning: {message}")
            else:
                shown_before(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("default", RenamedWarning)
        yield
