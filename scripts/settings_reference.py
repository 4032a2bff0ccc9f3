"""Prints docs/reference/settings.md: every setting as settings.py defines it.

python scripts/settings_reference.py > docs/reference/settings.md
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from rnnsearch.cli.settings import described_keys
from rnnsearch.settings import Settings

INTRODUCTION = """\
# Settings

<!-- Written by `python scripts/settings_reference.py > docs/reference/settings.md`. Change src/rnnsearch/settings.py, not this page. -->

A recipe is a TOML file with any of the sections below. It holds only what differs from the defaults, and the defaults are the
paper's. `--set section.key=value` changes one setting on the command line; the resolved settings are saved in the run's
`config.toml`. [Recipes](recipes.md) lists what each built-in recipe changes; `rnnsearch settings --recipe multi30k` prints one.

`[data]` takes effect in `rnnsearch prepare`. `[search]` and `[translation]` hold the defaults of `rnnsearch translate`, and `[align]`
those of `rnnsearch align`: their options change them. All others take effect in `rnnsearch train`.

The column *the paper* has the value that the paper states, with the section, or *not used* for methods that it does not use.
"""

PAPER = tomllib.loads(
    Path(__file__).with_name("settings_of_the_paper.toml").read_text(encoding="utf-8")
)
"""The paper's values by section and key."""


def page() -> str:
    """Returns the whole page."""
    return "\n".join([INTRODUCTION, *(section(name) for name in Settings.model_fields)])


def section(name: str) -> str:
    """Returns the table of one section of a recipe."""
    model = type(getattr(Settings(), name))
    paper = PAPER.get(name, {})
    rows = []
    for key, allowed, default, text in described_keys(model, "`"):
        meaning = text.replace("|", "\\|")
        rows.append(f"| `{key}` | {allowed} | {default} | {paper.get(key, '')} | {meaning} |")
    head = ["| key | type | default | the paper | description |", "|---|---|---|---|---|"]
    return "\n".join(
        [f"## [{name}]\n", " ".join((model.__doc__ or "").split()) + "\n", *head, *rows, ""]
    )


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
