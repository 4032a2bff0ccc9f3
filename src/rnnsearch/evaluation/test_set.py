"""A test set: source and reference line by line, and its gold word links where they are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.evaluation.gold_links import read_gold
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.word_links import GoldLinks


@dataclass(frozen=True)
class TestSet:
    """source, reference: line n of one translates line n of the other. gold: links of every pair. files, gold_file: where they are from."""

    name: str
    source: list[str]
    reference: list[str]
    files: tuple[str, str] = ("", "")
    gold: list[GoldLinks] | None = None
    gold_file: str = ""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.source, self.reference, strict=True))

    def first(self, pairs: int) -> TestSet:
        """The beginning of it."""
        gold = None if self.gold is None else self.gold[:pairs]
        return replace(self, source=self.source[:pairs], reference=self.reference[:pairs], gold=gold)

    def with_gold(self, file: str | Path) -> TestSet:
        """With the links of a Pharaoh or NAACL file. Raises InputError if they are not of as many sentences."""
        links = read_gold(file)
        require_lines(file, len(links), self)
        return replace(self, gold=links, gold_file=str(file))


def read_test_set(name: str, source: str | Path | None, reference: str | Path, gold: str | Path | None = None) -> TestSet:
    """source: None if nobody will look at it; its lines are then empty.

    Raises InputError for files that cannot be read, are not parallel or hold no line, and for gold links that do not fit.
    """
    pairs = [("", line) for line in read_lines(reference)] if source is None else list(read_pairs(source, reference))
    if not pairs:
        raise InputError("is empty", file=reference, remedy="a test set has at least one pair")
    test = TestSet(name, [pair[0] for pair in pairs], [pair[1] for pair in pairs], (str(source), str(reference)))
    return test if gold is None else test.with_gold(gold)


def require_lines(file: str | Path, lines: int, test: TestSet) -> None:
    """Raises InputError for a file that has not one line, or one sentence's links, for each pair of the test set."""
    if lines != len(test.source):
        remedy = "line n must belong to line n of the test set"
        raise InputError(f"has {lines:,} sentences, and test set {test.name} has {len(test.source):,}", file=file, remedy=remedy)
