"""A study's test sets: where their files are, whether they fit together, and what words their gold links count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.evaluation.test_set import TestSet, read_test_set, require_lines
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.links.words import PairWordCounts, given_words, recognise, tokeniser_ranges
from rnnsearch.translation.outputs import Kind
from rnnsearch.word_links import GoldLinks, Link


@dataclass(frozen=True)
class SetFiles:
    """A test set's paths on this machine. systems: name → translations. translate: False to score and align its references only."""

    name: str
    source: Path
    reference: Path
    gold: Path | None
    translate: bool
    systems: dict[str, Path]

    def read(self, reverse: bool = False) -> TestSet:
        """reverse: from target to source; then without gold links. Raises InputError if the files do not fit together."""
        if reverse:
            return read_test_set(self.name, self.reference, self.source)
        return read_test_set(self.name, self.source, self.reference, self.gold)

    @property
    def references(self) -> Kind:
        """With gold links, posterior alignments are compared with them as well."""
        return Kind.REFERENCES if self.gold is None else Kind.POSTERIOR

    def kinds(self, reverse: bool, page: bool = False) -> list[Kind]:
        """The outputs that a run makes of it. page: for a report as well."""
        translations = [Kind.TRANSLATIONS, Kind.WITHOUT_UNK] if page else [Kind.TRANSLATIONS]
        return [self.references, *(translations if self.translate and not reverse else [])]


def set_files(plan: Plan, folder: StudyFolder) -> dict[str, SetFiles]:
    """The study's test sets; the built-in corpus brings its own."""
    tests = {}
    if plan.study.corpus.builtin:
        for name in ("test", *(["long"] if plan.study.corpus.long_pairs else [])):
            source, reference, gold = (folder.corpus / f"{name}.{kind}" for kind in ("en", "fr", "links"))
            tests[name] = SetFiles(name, source, reference, gold, translate=True, systems={})
    for name, test in plan.study.tests.items():
        links = None if test.gold is None else plan.path(test.gold)
        systems = {system: plan.path(path) for system, path in test.systems.items()}
        tests[name] = SetFiles(name, plan.path(test.source), plan.path(test.reference), links, test.translate, systems)
    return tests


def check_set(files: SetFiles, data: DataSettings) -> None:
    """Raises InputError for a test set that cannot be read or whose files do not fit together."""
    test = files.read()
    for path in files.systems.values():
        require_lines(path, sum(1 for _ in read_lines(path)), test)
    if test.gold is not None:
        counted_links(test, [[] for _ in test.source], data)


def counted_links(test: TestSet, links: Sequence[Sequence[Link]], data: DataSettings) -> tuple[list[set[Link]], list[GoldLinks]]:
    """The links, in what the gold links count, and the gold links. links: source-target, between the tokeniser's words.

    Gold links count what stands between spaces or the tokeniser's words, as those for `prepare` do, and are told apart as those are.
    Raises InputError for gold links outside their sentences.
    """
    assert test.gold is not None
    tokenisers = side_tokeniser("source", data), side_tokeniser("target", data)
    pairs = [[(given_words(line), tokeniser.words(line)) for line, tokeniser in zip(pair, tokenisers, strict=True)] for pair in test.pairs]
    sizes = [tuple((len(source[kind]), len(target[kind])) for kind in (0, 1)) for source, target in pairs]
    counted = [PairWordCounts(sorted(sentence.possible), *size) for sentence, size in zip(test.gold, sizes, strict=True)]
    tokenised = recognise(counted) == "tokenised"
    _check_gold(test, counted, tokenised)
    if tokenised:
        return [set(sentence) for sentence in links], test.gold
    positions = [[_positions(test, *side) for side in pair] for pair in pairs]
    return [{(left[j], right[i]) for j, i in sentence} for sentence, (left, right) in zip(links, positions, strict=True)], test.gold


def _positions(test: TestSet, given: list[str], words: list[str]) -> list[int]:
    """Of each of the tokeniser's words, the place of the given word that it is a part of; of several, of the first."""
    ranges = tokeniser_ranges(given, words, resolves=False)
    if ranges is None:
        what = f"the tokeniser changes letters of {' '.join(given)[:60]!r}, so its links cannot be compared with gold links"
        raise InputError(what, file=test.gold_file, remedy='leave the sentence out, or give data.tokeniser = "space"')
    positions = [0] * len(words)
    for place, (first, after) in reversed(list(enumerate(ranges))):
        positions[first:after] = [place] * (after - first)
    return positions


def _check_gold(test: TestSet, counted: Sequence[PairWordCounts], tokenised: bool) -> None:
    for number, pair in enumerate(counted, 1):
        source, target = pair.tokenised if tokenised else pair.given
        for j, i in pair.links:
            if j >= source or i >= target:
                what = f"sentence {number}: the gold link {j}-{i} (counted from 0) is outside its {source} source and {target} target words"
                raise InputError(what, file=test.gold_file, remedy="gold links count what stands between spaces, or the tokeniser's words")
