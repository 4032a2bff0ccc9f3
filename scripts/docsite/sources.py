"""Makes pages of the source files that the documentation names, and links from `path.py:Name` to
the line."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from posixpath import relpath

from chapters import SCREEN, folded

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rnnsearch"
NAMED = re.compile(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)(?::([A-Za-z_.0-9]+))?`")
LINKED = re.compile(r"\[([^\]]*)\]\((?:\.\./)+src/rnnsearch/([^)#]+)\)")
CODE = re.compile(r"^Code: \[`([a-z_0-9/]+\.py):([A-Za-z_.0-9]+)`\]\([^)]*\)$", re.MULTILINE)


class UnknownNameError(Exception):
    """Raised if the documentation names a function or class that the source does not have."""


@cache
def lines_of(file: str) -> dict[str, tuple[int, int]]:
    """Returns name (or `Class.method`) → first and last line, from 1, with decorators and the
    docstring of a variable."""
    places: dict[str, tuple[int, int]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for place, node in enumerate(body):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                places[prefix + node.name] = first, node.end_lineno or first
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                last = node.end_lineno or node.lineno
                after = body[place + 1] if place + 1 < len(body) else None
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    last = after.end_lineno or last
                if isinstance(target, ast.Name):
                    places[prefix + target.id] = node.lineno, last

    visit(ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body, "")
    return places


def line_of(file: str, name: str) -> int:
    """Returns the line where a name is defined. Raises UnknownNameError."""
    return extent(file, name)[0]


def extent(file: str, name: str) -> tuple[int, int]:
    try:
        return lines_of(file)[name]
    except (KeyError, OSError):
        raise UnknownNameError(f"src/rnnsearch/{file} does not define {name}") from None


class SourcePages:
    """Collects the files that pages name, and writes a page for each."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def link(self, page: str, file: str, name: str | None) -> str:
        """Returns the address of a file, or of a name in it, relative to a page."""
        self.files.add(file)
        address = relpath(f"source/{file.removesuffix('.py')}.md", str(Path(page).parent))
        return f"{address}#__codelineno-0-{line_of(file, name)}" if name else address

    def in_links(self, page: str, text: str) -> str:
        """Replaces links to files of the repository by links to pages of the site."""

        def replaced(match: re.Match[str]) -> str:
            words, file = match[1], match[2].rstrip("/")
            if not file.endswith(".py"):
                self.files.add(f"{file}/__init__.py")
                return f"[{words}]({self.link(page, f'{file}/__init__.py', None)})"
            named = NAMED.search(words)
            return f"[{words}]({self.link(page, file, named[2] if named else None)})"

        return LINKED.sub(replaced, text)

    def in_text(self, page: str, text: str) -> str:
        """Makes links of names in backquotes if such a file exists."""

        def replaced(match: re.Match[str]) -> str:
            file, name = match[1], match[2]
            if name is None or not (PACKAGE / file).exists():
                return match[0]
            return f"[{match[0]}]({self.link(page, file, name)})"

        return re.sub(
            rf"\[[^\]]*\]\([^)]*\)|{NAMED.pattern}",
            lambda match: match[0] if match[0].startswith("[") else replaced(match),
            text,
        )

    def shown(self, page: str, text: str) -> str:
        """Replaces each line `Code: [`path.py:Name`](…)` by the code from the source."""

        def replaced(match: re.Match[str]) -> str:
            file, name = match[1], match[2]
            first, last = extent(file, name)
            code = (PACKAGE / file).read_text(encoding="utf-8").split("\n")[first - 1 : last]
            margin = min(len(line) - len(line.lstrip()) for line in code if line.strip())
            body = "\n".join(line[margin:] for line in code)
            address = self.link(page, file, name)
            place = (
                f'<p class="from-source" markdown="span">[`{file}:{name}`]({address}), line'
                f" {first}</p>"
            )
            block = f"``` {{ .python }}\n{body}\n```"
            shown = folded(f"Show the {len(code)} lines", block) if len(code) > SCREEN else block
            return f"{place}\n\n{shown}"

        return CODE.sub(replaced, text)

    def write(self, folder: Path) -> None:
        """Writes a page for every file that was named."""
        for file in sorted(self.files):
            path = folder / "source" / f"{file.removesuffix('.py')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            code = (PACKAGE / file).read_text(encoding="utf-8").rstrip("\n")
            head = (
                f"---\ntitle: {file}\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n# `{file}`\n\n"
            )
            path.write_text(
                f'{head}`src/rnnsearch/{file}`\n\n~~~ {{ .python linenums="1" }}\n{code}\n~~~\n',
                encoding="utf-8",
            )
        names = "\n".join(
            f"- [`{file}`]({file.removesuffix('.py')}.md)" for file in sorted(self.files)
        )
        note = "These are the files that the documentation names, as they were when it was built."
        (folder / "source").mkdir(exist_ok=True)
        (folder / "source" / "index.md").write_text(
            f"# Source\n\n{note}\n\n{names}\n", encoding="utf-8"
        )
