"""What every table and picture of a test set is made from: its measures, an album, and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rnnsearch.drawing.figures import Album
from rnnsearch.evaluation.measures import Measures
from rnnsearch.evaluation.test_set import RunAnswers


@dataclass(frozen=True)
class Part:
    """A test set's part of the report.

    prefix: of all names in it, so that those of several test sets differ. places: of every system of the
    report, which decide its colour.
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
        """Our runs whose α say something."""
        return [(name, run) for name, run in self.runs if run.attends]

    def signatures(self, metrics: Sequence[str]) -> list[str]:
        """Returns how each of these metrics was computed."""
        signed = self.measures.signatures
        return [f"{metric}: {signed[metric]}" for metric in metrics if metric in signed]
