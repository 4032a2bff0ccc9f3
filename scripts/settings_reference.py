"""Prints docs/reference/settings.md: every setting as settings.py defines it.

python scripts/settings_reference.py > docs/reference/settings.md
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from rnnsearch.config import described_keys
from rnnsearch.settings import Settings

INTRODUCTION = """\
# Settings

<!-- Written by `python scripts/settings_reference.py > docs/reference/settings.md`. Change src/rnnsearch/settings.py, not this page. -->

A recipe is a TOML file with any of the sections below. It holds only what differs from the defaults, and the defaults are the
paper's. An unknown key or an invalid value is an error. `--set section.key=value` changes one setting on the command line and may be
repeated; the resolved settings are saved in the run's `config.toml`. [Recipes](recipes.md) lists what each built-in recipe changes.
`rnnsearch settings` prints these tables in the terminal; `rnnsearch settings --recipe multi30k` prints a recipe.

`[data]` takes effect in `rnnsearch prepare`. `[model]`, `[training]`, `[optimiser]`, `[dropout]`, `[known_alignments]` and `[stopping]`
take effect in `rnnsearch train`. `[search]` and `[translation]` hold the defaults of `rnnsearch translate`, and `[align]` those of
`rnnsearch align`: their options change them.

Earlier versions had the settings of `[optimiser]`, `[dropout]`, `[known_alignments]` and `[stopping]` in `[training]`, and those of
`[translation]` in `[search]`. The old names are still read, and one line says the new ones: training.learning_rate is now
`optimiser.learning_rate`.

The column *the paper* has the value that the paper states (Bahdanau, Cho & Bengio 2015, with the section), or *not used* for methods that
it does not use. It is empty where the paper says nothing.
"""

PAPER = tomllib.loads(Path(__file__).with_name("settings_of_the_paper.toml").read_text(encoding="utf-8"))
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
    return "\n".join([f"## [{name}]\n", " ".join((model.__doc__ or "").split()) + "\n", *head, *rows, ""])


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
