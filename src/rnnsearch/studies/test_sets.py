"""A study's test sets: where their files are, whether they fit together, and what words their gold links count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.evaluation.gold_links import read_gold
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.text.links.words import PairWordCounts, given_words, recognise, tokeniser_ranges
from rnnsearch.word_links import GoldLinks, Link


@dataclass(frozen=True)
class SetFiles:
    """A test set with the paths that it has on this machine. systems: name → translations."""

    source: Path
    reference: Path
    gold: Path | None
    translate: bool
    systems: dict[str, Path]


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
        tests[name] = SetFiles(plan.path(test.source), plan.path(test.reference), links, test.translate, systems)
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

    Gold links count what stands between blanks or the tokeniser's words, as those for `prepare` do, and are told apart as those are.
    Raises InputError for gold links outside their sentences.
    """
    assert test.gold is not None
    gold = read_gold(test.gold)
    tokenisers = side_tokeniser("source", data), side_tokeniser("target", data)
    pairs = [
        [(given_words(line), tokeniser.words(line)) for line, tokeniser in zip(pair, tokenisers, strict=True)]
        for pair in read_pairs(test.source, test.reference)
    ]
    sizes = [tuple((len(source[kind]), len(target[kind])) for kind in (0, 1)) for source, target in pairs]
    counted = [PairWordCounts(sorted(sentence.possible), *size) for sentence, size in zip(gold, sizes, strict=True)]
    tokenised = recognise(counted) == "tokenised"
    _check_gold(test, counted, tokenised)
    if tokenised:
        return [set(sentence) for sentence in links], gold
    positions = [[_positions(test, *side) for side in pair] for pair in pairs]
    return [{(left[j], right[i]) for j, i in sentence} for sentence, (left, right) in zip(links, positions, strict=True)], gold


def _positions(test: SetFiles, given: list[str], words: list[str]) -> list[int]:
    """Of each of the tokeniser's words, the place of the given word that it is a part of; of several, of the first."""
    ranges = tokeniser_ranges(given, words, resolves=False)
    if ranges is None:
        what = f"the tokeniser changes letters of {' '.join(given)[:60]!r}, so its links cannot be compared with gold links"
        raise InputError(what, file=test.gold, remedy='leave the sentence out, or give data.tokeniser = "space"')
    positions = [0] * len(words)
    for place, (first, after) in reversed(list(enumerate(ranges))):
        positions[first:after] = [place] * (after - first)
    return positions


def _check_gold(test: SetFiles, counted: Sequence[PairWordCounts], tokenised: bool) -> None:
    for number, pair in enumerate(counted, 1):
        source, target = pair.tokenised if tokenised else pair.given
        for j, i in pair.links:
            if j >= source or i >= target:
                what = f"sentence {number}: the gold link {j}-{i} (counted from 0) is outside its {source} source and {target} target words"
                raise InputError(what, file=test.gold, remedy="gold links count what stands between blanks, or the tokeniser's words")
