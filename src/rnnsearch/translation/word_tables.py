"""Tables of words that are written as text."""

from __future__ import annotations


def word_table(text: str) -> dict[str, str]:
    """Returns the table of a text such as "im I'm, gonna going to": word → what follows it."""
    return dict(row.split(maxsplit=1) for row in text.split(","))


def word_list(text: str) -> list[str]:
    """Returns the words of a text."""
    return text.split()
