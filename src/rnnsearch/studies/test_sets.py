"""A study's test sets: where their files are, whether they fit together, and what words their gold links count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.evaluation.links import GoldLinks, read_gold
from rnnsearch.records import Link
from rnnsearch.studies.folder import StudyFolder
from rnnsearch.studies.study import Plan
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.links import word_ranges
from rnnsearch.text.reading import read_lines, read_pairs
from rnnsearch.text.tokenise import Tokeniser


@dataclass(frozen=True)
class SetFiles:
    """A test set with the paths that it has on this machine. systems: name → translations."""

    source: Path
    reference: Path
    gold: Path | None
    translate: bool
    systems: dict[str, Path]
    gold_counts: str = "words"


def set_files(plan: Plan, folder: StudyFolder) -> dict[str, SetFiles]:
    """The study's test sets; the built-in corpus brings its own."""
    tests = {}
    if plan.study.corpus.builtin:
        for name in ("test", *(["long"] if plan.study.corpus.long_pairs else [])):
            source, reference, gold = (folder.corpus / f"{name}.{kind}" for kind in ("en", "fr", "links"))
            tests[name] = SetFiles(source, reference, gold, translate=True, systems={})
    for name, test in plan.study.tests.items():
        links = None if test.gold is None else plan.path(test.gold)
        systems = {system: plan.path(path) for system, path in test.systems.items()}
        tests[name] = SetFiles(plan.path(test.source), plan.path(test.reference), links, test.translate, systems, test.gold_counts)
    return tests


def check_set(name: str, test: SetFiles, data: DataSettings) -> None:
    """Raises InputError for a test set that cannot be read or whose files do not fit together."""
    lines = sum(1 for _ in read_pairs(test.source, test.reference))
    if not lines:
        raise InputError(f"test set {name} has no lines", file=test.source)
    others = {path: sum(1 for _ in read_lines(path)) for path in test.systems.values()}
    if test.gold is not None:
        others[test.gold] = len(read_gold(test.gold))
    for path, found in others.items():
        if found != lines:
            remedy = "line n must belong to line n of the test set"
            raise InputError(f"has {found} sentences, and test set {name} has {lines}", file=path, remedy=remedy)
    if test.gold is not None:
        counted_links(test, [[] for _ in range(lines)], data)


def counted_links(test: SetFiles, links: Sequence[Sequence[Link]], data: DataSettings) -> tuple[list[set[Link]], list[GoldLinks]]:
    """The links, in what the gold links count, and the gold links. links: source-target, between the tokeniser's words.

    Raises InputError for gold links outside their sentences.
    """
    assert test.gold is not None
    gold = read_gold(test.gold)
    source, target = side_tokeniser("source", data), side_tokeniser("target", data)
    sides = [(_positions(test, left, source), _positions(test, right, target)) for left, right in read_pairs(test.source, test.reference)]
    _check_gold(test, gold, [(max(left, default=-1) + 1, max(right, default=-1) + 1) for left, right in sides])
    counted = [{(left[j], right[i]) for j, i in sentence} for sentence, (left, right) in zip(links, sides, strict=True)]
    return counted, gold


def _positions(test: SetFiles, line: str, tokeniser: Tokeniser) -> list[int]:
    """Of each of the tokeniser's words, its position as gold links count."""
    words = tokeniser.words(line)
    if test.gold_counts == "words":
        return list(range(len(words)))
    given = [token for token in line.split(" ") if token]
    ranges = word_ranges(given, words)
    if ranges is None:
        what = f"the tokeniser changes letters of {line[:60]!r}, so its words cannot be counted by blanks"
        raise InputError(what, file=test.source, remedy='leave the sentence out, or give data.tokeniser = "space"')
    positions = [0] * len(words)
    for position, (first, after) in reversed(list(enumerate(ranges))):  # of a word that spans several, the first counts
        positions[first:after] = [position] * (after - first)
    return positions


def _check_gold(test: SetFiles, gold: Sequence[GoldLinks], sizes: Sequence[tuple[int, int]]) -> None:
    """Gold links outside their sentences count other words than we do."""
    for number, (sentence, (source, target)) in enumerate(zip(gold, sizes, strict=True), 1):
        for j, i in sentence.possible:
            if j >= source or i >= target:
                what = f"sentence {number}: the gold link {j}-{i} (counted from 0) is outside its {source} source and {target} target words"
                raise InputError(what, file=test.gold, remedy='say gold_counts = "blanks", if the gold links count what blanks separate')
