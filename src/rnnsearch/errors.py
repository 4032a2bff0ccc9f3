"""The one exception that a user's mistake raises: it carries the single line that the command prints before exit code 2."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_LONGEST_NAME = 100


class InputError(Exception):
    """Bad usage or bad input. Its text is one clear line: what is wrong, where, and what to do about it."""

    def __init__(self, what: str, *, file: Path | str | None = None, line: int | None = None, remedy: str = "") -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(" ".join((place + what + (f" ({remedy})" if remedy else "")).split("\n")))


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """`did you mean 'train'?`, if one of the known words is like this one; else the empty string. prefix: of the answer."""
    found = get_close_matches(word[:_LONGEST_NAME], list(known), n=1)
    return f"did you mean '{prefix}{found[0]}'?" if found else ""
