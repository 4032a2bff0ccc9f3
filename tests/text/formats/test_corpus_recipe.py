"""The recipe by which mtdata fetches the paper's corpora."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path


def test_the_page_names_the_corpora_of_the_recipe() -> None:
    """The lines of the recipe are `part:` and `- corpus`."""
    recipe = (resources.files("rnnsearch") / "recipes" / "mtdata.recipes.rnnsearch.yml").read_text(
        "utf-8"
    )
    parts = dict(re.findall(r"^  (train|dev|test):\n((?:    - .*\n)+)", recipe, re.MULTILINE))
    corpora = {part: re.findall(r"- (\S+)", lines) for part, lines in parts.items()}
    assert {part: len(names) for part, names in corpora.items()} == {
        "train": 5,
        "dev": 2,
        "test": 1,
    }
    page = (Path(__file__).resolve().parents[3] / "docs/how-to/corpora.md").read_text(
        encoding="utf-8"
    )
    assert all(name in page for names in corpora.values() for name in names)
