"""Reads JSON lines: texts at two keys of an object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.system.files import parse_json
from rnnsearch.text.formats.layout import OPTIONS, Layout, LinePair
from rnnsearch.text.formats.lines import (
    EMPTY_LINE,
    UNREPORTED,
    SideWarnings,
    plain_field,
    raw_lines,
)
from rnnsearch.text.formats.opening import FilePath

Record = dict[str, Any]
_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = object()


def read_json_lines(
    path: FilePath, layout: Layout, warnings: SideWarnings = UNREPORTED
) -> Iterator[LinePair]:
    """Yields the texts at two keys of each object. An empty line is a pair of empty sides; null is
    an empty side.

    Raises InputError as `read_lines` does, and, with the line, for one that is no JSON object,
    lacks a key or has no text there.
    """
    keys: tuple[str, str] | None = None
    for number, line in enumerate(raw_lines(path, warnings[0]), 1):
        if not line.strip(" \t\r"):
            warnings[0].note(EMPTY_LINE, number)
            yield "", ""
            continue
        try:
            record = _parse_record(line)
            keys = keys or _find_keys(record, layout)
            source, target = (_text_at(record, key) for key in keys)
        except InputError as fault:
            raise InputError(str(fault), file=path, line=number) from None
        yield plain_field(source, number, warnings[0]), plain_field(target, number, warnings[1])


def _find_keys(record: Record, layout: Layout) -> tuple[str, str]:
    """Returns the first names of the layout that this record has."""
    for names in layout.names():
        if _MISSING not in [_nested_value(record, name) for name in names]:
            return names
    what = f"does not have the keys {layout.wanted()}; it has: {', '.join(record)}"
    raise InputError(what[:400], f"give the keys of the text{OPTIONS}")


def _text_at(record: Record, key: str) -> str | None:
    """Returns the text at the key; None for null."""
    value = _nested_value(record, key)
    if value is _MISSING:
        what = f"does not have the key '{key}'"
    elif not isinstance(value, str | None):
        what = f"has no text at the key '{key}', but {json.dumps(value)[:40]}"
    elif value and _SURROGATE.search(value):
        what = f"has an incomplete character (a lone surrogate) at the key '{key}'"
    else:
        return value
    raise InputError(what, "correct or delete it")


def _parse_record(line: str) -> Record:
    remedy = "each line must be one JSON object: correct or delete it"
    try:
        record = parse_json(line)
    except ValueError as error:
        raise InputError(f"is not valid JSON: {error}", remedy) from None
    if isinstance(record, list):
        raise InputError("is a JSON array", "write JSON lines: one object on each line")
    if not isinstance(record, dict):
        raise InputError(f"is JSON, but not an object: {line[:40]}", remedy)
    return record


def _nested_value(record: Record, key: str) -> Any:
    """Returns the value at the key, or, if there is no such key, at the nested keys that its dots
    separate."""
    inner: Any = record
    for step in [key] if key in record else key.split("."):
        if inner is None:
            return None
        inner = inner.get(step, _MISSING) if isinstance(inner, dict) else _MISSING
    return inner
