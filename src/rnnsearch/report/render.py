"""A report as one HTML page, as Markdown, as JSON and as CSV files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from rnnsearch.drawing import page
from rnnsearch.drawing.document import Document, Table, every_picture, every_table

_BESIDE = (
    ("report.md", "the same in Markdown"),
    ("report.json", "all numbers"),
    ("tables/", "every table as CSV"),
    ("figures/", "every figure as SVG and PDF"),
    ("translations/", "the translations"),
)


def as_html(document: Document) -> str:
    """The page. Whatever texts hold is escaped, and nothing is loaded from elsewhere."""
    return page.as_html(replace(document, beside=[*document.beside, *_BESIDE]), made_everywhere=True)


def as_markdown(document: Document) -> str:
    """The same in Markdown, with the pictures beside it."""
    return page.as_markdown(document, tables="tables")


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
