"""Everything about one test set: Table 1, Figure 2, Table 3, Figure 3 and what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass

from rnnsearch.drawing.document import Section, Table
from rnnsearch.report.figure_2 import figure_2
from rnnsearch.report.figure_3 import alignments
from rnnsearch.report.measures import Measures
from rnnsearch.report.pictures import Album
from rnnsearch.report.table_1 import scores
from rnnsearch.report.table_3 import browsing, sentences_file
from rnnsearch.report.timing import timing
from rnnsearch.report.unknown_words import unknown_section


@dataclass(frozen=True)
class TestSetResults:
    """What the page shows of a test set, and tables that are too long for it."""

    section: Section
    files: list[Table]


def results(measures: Measures, album: Album, prefix: str) -> TestSetResults:
    """prefix: of all names in it, so that those of several test sets differ."""
    scored, tests = scores(measures, prefix)
    by_length, by_length_file = figure_2(measures, album, prefix)
    sections = [
        scored,
        by_length,
        browsing(measures, prefix),
        unknown_section(measures.outputs, prefix),
        alignments(measures, album, prefix),
        timing(measures, album, prefix),
    ]
    files = [*tests, by_length_file, sentences_file(measures, prefix)]
    shown = [section for section in sections if section is not None]
    return TestSetResults(Section(f"{prefix}results", f"Results on {measures.test.name}", sections=shown), files)
