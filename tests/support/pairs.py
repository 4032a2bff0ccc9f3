"""Pairs of lines, written as one text."""

from __future__ import annotations

Pair = tuple[str, str]


def pairs_of(text: str) -> list[Pair]:
    """Reads "a b|x, c|" as [("a b", "x"), ("c", "")]; the empty text has no pair."""
    return [tuple(pair.split("|")) for pair in text.split(", ")] if text else []  # type: ignore[misc]
