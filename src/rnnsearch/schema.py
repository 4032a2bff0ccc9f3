"""Describes the keys of a validated table, with types, defaults and descriptions; suggests a key for an
unknown one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from rnnsearch.errors import did_you_mean

_BOUNDS = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
_NAMES = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "absent",
}


class DescribedKey(NamedTuple):
    """The description of a table's key. allowed: its allowed values. default: in TOML, or `absent`."""

    name: str
    allowed: str
    default: str
    description: str


def described_keys(table: type[BaseModel], mark: str = "") -> list[DescribedKey]:
    """Returns the keys of a table without nested tables. mark: put on both sides of every value, like ` in
    Markdown."""
    schemas = table.model_json_schema()["properties"]
    return [
        DescribedKey(
            key,
            _allowed(schemas[key], mark),
            _toml(field.default, mark),
            " ".join((field.description or "").split()),
        )
        for key, field in table.model_fields.items()
    ]


def suggested_key(table: type[BaseModel], key: Sequence[str]) -> str:
    """Returns `did you mean 'model.hidden_size'?`, or the empty string if no key of the table resembles the
    unknown one. key: the parts of the unknown key."""
    *place, name = key
    elsewhere = [".".join(path) for path in _paths(table) if path[-1] == name]
    if elsewhere:
        return did_you_mean(".".join(key), elsewhere) or f"did you mean '{elsewhere[0]}'?"
    there = _at(table, place)
    if there is None:
        return did_you_mean(".".join(key), [".".join(path) for path in _paths(table)])
    return did_you_mean(name, there.model_fields, "".join(f"{part}." for part in place))


def _at(annotation: Any, place: Sequence[str]) -> type[BaseModel] | None:
    """Returns the type of the table at a path through nested tables and dictionaries of tables; None if there
    is none."""
    is_table = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    if not place:
        return annotation if is_table else None
    if get_origin(annotation) is dict:
        return _at(get_args(annotation)[1], place[1:])
    if is_table and place[0] in annotation.model_fields:
        return _at(annotation.model_fields[place[0]].annotation, place[1:])
    return None


def _paths(table: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Yields every key of the table and of the tables in it."""
    for key, field in table.model_fields.items():
        yield (key,)
        inner = _at(field.annotation, [])
        if inner is not None:
            yield from ((key, *path) for path in _paths(inner))


def _allowed(schema: dict[str, Any], mark: str) -> str:
    """Describes the values that a JSON schema allows."""
    if "anyOf" in schema:
        return " or ".join(_allowed(choice, mark) for choice in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(_toml(choice, mark) for choice in schema["enum"])
    if "prefixItems" in schema:
        return f"list of {len(schema['prefixItems'])}, each {_allowed(schema['prefixItems'][0], mark)}"
    limits = [f"{sign} {_number(schema[key])}" for key, sign in _BOUNDS.items() if key in schema]
    return " ".join([_NAMES[schema["type"]], *([", ".join(limits)] if limits else [])])


def _number(value: float) -> str:
    """Writes a large power of two as a power, instead of 9223372036854775808."""
    power = int(value).bit_length() - 1
    return f"2^{power}" if value > 1_000_000 and value == 2**power else f"{value:g}"


def _toml(value: Any, mark: str) -> str:
    """Writes a value as in a recipe."""
    return "absent" if value is None else f"{mark}{json.dumps(value)}{mark}"
