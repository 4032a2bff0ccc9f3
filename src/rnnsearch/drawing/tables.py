"""A table as data, and its forms as text, CSV and LaTeX. A page has its forms as HTML, Markdown and JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from rnnsearch.drawing.characters import pad_left, pad_right

Value = str | int | float | None
"""A cell as it was computed; None if it is empty."""
MISSING = "–"
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


@dataclass(frozen=True)
class TableCell:
    """A formatted cell."""

    text: str
    numeric: bool = False
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
    heading = [column.name for column in table.columns]
    rows = [[cell.text.replace("−", "-") for cell in table.shown(row)] for row in table.rows]
    columns = []
    for place, column in enumerate(zip(heading, *rows, strict=True)):
        pad = pad_left if place in table.numeric else pad_right
        width = max(map(cell_len, column))
        columns.append([pad(cell, width) for cell in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def csv_text(rows: Iterable[Sequence[Value]]) -> str:
    """Returns rows as CSV, with unrounded numbers; None becomes an empty cell."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def as_csv(table: Table) -> str:
    """Returns one table as CSV."""
    return csv_text([[column.name for column in table.columns], *table.rows])


def as_latex(tables: Iterable[Table]) -> str:
    """Returns tables for a paper, with the rules of the package booktabs. Notes are comments."""
    lines = [r"% In the preamble: \usepackage{booktabs}"]
    for table in tables:
        sides = "".join("r" if place in table.numeric else "l" for place in range(len(table.columns)))
        lines += ["", *(f"% {' '.join(line.split())}" for line in (*table.notes, *table.made))]
        lines += [r"\begin{table}", r"\centering", rf"\caption{{{_latex(table.caption)}}}"]
        lines += [rf"\label{{tab:{table.name}}}", rf"\begin{{tabular}}{{{sides}}}", r"\toprule"]
        lines += [" & ".join(_latex(column.name) for column in table.columns) + r" \\", r"\midrule"]
        for row in table.rows:
            cells = ((_latex(cell.text), cell.best) for cell in table.shown(row))
            lines.append(" & ".join(rf"\textbf{{{text}}}" if best else text for text, best in cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    """Escapes LaTeX's characters, and joins the lines."""
    return _LATEX.sub(lambda found: _IN_LATEX.get(found[0], "\\" + found[0]), " ".join(text.split()))
