"""A page as data: sections of paragraphs, tables, pictures and sentences, with its HTML, Markdown, JSON, CSV
and LaTeX forms; and the folder of a page.

HTML, Markdown and LaTeX come from templates. An HTML page is a single file that works offline. HTML templates
extend `base.html`, which holds the style sheet and a Content-Security-Policy. All text is escaped.
"""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rich.cells import cell_len

from rnnsearch.drawing.characters import pad_left, pad_right
from rnnsearch.drawing.palette import properties
from rnnsearch.system.files import write_text, writing

if TYPE_CHECKING:
    from jinja2 import Environment

Value = str | int | float | None
"""A cell as it was computed; None if it is empty."""
MISSING = "–"
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$])")
_BLANK_LINES = re.compile(r"\n{3,}")
_LATEX = re.compile(r"[\\&%$#_{}~^<>|−±α–]")
_IN_LATEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"},
    **{"<": "$<$", ">": "$>$", "−": "$-$", "±": r"$\pm$", "α": r"$\alpha$", "–": "--"},
}


@dataclass(frozen=True)
class Column:
    """A column of a table. form: format specification of its numbers. best: which of them is in bold.

    numeric: whether its texts are numbers, such as "20.1 ± 0.3", which are aligned right.
    """

    name: str
    form: str = ","
    best: Literal["", "highest", "lowest"] = ""
    numeric: bool = False


class TableCell(NamedTuple):
    """A formatted cell."""

    text: str
    numeric: bool
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table, whose first column names the rows. name: of its CSV file and its anchor. notes: how to read
    it. made: how it was made, such as signatures."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = ()
    made: Sequence[str] = ()

    @property
    def numeric(self) -> set[int]:
        """Columns that hold numbers."""
        return {
            place
            for place, column in enumerate(self.columns)
            if column.numeric or any(isinstance(row[place], int | float) for row in self.rows)
        }

    def shown(self, row: Sequence[Value]) -> list[TableCell]:
        """Returns the formatted cells of a row."""
        numeric, cells = self.numeric, []
        for place, (column, value) in enumerate(zip(self.columns, row, strict=True)):
            if isinstance(value, int | float):
                best = bool(column.best) and value == self._best(place)
                cells.append(TableCell(format(value, column.form).replace("-", "−"), True, best))
            else:  # texts of numeric columns are aligned as numbers
                cells.append(TableCell(MISSING if value is None else value, place in numeric))
        return cells

    def _best(self, place: int) -> float | None:
        numbers = [value for row in self.rows if isinstance(value := row[place], int | float)]
        if len(numbers) < 2:  # a single number is not marked as best
            return None
        return max(numbers) if self.columns[place].best == "highest" else min(numbers)


def as_text(table: Table) -> str:
    """Returns the rows for a terminal, with two spaces between columns; numbers have an ASCII minus."""
    rows = [[column.name for column in table.columns]]
    rows += [[cell.text.replace("−", "-") for cell in table.shown(row)] for row in table.rows]
    columns = []
    for place, column in enumerate(zip(*rows, strict=True)):
        pad, width = pad_left if place in table.numeric else pad_right, max(map(cell_len, column))
        columns.append([pad(cell, width) for cell in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def as_csv(table: Table) -> str:
    """Returns one table as CSV, with unrounded numbers; None becomes an empty cell."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([[column.name for column in table.columns], *table.rows])
    return file.getvalue()


def as_latex(tables: Iterable[Table]) -> str:
    """Returns tables for a paper, with the rules of the package booktabs. Notes are comments."""
    return render("tables.tex", tables=list(tables))


@dataclass(frozen=True)
class Picture:
    """A picture. name: of its files and its anchor. alt: describes it to those who cannot see it. svg: the
    element for the page."""

    name: str
    caption: str
    alt: str
    svg: str = ""


@dataclass(frozen=True)
class Pictures:
    """The pictures of one figure, side by side where there is room. wide: whether they keep their size and
    are scrolled on a narrow screen."""

    name: str
    caption: str
    pictures: Sequence[Picture]
    notes: Sequence[str] = ()
    made: Sequence[str] = ()
    wide: bool = False


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    text: str


class SentenceText(NamedTuple):
    """One text of a sentence. name: who wrote it. words: (text, whether it is marked), with the spaces
    between them. role: empty for a translation."""

    name: str
    words: Sequence[tuple[str, bool]]
    score: str = ""
    role: Literal["", "source", "reference"] = ""


@dataclass(frozen=True)
class Sentences:
    """Sentences chosen by one rule: (title, its texts). open: whether they are unfolded at first."""

    name: str
    caption: str
    sentences: Sequence[tuple[str, Sequence[SentenceText]]]
    open: bool = False


Block = Table | Pictures | Paragraph | Sentences


@dataclass(frozen=True)
class Section:
    """A section: its blocks, then its subsections. name: its anchor."""

    name: str
    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = ()


@dataclass(frozen=True)
class Document:
    """A page. lead: the first paragraph. made: versions, files, settings and so on, as (name, value).

    beside: files and pages that belong to it, as (path from the page, description).
    """

    title: str
    lead: str
    sections: Sequence[Section]
    made: Sequence[tuple[str, str]] = ()
    command: str = ""
    date: str = ""
    source_language: str = ""
    target_language: str = ""
    beside: Sequence[tuple[str, str]] = ()
    files: Sequence[Table] = ()
    """Tables that are too long for the page and are written as files only."""


def every_table(document: Document) -> list[Table]:
    """Returns the tables of all sections, in order, and those that are written as files only."""
    return [*(block for block in _blocks(document.sections) if isinstance(block, Table)), *document.files]


def _blocks(sections: Sequence[Section]) -> list[Block]:
    return [block for section in sections for block in (*section.blocks, *_blocks(section.sections))]


def as_json(document: Document) -> str:
    """Returns one JSON object. tables: name → caption, rows as objects with unrounded numbers, and how it was
    made. figures: name → caption."""
    tables = {}
    for table in every_table(document):
        names = [column.name for column in table.columns]
        rows = [dict(zip(names, row, strict=True)) for row in table.rows]
        tables[table.name] = {"caption": table.caption, "rows": rows, "made": [*table.made]}
    figures = {
        picture.name: picture.caption
        for block in _blocks(document.sections)
        if isinstance(block, Pictures)
        for picture in block.pictures
    }
    made = dict(document.made) | {"date": document.date, "command": document.command}
    whole = {"title": document.title, "made": made, "tables": tables, "figures": figures}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def render(template: str, **values: Any) -> str:
    """Fills in a template of this package.

    Raises jinja2's UndefinedError if a value is missing.
    """
    text = _environment().get_template(template).render(values) + "\n"
    # a file's name may hold bytes that are not UTF-8
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def as_html(document: Document) -> str:
    """Returns the document as an HTML page. Every table and figure says how it was made: it may be copied
    alone."""
    return render("document.html", document=document)


def as_markdown(document: Document) -> str:
    """Returns the document in Markdown; its pictures are in figures/ and its tables as CSV in tables/."""
    return _BLANK_LINES.sub("\n\n", render("document.md", document=document)).strip() + "\n"


PAGE, LATEX = "index.html", "table.tex"


def write_page(document: Document, out: Path, name: str, latex: Sequence[str]) -> Path:
    """Writes the page, its Markdown and its numbers (`name`.md, `name`.json), and tables/ as CSV; returns the
    page. Tables and figures of an earlier page that this one does not have are removed.

    latex: names of the tables that are in table.tex.
    """
    numbers, tables = out / f"{name}.json", every_table(document)
    earlier = _files_of(numbers)
    with writing(out):
        (out / "tables").mkdir(parents=True, exist_ok=True)
        for table in tables:
            write_text(out / "tables" / f"{table.name}.csv", as_csv(table))
        write_text(numbers, as_json(document))
        write_text(out / f"{name}.md", as_markdown(document))
        write_text(out / LATEX, as_latex(table for table in tables if table.name in latex))
        write_text(out / PAGE, as_html(document))
        for file in earlier - _files_of(numbers):
            (out / file).unlink(missing_ok=True)
    return out / PAGE


def _files_of(numbers: Path) -> set[str]:
    """Returns the tables and figures listed in a page's JSON, as relative paths."""
    try:
        found = json.loads(numbers.read_text(encoding="utf-8"))
        tables, figures = list(found["tables"]), list(found["figures"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    files = {f"tables/{name}.csv" for name in tables}
    files |= {f"figures/{name}{suffix}" for name in figures for suffix in (".svg", ".pdf")}
    return {file for file in files if Path(file).name == file.partition("/")[2]}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    folder = resources.files("rnnsearch.drawing")
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=lambda name: not (name or "").endswith((".md", ".tex")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["palette"] = Markup(properties())
    environment.filters |= {"md": _markdown, "tex": _latex, "script_hash": csp_hash}
    # Options of `tojson`, which also escapes what could end a script element.
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    return environment


def _markdown(text: str) -> str:
    """Escapes Markdown's characters, and joins the lines."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def _latex(text: str) -> str:
    """Escapes LaTeX's characters, and joins the lines."""
    return _LATEX.sub(lambda found: _IN_LATEX.get(found[0], "\\" + found[0]), " ".join(text.split()))


def csp_hash(text: str) -> str:
    """Returns the hash by which a Content-Security-Policy allows a script or a style sheet."""
    return f"sha256-{b64encode(sha256(str(text).encode()).digest()).decode()}"
