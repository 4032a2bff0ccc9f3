"""Lines and pairs that a Python caller gives instead of files: whatever is no text becomes one clear line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import InputWarnings, plain_field, read_lines, side_by_side

Lines = str | Path | Iterable[str]
"""A file of lines, or the lines themselves."""

_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # a string may hold some, but no file that is made of it


def is_file(lines: object) -> bool:
    return isinstance(lines, (str, Path))


def given_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines, each looked at as it is read. Raises InputError for a single text, and for lines that are not text."""
    return (_text(line, f"line {number}") for number, line in enumerate(_several(lines, "lines"), 1))


def given_pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """As `given_lines`, for pairs of a source and a target line."""
    for number, pair in enumerate(_several(pairs, "pairs"), 1):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            what = f"pair {number} is {_kind(pair)}, not a source and a target line"
            raise InputError(what, remedy="give tuples of two strings")
        source, target = pair
        yield _text(source, f"the source of pair {number}"), _text(target, f"the target of pair {number}")


def read_given(
    source: Lines | Iterable[tuple[str, str]], target: Lines | None, source_warnings: InputWarnings, target_warnings: InputWarnings
) -> Iterator[tuple[str, str]]:
    """As `read_pairs`, where each side is a file or lines, or where `source` gives pairs and `target` is None."""
    if target is None:
        for number, (left, right) in enumerate(given_pairs(source), 1):  # type: ignore[arg-type]
            yield _plain(left, number, source_warnings), _plain(right, number, target_warnings)
        return
    sources, targets = _side(source, source_warnings), _side(target, target_warnings)  # type: ignore[arg-type]
    yield from side_by_side(sources, targets, name_of(source), name_of(target))


def name_of(lines: object) -> str:
    """What reports and messages call one side of a corpus."""
    return str(lines) if is_file(lines) else "lines in memory"


def _side(lines: Lines, warnings: InputWarnings) -> Iterator[str]:
    if isinstance(lines, (str, Path)):
        return read_lines(lines, warnings)
    return (_plain(line, number, warnings) for number, line in enumerate(given_lines(lines), 1))


def _plain(line: str, number: int, warnings: InputWarnings) -> str:
    return plain_field(line.removesuffix("\n").translate(_SURROGATES) if not line.isprintable() else line, number, warnings)


def _several(items: Iterable[object], what: str) -> Iterable[object]:
    if isinstance(items, str):
        raise InputError(f"one text was given where {what} are expected", remedy="put it into a list")
    if isinstance(items, bytes):
        raise InputError(f"bytes were given where {what} are expected", remedy="decode them, and put the text into a list")
    if not hasattr(items, "__iter__"):
        raise InputError(f"what was given is {_kind(items)}, and {what} are expected", remedy="give a list of them")
    return items


def _text(line: object, name: str) -> str:
    if isinstance(line, str):
        return line
    remedy = "decode it, as in line.decode('utf-8')" if isinstance(line, bytes) else "give strings; an empty line is ''"
    raise InputError(f"{name} is {_kind(line)}, not text", remedy=remedy)


def _kind(item: object) -> str:
    return "None" if item is None else "bytes" if isinstance(item, bytes) else f"of type {type(item).__name__}"
