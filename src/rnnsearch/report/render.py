"""A document as one HTML page, as Markdown, as JSON and as CSV files."""

from __future__ import annotations

import csv
import io
import json
import re
from importlib import resources
from typing import Any

from rnnsearch.report.document import Document, Table, every_picture, every_table

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$])")
_BLANK_LINES = re.compile(r"\n{3,}")


def as_html(document: Document) -> str:
    """The page. Whatever texts hold is escaped, and nothing is loaded from elsewhere."""
    return _filled("report.html", document, escaping=True)


def as_markdown(document: Document) -> str:
    """The same in Markdown, with the pictures beside it."""
    return _BLANK_LINES.sub("\n\n", _filled("report.md", document, escaping=False)).strip() + "\n"


def as_json(document: Document) -> str:
    """All tables, numbers unrounded: name → caption, rows as objects, how it was made; the figures: name → caption."""
    tables = {
        table.name: {
            "caption": table.caption,
            "rows": [dict(zip(_names(table), row, strict=True)) for row in table.rows],
            "made": [*table.made],
        }
        for table in every_table(document)
    }
    figures = {picture.name: picture.caption for picture in every_picture(document)}
    made = dict(document.made) | {"date": document.date, "command": document.command}
    return json.dumps({"title": document.title, "made": made, "tables": tables, "figures": figures}, ensure_ascii=False, indent=1) + "\n"


def as_csv(table: Table) -> str:
    """One table, numbers unrounded, empty where there is none."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_names(table))
    writer.writerows(["" if value is None else value for value in row] for row in table.rows)
    return file.getvalue()


def _names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def _filled(name: str, document: Document, escaping: bool) -> str:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = resources.files("rnnsearch") / "report" / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda file: (folder / file).read_text(encoding="utf-8")),
        autoescape=escaping,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["md"] = _escaped
    languages: dict[str, Any] = {"source": document.source_language, "": document.target_language, "reference": document.target_language}
    style = (folder / "report.css").read_text(encoding="utf-8")
    return environment.get_template(name).render(document=document, style=style, languages=languages) + ("\n" if escaping else "")


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))
