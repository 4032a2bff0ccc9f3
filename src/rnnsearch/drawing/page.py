"""A page as data: sections of paragraphs, tables, pictures and sentences, with its HTML, Markdown and JSON
forms; and the folder of a page.

HTML and Markdown come from templates. An HTML page is a single file that works offline. HTML templates extend
`base.html`, which holds the style sheet and a Content-Security-Policy. All text is escaped.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rnnsearch.drawing.palette import properties
from rnnsearch.drawing.tables import Table, as_csv, as_latex
from rnnsearch.system.files import write_text, writing

if TYPE_CHECKING:
    from jinja2 import Environment

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$])")
_BLANK_LINES = re.compile(r"\n{3,}")


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


@dataclass(frozen=True)
class Word:
    """A word of a sentence. kind: how it is marked. note: a remark on it. space: whether a space follows."""

    text: str
    kind: Literal["", "differs", "unknown", "left-out"] = ""
    note: str = ""
    space: bool = True


@dataclass(frozen=True)
class SentenceText:
    """One text of a sentence. name: who wrote it. remarks: what is odd about it. role: empty for a
    translation."""

    name: str
    words: Sequence[Word]
    score: str = ""
    remarks: Sequence[str] = ()
    role: Literal["", "source", "reference"] = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence in several texts: source, reference, translations. title: names the sentence. detail: a
    further fact."""

    title: str
    detail: str
    lines: Sequence[SentenceText]


@dataclass(frozen=True)
class Sentences:
    """Sentences chosen by one rule. open: whether they are unfolded at first."""

    name: str
    caption: str
    sentences: Sequence[Sentence]
    notes: Sequence[str] = ()
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


def every_picture(document: Document) -> list[Picture]:
    """Returns the pictures of all sections, in their order."""
    return [
        picture
        for block in _blocks(document.sections)
        if isinstance(block, Pictures)
        for picture in block.pictures
    ]


def _blocks(sections: Sequence[Section]) -> list[Block]:
    return [block for section in sections for block in (*section.blocks, *_blocks(section.sections))]


def as_json(document: Document) -> str:
    """Returns one JSON object. tables: name → caption, rows as objects with unrounded numbers, and how it was
    made. figures: name → caption."""
    tables = {
        table.name: {
            "caption": table.caption,
            "rows": [
                dict(zip((column.name for column in table.columns), row, strict=True)) for row in table.rows
            ],
            "made": [*table.made],
        }
        for table in every_table(document)
    }
    figures = {picture.name: picture.caption for picture in every_picture(document)}
    made = dict(document.made) | {"date": document.date, "command": document.command}
    whole = {"title": document.title, "made": made, "tables": tables, "figures": figures}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def render(template: str, **values: Any) -> str:
    """Fills in a template of this package.

    Raises jinja2's UndefinedError if a value is missing.
    """
    text = _environment().get_template(template).render(values) + "\n"
    return text.encode("utf-8", "backslashreplace").decode(
        "utf-8"
    )  # a file's name may hold bytes that are not UTF-8


def as_html(document: Document, made_everywhere: bool = False) -> str:
    """Returns the document as an HTML page.

    made_everywhere: whether every table and figure says how it was made, because it may be copied alone.
    """
    return render("document.html", document=document, made_everywhere=made_everywhere)


def as_markdown(document: Document, tables: str = "") -> str:
    """Returns the document in Markdown; its pictures are in figures/ beside it.

    tables: the folder beside it that holds the CSV files.
    """
    return _BLANK_LINES.sub("\n\n", render("document.md", document=document, tables=tables)).strip() + "\n"


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
        write_text(out / f"{name}.md", as_markdown(document, tables="tables"))
        write_text(out / LATEX, as_latex(table for table in tables if table.name in latex))
        write_text(out / PAGE, as_html(document, made_everywhere=True))
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
        autoescape=lambda name: not (name or "").endswith(".md"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["palette"] = Markup(properties())
    environment.filters |= {"md": _markdown, "script_hash": csp_hash}
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


def csp_hash(text: str) -> str:
    """Returns the hash by which a Content-Security-Policy allows a script or a style sheet."""
    return f"sha256-{b64encode(sha256(str(text).encode()).digest()).decode()}"
