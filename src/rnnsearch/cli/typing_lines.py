"""Lines that a person types at a terminal, each after a prompt."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from rnnsearch.system.progress import is_quiet
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.opening import STDIN


def is_typed(file: str) -> bool:
    return file == STDIN and sys.stdin.isatty()


def typed_lines(say: Callable[[str], None]) -> Iterator[str]:
    """The lines, each asked for when it is wanted. say: told what to do, once."""
    say("Type a sentence and press Enter to translate it; Ctrl-D ends.")
    lines = read_lines(STDIN)
    while True:
        if not is_quiet():
            print("> ", end="", file=sys.stderr, flush=True)
        line = next(lines, None)
        if line is None:
            if not is_quiet():
                print(file=sys.stderr)
            return
        yield line
