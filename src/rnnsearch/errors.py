"""Errors and warnings for users, each with a message of one line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

LONGEST_MESSAGE = 1000
"""Maximum number of characters of a message: longer ones lose their middle."""
LONGEST_SHOWN = 100


class InputError(Exception):
    """Bad usage or bad input. Its text is one line: what is wrong, where, and the remedy."""

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        file: Path | str | None = None,
        line: int | None = None,
    ) -> None:
        place = (
            ""
            if file is None
            else f"{escaped(file)}: "
            if line is None
            else f"{escaped(file)}:{line}: "
        )
        super().__init__(place + one_line(what + (f" ({remedy})" if remedy else "")))


class InputWarning(UserWarning):
    """A warning about input that is valid but probably a mistake."""


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """Returns `did you mean 'train'?` if one of the known words resembles this one, else the empty
    string.
    prefix: put before that word."""
    found = get_close_matches(word[:LONGEST_SHOWN], list(known), n=1)
    return f"did you mean '{prefix}{found[0]}'?" if found else ""


def escaped(name: object) -> str:
    r"""Returns the name of a file, or any text, with unprintable characters escaped.

    Escaped are tabs and line breaks (`\t`), escape characters (`\x1b`), direction marks (`\u202e`),
    and the bytes of a file name that are not UTF-8 (`\udcff`).
    """
    return "".join(
        letter
        if letter.isprintable()
        else letter.encode("unicode_escape", "surrogatepass").decode("ascii")
        for letter in str(name)
    )


def one_line(text: str) -> str:
    """Returns a message on one line: line breaks become spaces, other characters are escaped as in
    `escaped`. A message longer than LONGEST_MESSAGE loses its middle."""
    line = escaped(" ".join(text.splitlines()))
    if len(line) <= LONGEST_MESSAGE:
        return line
    half = LONGEST_MESSAGE // 2
    return f"{line[:half]} … {line[-half:]}"
