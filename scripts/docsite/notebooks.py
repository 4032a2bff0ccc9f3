"""Each chapter as a Jupyter notebook: its prose, equations and figures, and its Python as cells to
run."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from chapters import BLOCK
from self_checks import unanswered
from sources import CODE, PACKAGE, extent

FIRST = "*This notebook needs `rnnsearch` and matplotlib (`pip install '.[all]'` in a checkout).*"
MAKERS = {
    "rnnsearch": ("01-fixed-vector.md", slice(0, 1)),
    "wiring-released": ("07-decoder-variants.md", slice(0, 2)),
}
"""Run that other chapters read → the chapter and the blocks of it that train this run. Each needs
the runs above it."""
TRAINED = "# {run}: trained here if it is not in this folder yet (a few minutes)"
FIGURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+\.svg)\)")
PLAIN = [
    (re.compile(r"<!-- .*? -->\n*"), ""),
    (re.compile(r"^<details[^>]*><summary>(.*?)</summary>$", re.MULTILINE), r"**\1**"),
    (re.compile(r"^</details>$", re.MULTILINE), ""),
    (re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL), r"$$\n\1$$"),
    (re.compile(r"\$`(.+?)`\$"), r"$\1$"),
    (
        re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|attachment:)[^)\s]+\)"),
        r"\1",
    ),  # has no target from a notebook
]
"""Patterns of the site's Markdown, and their replacements for a notebook."""


def write_notebook(chapter: Path, path: Path) -> None:
    """Writes the notebook of a chapter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(notebook(chapter), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def notebook(chapter: Path) -> dict[str, Any]:
    """Returns the chapter in Jupyter's format 4.5. The code cells are the blocks that the site
    executes, in their order."""
    parts = BLOCK.split(chapter.read_text(encoding="utf-8"))  # prose, code, prose, …
    title, _, begin = parts[0].partition("\n")
    parts[0] = f"{title}\n\n{FIRST}\n{begin}"
    cells = [
        code(part) if place % 2 else prose(part, chapter.parent) for place, part in enumerate(parts)
    ]
    kept = [cell for cell in cells if cell["source"]]
    kept[1:1] = trainings(chapter)
    return {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(kept, 1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def trainings(chapter: Path) -> list[dict[str, Any]]:
    """Returns cells that train the runs of other chapters that this one reads, where they are
    missing."""
    blocks, found = "".join(BLOCK.findall(chapter.read_text(encoding="utf-8"))), []
    for run, (maker, places) in reversed(MAKERS.items()):
        if f'"{run}"' in blocks and maker != chapter.name:
            text = "".join(
                BLOCK.findall((chapter.parent / maker).read_text(encoding="utf-8"))[places]
            )
            missing = (
                f'from pathlib import Path\n\nif not Path("{run}/model.safetensors").exists():'
            )
            found.insert(0, code(f"{TRAINED.format(run=run)}\n{missing}\n{indent(text, '    ')}"))
            blocks += text
    return found


def code(block: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": unanswered(block.strip("\n"))
        if block.startswith("answer = ")
        else block.strip("\n"),
    }


def prose(text: str, folder: Path) -> dict[str, Any]:
    """Returns a cell of Markdown, which carries its figures."""
    figures = {}

    def attached(match: re.Match[str]) -> str:
        name = Path(match[2]).name
        figures[name] = {
            "image/svg+xml": base64.b64encode((folder / match[2]).read_bytes()).decode()
        }
        return f"![{match[1]}](attachment:{name})"

    excerpts = map(excerpt, CODE.finditer(text))
    text = CODE.sub("\0", FIGURE.sub(attached, text))
    for pattern, plain in PLAIN:
        text = pattern.sub(plain, text)
    text = re.sub("\0", lambda _: next(excerpts), text)  # code is no Markdown
    cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": text.strip("\n")}
    return {**cell, "attachments": figures} if figures else cell


def excerpt(named: re.Match[str]) -> str:
    """Returns the code that a chapter names."""
    first, last = extent(named[1], named[2])
    lines = (PACKAGE / named[1]).read_text("utf-8").split("\n")[first - 1 : last]
    return f"`{named[1]}:{named[2]}`:\n\n```python\n{dedent(chr(10).join(lines))}\n```"
