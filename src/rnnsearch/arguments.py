"""Checks of the arguments of Python functions. What is refused raises InputError."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import zip_longest
from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar

from rnnsearch.errors import LONGEST_SHOWN, InputError

First = TypeVar("First")
Second = TypeVar("Second")
Item = TypeVar("Item")


def require(name: str, value: object, *kinds: type) -> None:
    """Raises InputError unless an argument of a Python function has one of these types."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(
            f"{name} is {_short(value)}, of type {type(value).__name__}", f"give a {wanted}"
        )


def require_number(
    name: str, value: Any, least: float, most: float = inf, *, whole: bool = True
) -> None:
    """Raises InputError unless an argument of a Python function is a number from `least` to
    `most`."""
    kind = Integral if whole else Real
    if not isinstance(value, kind) or not least <= float(value) <= most:
        limits = f"at least {least}" if most == inf else f"from {least} to {most}"
        remedy = f"give a {'whole ' * whole}number, {limits}"
        raise InputError(f"{name} is {_short(value)}", remedy)


def require_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raises InputError unless an argument of a Python function is one of these words."""
    if value not in choices:
        raise InputError(f"{name} is {_short(value)}", f"use one of {', '.join(choices)}")


def require_texts(name: str, table: object) -> None:
    """Raises InputError unless an argument of a Python function is a mapping of texts to texts."""
    require(name, table, Mapping)
    for pair in table.items():  # type: ignore[attr-defined]
        for text in pair:
            require(f"an entry of {name}", text, str)


def _short(value: object) -> str:
    return repr(value)[:LONGEST_SHOWN]


def given_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines, and checks each as it is read; a string is one line. Raises InputError if
    one is not text."""
    lines = [lines] if isinstance(lines, str) else lines
    return (
        _checked(line, f"line {number}")
        for number, line in enumerate(given_items(lines, "lines"), 1)
    )


def given_pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields pairs of a source and a target line, each checked as it is read, as `given_lines`
    does."""
    for number, pair in enumerate(given_items(pairs, "pairs"), 1):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            what = f"pair {number} is {type(pair).__name__}, not a source and a target line"
            raise InputError(what, "give tuples of two strings")
        yield (
            _checked(pair[0], f"the source of pair {number}"),
            _checked(pair[1], f"the target of pair {number}"),
        )


def given_texts(texts: Iterable[str], name: str) -> list[str]:
    """Returns the texts of an argument with this name. Raises InputError for a single text, a
    table, and what is no text."""
    items = enumerate(given_items(texts, name), 1)
    return [_checked(item, f"item {number} of {name}") for number, item in items]


def in_step(
    first: Iterable[First],
    second: Iterable[Second],
    names: tuple[object, object],
    remedy: str = "give files in which line N of one belongs to line N of the other",
) -> Iterator[tuple[First, Second]]:
    """Yields pairs of items of two sides. At the end, raises InputError if one side has more.
    names: those of the sides, in its message."""
    sides = iter(first), iter(second)
    for number, pair in enumerate(zip_longest(*sides)):
        if None in pair:
            ends = zip(pair, sides, strict=True)
            one, other = (number + (item is not None) + sum(1 for _ in rest) for item, rest in ends)
            lines = f"{one:,} line{'s' * (one != 1)}"
            what = f"{names[0]} has {lines} and {names[1]} has {other:,}, so they are not parallel"
            raise InputError(what, remedy)
        yield pair


def given_items(items: Iterable[Item], what: str) -> Iterable[Item]:
    """Raises InputError for what is no list of items: a single text, tables, which list their
    columns, and sets, which have no order."""
    single = isinstance(items, (str, bytes)) or not hasattr(items, "__iter__")
    if single or isinstance(items, (Mapping, set, frozenset)) or hasattr(items, "columns"):
        remedy = f"give a list of {'strings or pairs' if single else 'its values'}"
        raise InputError(f"{type(items).__name__} was given, not {what}", remedy)
    return items


def _checked(line: object, name: str) -> str:
    if not isinstance(line, str):
        remedy = (
            "decode it, as in line.decode('utf-8')" if isinstance(line, bytes) else "give strings"
        )
        raise InputError(f"{name} is {type(line).__name__}, not text", remedy)
    return line
