"""The one exception that a user's mistake raises: it carries the single line that the command prints before exit code 2."""

from __future__ import annotations

from pathlib import Path


class InputError(Exception):
    """Bad usage or bad input. Its text is one clear line: what is wrong, where, and what to do about it."""

    def __init__(self, what: str, *, file: Path | str | None = None, line: int | None = None, remedy: str = "") -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(" ".join((place + what + (f" ({remedy})" if remedy else "")).split("\n")))
