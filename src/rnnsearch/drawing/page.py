"""A page as data: sections of paragraphs, tables, pictures and sentences. HTML, Markdown, JSON and CSV are
each made from it.

HTML and Markdown come from templates: one environment, one style sheet, one palette. A page is a single file
that works offline. The templates extend `base.html`, which holds the style sheet and a
Content-Security-Policy. Whatever comes from text is escaped.
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
from typing import TYPE_CHECKING, Any, Literal

from rnnsearch.drawing.palette import properties

if TYPE_CHECKING:
    from jinja2 import Environment

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$])")
_BLANK_LINES = re.compile(r"\n{3,}")
Value = str | int | float | None
"""A cell as it was computed; None where there is nothing to say."""

MISSING = "–"


@dataclass(frozen=True)
class Column:
    """form: how its numbers are written, as in Python's format(); best: which of them is shown in bold.

    numeric: whether its texts are numbers, such as "20.1 ± 0.3", and stand at the right.
    """

    name: str
    form: str = ","
    best: Literal["", "highest", "lowest"] = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """name: of its CSV file, and its anchor. The first column names the row. notes: how to read it; made:
    signatures and the like."""

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
        """Returns the cells of a row as they are written."""
        numeric, cells = self.numeric, []
        for place, (column, value) in enumerate(zip(self.columns, row, strict=True)):
            if isinstance(value, int | float):
                best = bool(column.best) and value == self._best(place)
                cells.append(TableCell(format(value, column.form).replace("-", "−"), True, best))
            else:  # a text stands under the heading of its numbers
                cells.append(TableCell(MISSING if value is None else value, place in numeric))
        return cells

    def _best(self, place: int) -> float | None:
        numbers = [value for row in self.rows if isinstance(value := row[place], int | float)]
        if len(numbers) < 2:  # the only one is no winner
            return None
        return max(numbers) if self.columns[place].best == "highest" else min(numbers)


@dataclass(frozen=True)
class TableCell:
    """A cell as it is written."""

    text: str
    numeric: bool = False
    best: bool = False


@dataclass(frozen=True)
class Picture:
    """name: of its files, and its anchor. svg: for the inside of the page. alt: what it shows, for those who
    cannot see it."""

    name: str
    caption: str
    alt: str
    svg: str = ""


@dataclass(frozen=True)
class Pictures:
    """Pictures of one figure, beside each other where there is room. wide: kept at their size, scrolled where
    a screen is narrower."""

    name: str
    caption: str
    pictures: Sequence[Picture]
    notes: Sequence[str] = ()
    made: Sequence[str] = ()
    wide: bool = False


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Word:
    """A word of a sentence. kind: what the reader should see in it. note: more about it. space: whether one
    follows."""

    text: str
    kind: Literal["", "differs", "unknown", "left-out"] = ""
    note: str = ""
    space: bool = True


@dataclass(frozen=True)
class SentenceText:
    """One text of a sentence's group: who wrote it, what, its score, and what is odd about it. role: empty
    for a translation."""

    name: str
    words: Sequence[Word]
    score: str = ""
    remarks: Sequence[str] = ()
    role: Literal["", "source", "reference"] = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence in several texts: source, reference, translations. title: which sentence it is; detail: more
    about it."""

    title: str
    detail: str
    lines: Sequence[SentenceText]


@dataclass(frozen=True)
class Sentences:
    """Sentences chosen by one rule. open: shown at once, not only when asked for."""

    name: str
    caption: str
    sentences: Sequence[Sentence]
    notes: Sequence[str] = ()
    open: bool = False


Block = Table | Pictures | Paragraph | Sentences


@dataclass(frozen=True)
class Section:
    """name: its anchor. Sections of a section follow its blocks."""

    name: str
    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = ()


@dataclass(frozen=True)
class Document:
    """lead: the first paragraph. made: how it was made (versions, files, settings …), as (what, value).

    beside: files and pages that belong to it, as (path from the page, what is there).
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
    """Tables that are too long for a page: written as files only."""


def every_table(document: Document) -> list[Table]:
    """Returns the tables of all sections, in their order, and those that are files only."""
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


def csv_text(rows: Iterable[Sequence[Value]]) -> str:
    """Returns rows as CSV, numbers unrounded, empty where there is none."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def as_csv(table: Table) -> str:
    """Returns one table as CSV."""
    return csv_text([[column.name for column in table.columns], *table.rows])


def as_json(document: Document) -> str:
    """Returns all tables, numbers unrounded: name → caption, rows as objects, how it was made; and the
    figures: name → caption."""
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

    Raises jinja2's UndefinedError for a value that it needs and does not get.
    """
    text = _environment().get_template(template).render(values) + "\n"
    return text.encode("utf-8", "backslashreplace").decode(
        "utf-8"
    )  # the name of a file may hold bytes that are no text


def as_html(document: Document, made_everywhere: bool = False) -> str:
    """Returns the document as a page.

    made_everywhere: say under every table and figure how it was made: they may be copied one by one.
    """
    return render("document.html", document=document, made_everywhere=made_everywhere)


def as_markdown(document: Document, tables: str = "") -> str:
    """Returns the document in Markdown, with its pictures in figures/ beside it.

    tables: the folder beside it where each table is a CSV file.
    """
    return _BLANK_LINES.sub("\n\n", render("document.md", document=document, tables=tables)).strip() + "\n"


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
    environment.filters |= {"md": _markdown, "script_hash": _script_hash}
    # For `tojson`, which also escapes what could end a script element.
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    return environment


def _markdown(text: str) -> str:
    """Returns text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def _script_hash(script: str) -> str:
    """Returns what a Content-Security-Policy calls a script that it allows."""
    return f"sha256-{b64encode(sha256(str(script).encode()).digest()).decode()}"
