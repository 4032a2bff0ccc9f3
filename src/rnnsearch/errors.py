"""What a user is told in one line: the error that a mistake raises, and the warning about a name that has changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

LONGEST = 1000
"""Characters of a message. A value of thousands of digits is quoted by its beginning and its end."""
_LONGEST_NAME = 100


class InputError(Exception):
    """Bad usage or bad input. Its text is one clear line: what is wrong, where, and what to do about it."""

    def __init__(self, what: str, *, file: Path | str | None = None, line: int | None = None, remedy: str = "") -> None:
        place = "" if file is None else f"{printed(file)}: " if line is None else f"{printed(file)}:{line}: "
        super().__init__(place + one_line(what + (f" ({remedy})" if remedy else "")))


class RenamedWarning(FutureWarning):
    """A setting or an option was used under its old name, which the next version will not know."""


def warn_renamed(old: str, new: str, *, file: Path | str | None = None) -> None:
    """Warns, once for each file and name. file: where the old name stands."""
    place = "" if file is None else f"{printed(file)}: "
    warnings.warn(f"{place}{old} is now called {new}; the next version will not know the old name", RenamedWarning, stacklevel=2)


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """`did you mean 'train'?`, if one of the known words is like this one; else the empty string. prefix: of the answer."""
    found = get_close_matches(word[:_LONGEST_NAME], list(known), n=1)
    return f"did you mean '{prefix}{found[0]}'?" if found else ""


def printed(name: object) -> str:
    r"""The name of a file, or any text, as it can be printed and stored: what no terminal shows as a character is escaped.

    That is a tab or line break (`\t`), an escape character (`\x1b`), a change of direction (`\u202e`), and a byte of a file name that
    is not UTF-8 (`\udcff`). Other text is unchanged.
    """
    text = str(name)
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def one_line(text: str) -> str:
    """A message on one line that leaves the terminal as it is: line breaks become spaces, the rest is as in `printed`."""
    line = printed(" ".join(text.replace("\r\n", "\n").split("\n")))
    if len(line) <= LONGEST:
        return line
    half = LONGEST // 2
    return f"{line[:half]} … {line[-half:]}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
