"""Prints docs/reference/settings.md: every setting as config.py defines it.

python scripts/settings_reference.py > docs/reference/settings.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from rnnsearch.config import Settings

INTRODUCTION = """\
# Settings

<!-- Written by `python scripts/settings_reference.py > docs/reference/settings.md`. Change src/rnnsearch/config.py, not this page. -->

A recipe is a TOML file with any of the four sections below. It holds only what differs from the defaults, and the defaults are the
paper's. An unknown key is an error, and so is a value that does not fit. `--set section.key=value` changes one setting on the command
line and may be repeated; the resolved settings are saved in the run's `config.toml`. What each built-in recipe changes is listed in
[recipes.md](recipes.md).

The section `[data]` takes effect in `rnnsearch prepare` and is fixed from then on; `[model]` and `[training]` take effect in
`rnnsearch train`; `[search]` is what `rnnsearch translate` does unless its options say otherwise.
"""

BOUNDS = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
NAMES = {"integer": "integer", "number": "number", "string": "text", "boolean": "true or false", "null": "absent"}


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(section(name) for name in Settings.model_fields)])


def section(name: str) -> str:
    """The table of one section of a recipe."""
    model = type(getattr(Settings(), name))
    properties = model.model_json_schema()["properties"]
    rows = [
        f"| `{key}` | {kind(properties[key])} | {toml(field.default)} | {cell(field.description or '')} |"
        for key, field in model.model_fields.items()
    ]
    return "\n".join([f"## [{name}]\n", f"{model.__doc__}\n", "| key | type | default | description |", "|---|---|---|---|", *rows, ""])


def kind(schema: dict[str, Any]) -> str:
    """What values are allowed, from a JSON schema."""
    if "anyOf" in schema:
        return " or ".join(kind(choice) for choice in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(toml(choice) for choice in schema["enum"])
    if "prefixItems" in schema:
        return f"list of {len(schema['prefixItems'])}, each {kind(schema['prefixItems'][0])}"
    return " ".join([NAMES[schema["type"]], *limits(schema)])


def limits(schema: dict[str, Any]) -> Iterator[str]:
    found = [f"{sign} {number(schema[key])}" for key, sign in BOUNDS.items() if key in schema]
    if found:
        yield ", ".join(found)


def number(value: float) -> str:
    """A round power of two as such: nobody reads 9223372036854775808."""
    power = int(value).bit_length() - 1
    return f"2^{power}" if value > 1_000_000 and value == 2**power else f"{value:g}"


def toml(value: Any) -> str:
    """A value as it is written in a recipe."""
    if value is None:
        return "absent"
    return f"`{json.dumps(value)}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
