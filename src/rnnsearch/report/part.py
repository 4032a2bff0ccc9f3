"""`Part`: the measures, names and album from which the tables and pictures of one test set are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rnnsearch.drawing.figures import Album
from rnnsearch.drawing.page import Block, Column, Picture, Section, Table, Value
from rnnsearch.evaluation.measures import Measures
from rnnsearch.evaluation.test_set import RunAnswers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Part:
    """A test set's part of the report.

    prefix: of all names in it, because a report may have several test sets. places: system → its position in
    the report, which decides its colour.
    """

    measures: Measures
    album: Album
    prefix: str
    places: dict[str, int]

    @property
    def runs(self) -> list[tuple[str, RunAnswers]]:
        """Our runs and their names."""
        return [(system.name, system.run) for system in self.measures.systems if system.run is not None]

    @property
    def attending(self) -> list[tuple[str, RunAnswers]]:
        """Our runs with an attention; RNNencdec has none."""
        return [(name, run) for name, run in self.runs if run.attends]

    def signatures(self, metrics: Sequence[str]) -> list[str]:
        """Returns `metric: signature` for each of these metrics that has a signature."""
        signed = self.measures.signatures
        return [f"{metric}: {signed[metric]}" for metric in metrics if metric in signed]

    def table(
        self,
        name: str,
        caption: str,
        columns: Sequence[Column | str],
        rows: Sequence[Sequence[Value]],
        notes: Sequence[str] = (),
        made: Sequence[str] = (),
    ) -> Table:
        """Returns a table of this part. columns: a string stands for a column with default options."""
        plain = [Column(column) if isinstance(column, str) else column for column in columns]
        return Table(f"{self.prefix}{name}", caption, plain, rows, notes, made)

    def picture(self, figure: Figure, name: str, caption: str, alt: str) -> Picture:
        """Adds a picture of this part to the album."""
        return self.album.add(figure, f"{self.prefix}{name}", caption, alt)

    def section(self, name: str, title: str, blocks: Sequence[Block]) -> Section:
        """Returns a section of this part."""
        return Section(f"{self.prefix}{name}", title, blocks)
