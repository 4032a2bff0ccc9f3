"""Prints docs/reference/settings.md: every setting as config.py defines it.

python scripts/settings_reference.py > docs/reference/settings.md
"""

from __future__ import annotations

import sys

from rnnsearch.config import Settings
from rnnsearch.schema import described_keys

INTRODUCTION = """\
# Settings

<!-- Written by `python scripts/settings_reference.py > docs/reference/settings.md`. Change src/rnnsearch/config.py, not this page. -->

A recipe is a TOML file with any of the four sections below. It holds only what differs from the defaults, and the defaults are the
paper's. An unknown key is an error, and so is a value that does not fit. `--set section.key=value` changes one setting on the command
line and may be repeated; the resolved settings are saved in the run's `config.toml`. What each built-in recipe changes is listed in
[recipes.md](recipes.md). `rnnsearch settings` prints these tables in the terminal, and `rnnsearch settings --recipe multi30k` a recipe.

The section `[data]` takes effect in `rnnsearch prepare` and is fixed from then on; `[model]` and `[training]` take effect in
`rnnsearch train`; `[search]` is what `rnnsearch translate` does unless its options say otherwise.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(section(name) for name in Settings.model_fields)])


def section(name: str) -> str:
    """The table of one section of a recipe."""
    model = type(getattr(Settings(), name))
    rows = [f"| `{key}` | {allowed} | {default} | {cell(text)} |" for key, allowed, default, text in described_keys(model, "`")]
    return "\n".join([f"## [{name}]\n", f"{model.__doc__}\n", "| key | type | default | description |", "|---|---|---|---|", *rows, ""])


def cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
