"""`rnnsearch settings`: all settings, with defaults and descriptions."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rnnsearch.cli.options import describe, one_of, refuse
from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel

_BOUNDS = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
_NAMES = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "array": "list of texts",
    "null": "absent",
}


@describe("""
    name [SECTION[.KEY]]: Show only this section or setting, for example model or model.cell.
    recipe NAME: Print this built-in recipe.
    study NAME: Print this built-in study.
    """)
def settings(name: str = "", *, recipe: str = "", study: str = "") -> None:
    """List all settings with defaults and descriptions, and the names of the built-in recipes and
    studies."""
    from rnnsearch.config import built_in

    refuse({"--recipe": recipe and (name or study)}, "is printed alone", "remove the rest")
    refuse({"--study": study and name}, "is printed alone", "remove the rest")
    for kind, asked in (("recipe", recipe), ("study", study)):
        if asked:
            known = built_in(kind)
            print(known[one_of(asked, f"--{kind}", known)].read_text(encoding="utf-8"), end="")
            return
    for line in listed(name, min(100, shutil.get_terminal_size((100, 24)).columns)):
        print(line)
    if not name:
        print(f"Built-in recipes (print one with --recipe NAME): {', '.join(built_in('recipe'))}")
        print(f"Built-in studies (print one with --study NAME): {', '.join(built_in('study'))}")


def listed(name: str, width: int) -> Iterator[str]:
    """Yields lines about the settings of this name, of this section, or all. Raises InputError for
    an unknown name."""
    from rnnsearch.config import suggested_key
    from rnnsearch.settings import Settings

    one, found = "." in name, False
    for section in Settings.model_fields:
        table = type(getattr(Settings(), section))
        keys = [
            key for key in described_keys(table) if name in ("", section, f"{section}.{key[0]}")
        ]
        if keys and not one:
            yield from [*textwrap.wrap(" ".join(f"[{section}] {table.__doc__}".split()), width), ""]
        for key, allowed, default, text in keys:
            found = True
            yield f"{section}.{key} = {default}    # {allowed}"
            yield from textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")
        if keys and not one:
            yield ""
    if not found:
        remedy = (
            f"{suggested_key(Settings, name.split('.'))} sections:"
            f" {', '.join(Settings.model_fields)}"
        )
        raise InputError(f"there is no setting '{name}'", remedy.strip())


def described_keys(table: type[BaseModel], mark: str = "") -> list[tuple[str, str, str, str]]:
    """Returns (name, allowed values, default, description) of each key of a table without nested
    tables. mark: put on both sides of every value, like ` in Markdown."""
    schemas = table.model_json_schema()["properties"]
    return [
        (
            key,
            _allowed(schemas[key], mark),
            _toml(field.default, mark),
            " ".join((field.description or "").split()),
        )
        for key, field in table.model_fields.items()
    ]


def _allowed(schema: dict[str, Any], mark: str) -> str:
    """Describes the values that a JSON schema allows."""
    if "anyOf" in schema:
        return " or ".join(_allowed(choice, mark) for choice in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(_toml(choice, mark) for choice in schema["enum"])
    if "prefixItems" in schema:
        return (
            f"list of {len(schema['prefixItems'])}, each {_allowed(schema['prefixItems'][0], mark)}"
        )
    limits = [f"{sign} {schema[key]:g}" for key, sign in _BOUNDS.items() if key in schema]
    return " ".join([_NAMES[schema["type"]], *([", ".join(limits)] if limits else [])])


def _toml(value: Any, mark: str) -> str:
    """Writes a value as in a recipe."""
    return "absent" if value is None else f"{mark}{json.dumps(value)}{mark}"
