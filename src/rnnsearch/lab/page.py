"""A page as data: sections of paragraphs, tables, pictures and sentences, with its HTML, Markdown,
JSON, CSV and LaTeX forms; and the folder of a page.

HTML, Markdown and LaTeX come from templates. An HTML page is a single file that works offline, with
a Content-Security-Policy. All text is escaped.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

from rnnsearch.errors import InputError
from rnnsearch.figure3 import escape_markdown, pad_left, save_figure
from rnnsearch.lab.figures import inline_svg
from rnnsearch.lab.palette import properties
from rnnsearch.system.files import make_folder, write_text, writing

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

Value = str | int | float | None
"""A cell as it was computed; None if it is empty."""
Rows = list[list[Value]]
Facts = Sequence[tuple[str, str]]
"""(name, value or description) of each."""
MISSING = "–"
_BLANK_LINES = re.compile(r"\n{3,}")
_MODULE = re.compile(r"^(import .*\n|export )", re.MULTILINE)
_LATEX = re.compile(r"[\\&%$#_{}~^<>|−±α–]")
_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": "$<$",
    ">": "$>$",
    "−": "$-$",
    "±": r"$\pm$",
    "α": r"$\alpha$",
    "–": "--",
}


class TableCell(NamedTuple):
    """A formatted cell. best: whether it is the best number of its column."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table. form: format specification of its numbers. best: which of them is in
    bold.

    numeric: whether it holds numbers, or texts such as "20.1 ± 0.3", which are aligned as numbers.
    """

    name: str
    form: str = ","
    best: Literal["", "highest", "lowest"] = ""
    numeric: bool = True

    def cells(self, values: Sequence[Value]) -> list[TableCell]:
        """Returns the formatted cells. A single number is not marked as the best."""
        numbers = [value for value in values if isinstance(value, int | float)]
        best: float | None = None
        if self.best and len(numbers) > 1:
            best = max(numbers) if self.best == "highest" else min(numbers)
        return [TableCell(self.text(value), best is not None and value == best) for value in values]

    def text(self, value: Value) -> str:
        """Returns a value as it is shown, with a true minus sign."""
        if isinstance(value, int | float):
            return format(value, self.form).replace("-", "−")
        return MISSING if value is None else value


def columns(*names: str) -> list[Column]:
    """Returns columns of these names."""
    return list(map(Column, names))


@dataclass(frozen=True)
class Table:
    """A table, whose first column names the rows. name: of its CSV file and its anchor. notes: how
    to read it. made: how it was made, such as signatures. latex: whether `write_page` writes it in
    LaTeX, too."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = ()
    made: Sequence[str] = ()
    latex: bool = False

    @property
    def numeric(self) -> set[int]:
        """Places of the columns that are aligned as numbers."""
        return {place for place, column in enumerate(self.columns) if place and column.numeric}

    @property
    def cells(self) -> list[tuple[TableCell, ...]]:
        """The formatted cells of each row."""
        columns = zip(*self.rows, strict=True)
        return list(zip(*map(Column.cells, self.columns, columns), strict=True))


def as_text(table: Table) -> str:
    """Returns the rows for a terminal, with two spaces between columns; numbers have an ASCII
    minus."""
    rows = [[column.name for column in table.columns]]
    rows += [[cell.text.replace("−", "-") for cell in row] for row in table.cells]
    columns = []
    for place, column in enumerate(zip(*rows, strict=True)):
        pad = pad_left if place in table.numeric else set_cell_size
        width = max(map(cell_len, column))
        columns.append([pad(cell, width) for cell in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def as_csv(table: Table) -> str:
    """Returns one table as CSV, with unrounded numbers; None becomes an empty cell."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(
        [[column.name for column in table.columns], *table.rows]
    )
    return file.getvalue()


def as_latex(tables: Iterable[Table]) -> str:
    """Returns tables for a paper, with the rules of the package booktabs. Notes are comments."""
    return render("tables.tex", tables=list(tables))


@dataclass(frozen=True)
class Picture:
    """A picture. name: of its files and its ids. caption: the text below it. alt: describes it to
    those who cannot see it."""

    name: str
    caption: str
    alt: str
    figure: Figure

    @property
    def svg(self) -> str:
        """The element for the page."""
        return inline_svg(self.figure, self.name, self.caption, self.alt)


@dataclass(frozen=True)
class Pictures:
    """The pictures of one figure, side by side where there is room. wide: whether they keep their
    size and are scrolled on a narrow screen."""

    name: str
    caption: str
    pictures: Sequence[Picture]
    notes: Sequence[str] = ()
    made: Sequence[str] = ()
    wide: bool = False


class SentenceText(NamedTuple):
    """One text of a sentence. name: who wrote it. words: (text, whether it is marked), with the
    spaces between them. role: empty for a translation."""

    name: str
    words: Sequence[tuple[str, bool]]
    score: str = ""
    role: Literal["", "source", "reference"] = ""


@dataclass(frozen=True)
class Sentences:
    """Sentences chosen by one rule: (title, its texts). open: whether they are unfolded at
    first."""

    name: str
    caption: str
    sentences: Sequence[tuple[str, Sequence[SentenceText]]]
    open: bool = False


Block = Table | Pictures | Sentences | str
"""A text is a paragraph. One of type Markup is HTML, which is not escaped."""


class Browser(NamedTuple):
    """A list of sentences with their alignments, to sort, to search and to look at. data: for the
    script.
    measures: name and meaning of each. gold: whether there are gold links."""

    data: dict[str, Any]
    measures: Facts
    gold: bool


@dataclass(frozen=True)
class Section:
    """A section: its blocks, then its subsections. name: its anchor."""

    name: str
    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = ()


@dataclass(frozen=True)
class Document:
    """A page. lead: the first paragraph. made: versions, files, settings and so on, as (name,
    value).

    beside: files and pages that belong to it, as (path from the page, description). browser: takes
    the place of the sections. refresh: seconds after which the page loads itself again; 0 for
    never.
    """

    title: str
    lead: str
    sections: Sequence[Section] = ()
    made: Facts = ()
    command: str = ""
    date: str = ""
    source_language: str = ""
    target_language: str = ""
    beside: Facts = ()
    files: Sequence[Table] = ()
    """Tables that are too long for the page and are written as files only."""
    browser: Browser | None = None
    refresh: int = 0

    @property
    def tables(self) -> list[Table]:
        """The tables of all sections, in order, and those that are written as files only."""
        blocks = _blocks(self.sections)
        return [*(block for block in blocks if isinstance(block, Table)), *self.files]

    @property
    def pictures(self) -> list[Picture]:
        """The pictures of all sections, in order."""
        blocks = _blocks(self.sections)
        return [one for block in blocks if isinstance(block, Pictures) for one in block.pictures]


def _blocks(sections: Sequence[Section]) -> Iterator[Block]:
    for section in sections:
        yield from section.blocks
        yield from _blocks(section.sections)


def as_json(document: Document) -> str:
    """Returns one JSON object. tables: name → caption, rows as objects with unrounded numbers, and
    how it was made. figures: name → caption."""
    tables = {}
    for table in document.tables:
        names = [column.name for column in table.columns]
        rows = [dict(zip(names, map(finite, row), strict=True)) for row in table.rows]
        tables[table.name] = {"caption": table.caption, "rows": rows, "made": [*table.made]}
    figures = {picture.name: picture.caption for picture in document.pictures}
    made = dict(document.made) | {"date": document.date, "command": document.command}
    whole = {"title": document.title, "made": made, "tables": tables, "figures": figures}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def finite(value: Any) -> Any:
    """Returns a value for JSON, which has neither infinity nor NaN: None in their place."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def render(template: str, **values: Any) -> str:
    """Fills in a template of this package.

    Raises jinja2's UndefinedError if a value is missing.
    """
    text = _environment().get_template(template).render(values) + "\n"
    # a file's name may hold bytes that are not UTF-8
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def as_html(document: Document) -> str:
    """Returns the document as an HTML page. Every table and figure says how it was made: it may be
    copied alone."""
    return render("document.html", document=document)


def as_markdown(document: Document) -> str:
    """Returns the document in Markdown; its pictures are in figures/ and its tables as CSV in
    tables/."""
    return _BLANK_LINES.sub("\n\n", render("document.md", document=document)).strip() + "\n"


PAGE = "index.html"
GENERATOR = '<meta name="generator" content="rnnsearch">'
"""What is in the head of every page."""


def begin_folder(out: Path, beside: Sequence[str]) -> None:
    """Makes the folder of a report. beside: patterns of what it holds besides its page. Raises
    InputError if it holds files that no report made."""
    with writing(out):
        make_folder(out)
        named = (entry.name for entry in out.iterdir() if entry.name[0] != ".")
        foreign = any(not any(fnmatch(name, one) for one in (PAGE, *beside)) for name in named)
        page = out / PAGE
        if foreign or (page.exists() and GENERATOR not in page.read_text("utf-8", "replace")):
            what = "exists and holds files that are not a report's"
            raise InputError(what, "name another folder with --out", file=out)


def write_page(document: Document, out: Path, name: str) -> Path:
    """Writes the page, its Markdown and its numbers (`name`.md, `name`.json), table.tex, tables/ as
    CSV, and figures/ as SVG and PDF; returns the page. Tables and figures of an earlier page that
    this one does not have are removed."""
    page, numbers = out / PAGE, out / f"{name}.json"
    earlier = _files_of(numbers)
    with writing(out):
        for folder in ("tables", "figures"):
            (out / folder).mkdir(parents=True, exist_ok=True)
        for table in document.tables:
            write_text(out / "tables" / f"{table.name}.csv", as_csv(table))
        for picture in document.pictures:
            for suffix in (".svg", ".pdf"):
                save_figure(picture.figure, out / "figures" / f"{picture.name}{suffix}")
        write_text(numbers, as_json(document))
        write_text(out / f"{name}.md", as_markdown(document))
        write_text(out / "table.tex", as_latex(table for table in document.tables if table.latex))
        write_text(page, as_html(document))
        for file in earlier - _files_of(numbers):
            (out / file).unlink(missing_ok=True)
    return page


def _files_of(numbers: Path) -> set[str]:
    """Returns the tables and figures listed in a page's JSON, as relative paths."""
    try:
        found = json.loads(numbers.read_text("utf-8"))
        tables, figures = list(found["tables"]), list(found["figures"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    files = {f"tables/{name}.csv" for name in tables}
    files |= {f"figures/{name}{suffix}" for name in figures for suffix in (".svg", ".pdf")}
    return {file for file in files if file.count("/") == 1}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([Path(__file__).parent, Path(__file__).parents[1] / "browser"]),
        autoescape=lambda name: not (name or "").endswith((".md", ".tex")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["palette"] = Markup(properties())
    environment.filters |= {
        "md": escape_markdown,
        "tex": _latex,
        "script_hash": csp_hash,
        "one_script": one_script,
    }
    # Options of `tojson`, which also escapes what could end a script element.
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    return environment


def _latex(text: str) -> str:
    """Escapes LaTeX's characters, and joins the lines."""
    return _LATEX.sub(
        lambda found: _IN_LATEX.get(found[0], "\\" + found[0]), " ".join(text.split())
    )


def one_script(modules: str) -> str:
    """Returns the modules of a page, one after the other, as a script that imports nothing."""
    return _MODULE.sub("", modules)


def csp_hash(text: str) -> str:
    """Returns the hash by which a Content-Security-Policy allows a script or a style sheet."""
    return f"sha256-{b64encode(sha256(str(text).encode()).digest()).decode()}"
