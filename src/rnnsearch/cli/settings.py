"""`rnnsearch settings`: the settings of recipes, and the built-in recipes and studies."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import Annotated

import typer

from rnnsearch.cli.options import one_of, recipes_like
from rnnsearch.errors import InputError


def settings(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[SECTION[.KEY]]",
            help="Show only this section or setting, for example model or model.cell.",
        ),
    ] = "",
    recipe: Annotated[
        str, typer.Option(metavar="NAME", autocompletion=recipes_like, help="Print this built-in recipe.")
    ] = "",
    study: Annotated[str, typer.Option(metavar="NAME", help="Print this built-in study.")] = "",
) -> None:
    """List all settings with defaults and descriptions, and the names of the built-in recipes and studies."""
    from rnnsearch.config import built_in

    recipes, studies = built_in("recipe"), built_in("study")
    if recipe:
        print(recipes[one_of(recipe, "--recipe", recipes)].read_text(encoding="utf-8"), end="")
    elif study:
        print(studies[one_of(study, "--study", studies)].read_text(encoding="utf-8"), end="")
    else:
        for line in listed(name, min(100, shutil.get_terminal_size((100, 24)).columns)):
            print(line)
        if not name:
            print(f"Built-in recipes (print one with --recipe NAME): {', '.join(recipes)}")
            print(f"Built-in studies (print one with --study NAME): {', '.join(studies)}")


def listed(name: str, width: int) -> Iterator[str]:
    """Yields lines about the settings of this name, of this section, or all. Raises InputError for an unknown
    name."""
    from rnnsearch.config import Settings
    from rnnsearch.schema import described_keys, suggested_key

    wanted_key = name.partition(".")[2]
    found = False
    for section in Settings.model_fields:
        table = type(getattr(Settings(), section))
        keys = [key for key in described_keys(table) if name in ("", section, f"{section}.{key.name}")]
        if not keys:
            continue
        found = True
        if not wanted_key:
            yield from [*textwrap.wrap(" ".join(f"[{section}] {table.__doc__}".split()), width), ""]
        for key in keys:
            yield f"{section}.{key.name} = {key.default}    # {key.allowed}"
            yield from textwrap.wrap(key.description, width, initial_indent="    ", subsequent_indent="    ")
        if not wanted_key:
            yield ""
    if not found:
        likely = suggested_key(Settings, name.split("."))
        raise InputError(
            f"there is no setting '{name}'",
            remedy=f"{likely} sections: {', '.join(Settings.model_fields)}".strip(),
        )
