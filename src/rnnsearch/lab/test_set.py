"""Test sets, and the runs and the translations of other systems that are tested on them, as
arguments of the command line name them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import ne
from pathlib import Path

from rnnsearch.errors import InputError, InputWarning, escaped
from rnnsearch.evaluation.alignment_error import read_gold
from rnnsearch.system.files import file_name
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.text.tokens import composed
from rnnsearch.word_links import GoldLinks

ABSENT = "-"
"""Takes the place of the file of a system that has not translated a test set."""


@dataclass(frozen=True)
class TestSet:
    """A test set. source, reference: line n of one translates line n of the other. gold: the gold
    links of every pair. files, gold_file: the files of these. more: further references, with which
    texts are compared too; runs are asked for the likelihood of the first one.
    """

    name: str
    source: list[str]
    reference: list[str]
    files: tuple[str, str] = ("", "")
    gold: list[GoldLinks] | None = None
    gold_file: str = ""
    more: Sequence[Sequence[str]] = ()

    @property
    def references(self) -> list[Sequence[str]]:
        """Returns all references."""
        return [self.reference, *self.more]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Returns (source, reference) of every line."""
        return list(zip(self.source, self.reference, strict=True))

    def first(self, pairs: int | None) -> TestSet:
        """Returns the test set of the first `pairs` pairs; None for all."""
        gold = None if self.gold is None else self.gold[:pairs]
        more = [lines[:pairs] for lines in self.more]
        source, reference = self.source[:pairs], self.reference[:pairs]
        return replace(self, source=source, reference=reference, gold=gold, more=more)

    def with_references(self, files: Sequence[str | Path]) -> TestSet:
        """Returns the test set with the further references of files. Raises InputError if their
        number of lines differs."""
        more = []
        for file in files:
            more.append(comparable(read_lines(file), file))
            require_lines(file, len(more[-1]), self)
        return replace(self, more=more)

    def with_gold(self, file: str | Path, first: int | None = None) -> TestSet:
        """Returns the test set with the gold links of a file. first: as in `read_gold`. Raises
        InputError as that does, and if their number of sentences differs."""
        links = read_gold(file, first=first, pairs=self.pairs)
        require_lines(file, len(links), self)
        return replace(self, gold=links, gold_file=str(file))


def read_test_set(
    name: str, source: str | Path | None, reference: str | Path, gold: str | Path | None = None
) -> TestSet:
    """Reads a test set. source: None if it is not needed; its lines are then empty.

    Raises InputError for files that cannot be read, are not parallel or hold no line, and for gold
    links that do not fit.
    """
    if source is None:
        pairs = [("", line) for line in read_lines(reference)]
    else:
        pairs = list(read_pairs(source, reference))
    if not pairs:
        raise InputError("is empty", "a test set has at least one pair", file=reference)
    sources, references = zip(*pairs, strict=True)
    test = TestSet(
        name, list(sources), comparable(references, reference), (str(source), str(reference))
    )
    return test if gold is None else test.with_gold(gold)


def read_test_sets(
    files: Sequence[str], gold: Sequence[str] = (), gold_from: int | None = None
) -> list[TestSet]:
    """Reads test sets of `[NAME=]SRC REF [NAME=]SRC REF …`, and gold links of `[NAME=]FILE …`.

    A test set without a name is named after its source file, up to the first dot. Gold links
    without a name belong to the only test set. gold_from: position of their first word, as in
    `read_gold`.
    Raises InputError for an odd number of files, two sets with the same name, a set without lines,
    and gold links that do not fit.
    """
    if not files or len(files) % 2:
        raise InputError("a test set is two files, source and reference", "--test [NAME=]SRC REF")
    sets = []
    for word, reference in zip(files[::2], files[1::2], strict=True):
        name, source = split_name(word)
        name = name or Path(source).name.partition(".")[0] or "test"
        sets.append(read_test_set(name, source, reference))
    names = [test.name for test in sets]
    require_different(names, "test sets", "--test NAME=SRC REF")
    for entry in gold:
        name, path = split_name(entry)
        if not name and len(sets) > 1:
            what = f"which test set do the gold links {path} belong to?"
            raise InputError(what, "--gold NAME=FILE")
        if (name := name or names[0]) not in names:
            what = f"no test set {name!r} for the gold links {path}"
            raise InputError(what, f"one of {', '.join(names)}")
        place = names.index(name)
        sets[place] = sets[place].with_gold(path, gold_from)
    return sets


def split_name(word: str) -> tuple[str, str]:
    """Splits NAME=PATH; the name is empty if there is none, or if the whole word is a file."""
    name, equals, path = word.partition("=")
    return ("", word) if not equals or Path(word).exists() else (name, path)


def require_lines(file: str | Path, lines: int, test: TestSet) -> None:
    """Raises InputError unless a file has one line, or the links of one sentence, for each pair of
    the test set."""
    if lines != len(test.source):
        raise InputError(
            f"has {lines:,} sentences, but test set {test.name} has {len(test.source):,}",
            "line n must belong to line n of the test set",
            file=file,
        )


def name_runs(words: Sequence[str]) -> dict[str, Path]:
    """Returns the runs of `[NAME=]RUN …` by name. A run without a name is named after its folder,
    or its path if two folders have the same name.

    Raises InputError if two runs still have the same name.
    """
    split = [split_name(word) for word in words]
    folders = [Path(path).resolve().name for _, path in split]
    runs = [
        (name or (folder if folders.count(folder) == 1 else path.rstrip("/")), Path(path))
        for (name, path), folder in zip(split, folders, strict=True)
    ]
    require_different([name for name, _ in runs], "runs", "NAME=RUN")
    return dict(runs)


def read_systems(
    words: Sequence[str], sets: Sequence[TestSet]
) -> dict[str, dict[str, Sequence[str]]]:
    """Reads the hypotheses of outside systems, `NAME=HYP HYP … NAME=HYP …`: name → test set →
    lines. There is one HYP for each test set, in order; `-` stands for none.

    Raises InputError for a system without a name or with a wrong number of files, and for a file
    that does not fit its test set.
    """
    files: dict[str, list[str]] = {}
    current = ""
    for word in words:
        name, path = split_name(word)
        if name and name in files:
            remedy = "--system NAME=HYP, with a different name for each"
            raise InputError(f"two systems are called {name}", remedy)
        current = name or current
        if not current:
            raise InputError(f"the system of {word} has no name", "--system NAME=HYP")
        files.setdefault(current, []).append(path)
    for name, paths in files.items():
        if len(paths) != len(sets):
            names = ", ".join(test.name for test in sets)
            counted = f"{len(paths)} file" + "s" * (len(paths) > 1)
            what = f"system {name} has {counted}, but the test sets are: {names}"
            remedy = f"give one file for each, in this order; {ABSENT} for a missing one"
            raise InputError(what, remedy)
    return {
        name: {
            test.name: read_hypotheses(path, len(test.source))
            for test, path in zip(sets, paths, strict=True)
            if path != ABSENT
        }
        for name, paths in files.items()
    }


def read_hypotheses(file: str | Path, lines: int) -> list[str]:
    """Reads translations of `lines` sentences, one per line. Raises InputError if there are more or
    fewer."""
    text = comparable(read_lines(file), file)
    if len(text) != lines:
        counted = "1 line" if len(text) == 1 else f"{len(text):,} lines"
        remedy = "line N must translate line N of the source"
        raise InputError(f"has {counted}, and the references have {lines:,}", remedy, file=file)
    return text


def file_stem(file: str) -> str:
    """Returns the name of a system whose translations are in a file."""
    return Path(file).name.split(".")[0] or file if file != "-" else "stdin"


def comparable(lines: Iterable[str], file: str | Path) -> list[str]:
    """Returns the lines of a text whose score is asked for, in Unicode's NFC and without ligatures.
    Issues an InputWarning if that changes some."""
    given = list(lines)
    made = list(map(composed, given))
    if changed := sum(map(ne, given, made)):
        what = f"{escaped(file)}: lines with decomposed characters (NFD) or ligatures: {changed:,}"
        warnings.warn(
            f"{what} (they are normalised, NFC, for the scores)", InputWarning, stacklevel=2
        )
    return made


def require_different(names: Sequence[str], what: str, remedy: str) -> None:
    """Raises InputError if two names are the same, or become the same file name."""
    files = list(map(file_name, names))
    for name in files:
        if files.count(name) > 1:
            raise InputError(f"two {what} are called {name}", remedy)
