"""A system's translations of one test set: one of our runs, with all that is known of how it came to them, or an outside system."""

from __future__ import annotations

from dataclasses import dataclass

from rnnsearch.records import Translation
from rnnsearch.report.gather import Work, Worker


@dataclass(frozen=True)
class Output:
    """texts: one a line of the test set. place: of the system among all of the report, which decides its colour."""

    name: str
    place: int
    texts: list[str]


@dataclass(frozen=True)
class RunOutput(Output):
    """Of one of our runs."""

    worker: Worker
    work: Work

    @property
    def translations(self) -> list[Translation]:
        return [kept.translation for kept in self.work.translations]


def attending(outputs: list[Output]) -> list[RunOutput]:
    """The runs whose α say something."""
    return [output for output in outputs if isinstance(output, RunOutput) and output.worker.attends]
