"""Pairs of lines written as one text, and files of lines."""

from __future__ import annotations

from pathlib import Path

Pair = tuple[str, str]


def pairs_of(text: str) -> list[Pair]:
    """Reads "a b|x, c|" as [("a b", "x"), ("c", "")]; the empty text has no pair."""
    return [tuple(pair.split("|")) for pair in text.split(", ")] if text else []  # type: ignore[misc]


def lines_of(path: Path | str) -> list[str]:
    """Returns the lines of a file that `write` could have written."""
    return Path(path).read_text("utf-8").split("\n")[:-1]


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path
