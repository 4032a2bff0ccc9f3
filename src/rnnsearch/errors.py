"""The error that a mistake raises, and the one clear line that it shows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

LONGEST = 1000
"""Characters of a message. A value of thousands of digits is quoted by its beginning and its end."""
_LONGEST_NAME = 100


class InputError(Exception):
    """Bad usage or bad input. Its text is one clear line: what is wrong, where, and what to do about it."""

    def __init__(
        self, what: str, *, file: Path | str | None = None, line: int | None = None, remedy: str = ""
    ) -> None:
        place = "" if file is None else f"{printed(file)}: " if line is None else f"{printed(file)}:{line}: "
        super().__init__(place + one_line(what + (f" ({remedy})" if remedy else "")))


class SearchStoppedError(Exception):
    """The caller of a translation has asked to stop it; there is no result."""


class InputWarning(UserWarning):
    """Input that can be used, but hardly is what was meant."""


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """Returns `did you mean 'train'?` if one of the known words resembles this one, else the empty string.
    prefix: put before that word."""
    found = get_close_matches(word[:_LONGEST_NAME], list(known), n=1)
    return f"did you mean '{prefix}{found[0]}'?" if found else ""


def printed(name: object) -> str:
    r"""Returns the name of a file, or any text, with escapes for what no terminal shows as a character.

    Escaped are tabs and line breaks (`\t`), escape characters (`\x1b`), changes of direction (`\u202e`), and
    the bytes of a file name that are not UTF-8 (`\udcff`).
    """
    text = str(name)
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def one_line(text: str) -> str:
    """Returns a message on one line: line breaks become spaces, other characters are escaped as in `printed`.
    A message longer than LONGEST loses its middle."""
    line = printed(" ".join(text.replace("\r\n", "\n").split("\n")))
    if len(line) <= LONGEST:
        return line
    half = LONGEST // 2
    return f"{line[:half]} … {line[-half:]}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
