"""Converts parameters in docstrings to a table: `name: meaning. other: meaning. Raises …` becomes
one row per name."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

RAISES = re.compile(r"(?<=[.)`]) (?=Raises |Returns )")


class ParameterTables(Extension):
    """Rewrites the docstring of every function and class that names parameters or attributes."""

    def on_function(self, *, func: Any, **_: Any) -> None:
        rewrite(func, [parameter.name for parameter in func.parameters])

    def on_class(self, *, cls: Any, **_: Any) -> None:
        rewrite(cls, [name for name, member in cls.members.items() if member.is_attribute])


def rewrite(described: Object, names: list[str]) -> None:
    if described.docstring and names:
        described.docstring.value = with_table(
            described.docstring.value, [name.strip("*") for name in names]
        )


def with_table(text: str, names: list[str]) -> str:
    """Returns the docstring with its parameters as a table behind the first paragraphs."""
    name = "|".join(map(re.escape, names))
    start = re.compile(rf"(?:^|(?<=[.)`] ))((?:{name})(?:, (?:{name}))*): ")
    prose, rows, last = [], [], []
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        begun = [*start.finditer(line)]
        if not begun:
            (last if rows else prose).append(paragraph)
            continue
        if before := line[: begun[0].start()].strip():
            prose.append(before)
        for match, end in zip(begun, [*(one.start() for one in begun[1:]), len(line)], strict=True):
            meaning, *rest = RAISES.split(line[match.end() : end].strip(), maxsplit=1)
            named = ", ".join(f"`{each}`" for each in match[1].split(", "))
            rows.append(f"| {named} | {meaning.replace('|', chr(92) + '|')} |")
            last += rest
    if not rows:
        return text
    table = "\n".join(["| parameter | meaning |", "|---|---|", *rows])
    return "\n\n".join([*prose, table, *last])
