"""JSON lines: a record is an object on a line of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import InputWarnings, plain_field, raw_lines
from rnnsearch.text.formats.readers.layout import EMPTY_LINE, NO_TEXT, Layout, LinePair

_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = object()


def read_json_lines(path: str | Path, layout: Layout, source_warnings: InputWarnings, target_warnings: InputWarnings) -> Iterator[LinePair]:
    """The texts at two keys of each object. An empty line is a pair of empty sides; null is an empty side.

    Raises InputError, with the line, for what is no JSON object, lacks a key or has no text there, besides what `read_lines` raises.
    """
    keys: tuple[str, str] | None = None
    for number, line in enumerate(raw_lines(path, source_warnings), 1):
        if not line.strip(" \t\r"):
            source_warnings.note(EMPTY_LINE, number)
            yield "", ""
            continue
        record = _record(line, path, number)
        keys = keys or _keys(record, layout, path, number)
        yield _text(record, keys[0], path, number, source_warnings), _text(record, keys[1], path, number, target_warnings)


def _record(line: str, path: str | Path, number: int) -> dict[str, Any]:
    remedy = "each line must be one JSON object: correct or delete it"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", file=path, line=number, remedy=remedy) from None
    if not isinstance(record, dict):
        raise InputError(f"is JSON, but not an object: {line[:40]}", file=path, line=number, remedy=remedy)
    return record


def _keys(record: dict[str, Any], layout: Layout, path: str | Path, number: int) -> tuple[str, str]:
    """The first names of the layout that this record has."""
    for source, target in layout.names():
        if _value(record, source) is not _MISSING and _value(record, target) is not _MISSING:
            return source, target
    what = f"does not have the keys {layout.wanted()}; it has: {', '.join(record)}"
    raise InputError(what[:300], file=path, line=number, remedy=layout.remedy("key"))


def _value(record: dict[str, Any], key: str) -> Any:
    """What stands at the key, or, if there is none like it, at the path that its dots make."""
    if key in record:
        return record[key]
    inner: Any = record
    for step in key.split("."):
        inner = inner.get(step, _MISSING) if isinstance(inner, dict) else _MISSING
    return inner


def _text(record: dict[str, Any], key: str, path: str | Path, number: int, warnings: InputWarnings) -> str:
    value = _value(record, key)
    if value is None:
        warnings.note(NO_TEXT, number)
        return ""
    if not isinstance(value, str):
        what = f"does not have the key '{key}'" if value is _MISSING else f"has no text at the key '{key}', but {json.dumps(value)[:40]}"
        raise InputError(what, file=path, line=number, remedy="correct or delete the line")
    if not value.isprintable() and _SURROGATE.search(value):
        raise InputError(
            f"has an incomplete character (a lone surrogate) at the key '{key}'", file=path, line=number, remedy="correct the text"
        )
    return plain_field(value, number, warnings)
