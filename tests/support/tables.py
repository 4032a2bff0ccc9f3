"""Tables of cases that a test writes as text."""

from __future__ import annotations

from textwrap import dedent


def rows(text: str, mark: str = " → ") -> list[tuple[str, ...]]:
    """Reads a case from each line; its columns stand between marks."""
    return [tuple(line.split(mark)) for line in dedent(text).strip("\n").split("\n")]
