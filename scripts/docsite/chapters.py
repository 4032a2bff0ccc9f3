"""Chapters: pages whose Python is executed while the site is built. The pages show its output and
figures.

The ```python blocks of a chapter run in order in one namespace. Chapters share a folder, but no
names. The printed output of a block is shown below it, and so is the value of its last expression:
a matplotlib figure as a picture, a `Translation` as its alignment.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(
    r"^(?:<!-- fold: (.*?) -->\n+)?(```python\n(.*?)^```$)", re.MULTILINE | re.DOTALL
)
SCREEN = 45
"""Maximum lines of code on a screen; longer code is folded."""


class ChapterError(Exception):
    """Raised if a chapter's code raises; names the block."""


def executed(chapter: Path, folder: Path) -> str:
    """Executes a chapter in `folder`, and returns its text with the outputs. Raises
    ChapterError."""
    text = chapter.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    number = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal number
        number += 1
        try:
            outputs = run(match[1], namespace, f"{chapter.stem}-{number}")
        except Exception as error:
            raise ChapterError(
                f"{chapter.name}, block {number}: {type(error).__name__}: {error}\n\n{match[1]}"
            ) from error
        return "\n\n".join([match[0], *outputs])

    with working_in(folder), figure_colours():
        text = BLOCK.sub(replaced, text)
    return folds(text)


def run(code: str, namespace: dict[str, Any], name: str) -> Iterator[str] | list[str]:
    """Executes one block and returns its outputs as Markdown."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        value = (
            eval(compile(ast.Expression(last.value), name, "eval"), namespace)
            if isinstance(last, ast.Expr)
            else None
        )
    outputs = (
        [f"``` {{ .text .output }}\n{printed.getvalue().rstrip()}\n```"]
        if printed.getvalue().strip()
        else []
    )
    return [*outputs, *([] if value is None else [shown(value, name)])]


def shown(value: Any, name: str) -> str:
    """Returns a value as a notebook shows it."""
    from matplotlib.figure import Figure

    from rnnsearch.lab.figures import inline_svg

    if isinstance(value, Figure):
        svg = inline_svg(
            value,
            name,
            value.get_label() or "Figure",
            value.get_label() or "drawn by the code above",
        )
        return f'<figure class="drawn">{flat(svg)}</figure>'
    if hasattr(value, "_repr_html_"):
        return f'<div class="shown">{flat(value._repr_html_())}</div>'
    return f"``` {{ .text .output }}\n{value!r}\n```"


def flat(html: str) -> str:
    """Removes empty lines and indentation, which Markdown would interpret."""
    return "".join(line.strip() + " " for line in html.split("\n") if line.strip())


def folds(text: str) -> str:
    """Folds each Python block that follows `<!-- fold: words -->`, and each that is longer than a
    screen.

    The words and the outputs stay visible.
    """

    def replaced(match: re.Match[str]) -> str:
        lines = match[3].count("\n")
        words = match[1] or (f"Code ({lines} lines)" if lines > SCREEN else "")
        return folded(words, match[2]) if words else match[0]

    return PYTHON.sub(replaced, text)


def folded(words: str, block: str) -> str:
    return f'<details markdown="1"><summary>{words}</summary>\n\n{block}\n\n</details>'


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Changes to the chapters' directory, which has the corpus and the runs of the first
    chapter."""
    folder.mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def figure_colours() -> contextlib.AbstractContextManager[None]:
    """Makes matplotlib draw in the palette, whose colours follow light and dark on a page."""
    from matplotlib import rc_context

    from rnnsearch.lab.palette import DIM, TEXT

    lines = dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), DIM)
    letters = ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor")
    return rc_context({**lines, **dict.fromkeys(letters, TEXT)})


def chapters(docs: Path) -> list[Path]:
    """Returns the chapters in the order of their numbers."""
    return sorted(path for path in (docs / "attention").glob("[0-9]*.md"))
