"""Runs, test sets and other systems as words of the command line, each with the name that tables show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.evaluation.test_set import TestSet, read_hypotheses, read_test_set, require_different

ABSENT = "-"
"""Stands for the file of another system that has not translated a test set."""


@dataclass(frozen=True)
class NamedRun:
    """A trained run, under the name that the report gives it."""

    name: str
    path: Path


def read_test_sets(files: Sequence[str], gold: Sequence[str] = ()) -> list[TestSet]:
    """Reads test sets of `[NAME=]SRC REF [NAME=]SRC REF …`, and gold links of `[NAME=]FILE …`.

    Without a name a test set is called by its source file up to the first dot, and gold links belong to the
    only test set.
    Raises InputError for an odd number of files, two sets of one name, a set without lines, and gold links
    that do not fit.
    """
    if not files or len(files) % 2:
        raise InputError("a test set is two files, source and reference", remedy="--test [NAME=]SRC REF")
    sets = [
        _read_test_set(source, reference) for source, reference in zip(files[::2], files[1::2], strict=True)
    ]
    require_different([test.name for test in sets], "test sets", "--test NAME=SRC REF")
    return reduce(_with_gold, gold, sets)


def name_runs(words: Sequence[str]) -> list[NamedRun]:
    """Names the runs of `[NAME=]RUN …`: without a name a run is called by its folder, or by its path where
    folders of one name meet.

    Raises InputError where that leaves two of one name.
    """
    split = [("", word) if Path(word).is_dir() else _named(word) for word in words]
    folders = Counter(Path(path).resolve().name for _, path in split)
    runs = []
    for name, path in split:
        folder = Path(path).resolve().name
        runs.append(NamedRun(name or (folder if folders[folder] == 1 else path.rstrip("/")), Path(path)))
    require_different([run.name for run in runs], "runs", "NAME=RUN")
    return runs


def system_files(words: Sequence[str], sets: Sequence[TestSet]) -> dict[str, dict[str, str]]:
    """Returns the files of outside systems, `NAME=HYP HYP … NAME=HYP …`: name → test set → file. There is one
    HYP per test set, in their order; `-` for none.

    Raises InputError for a system without a name, or without its number of files.
    """
    files: dict[str, list[str]] = {}
    current = ""
    for word in words:
        name, path = _named(word)
        if name and name in files:
            raise InputError(
                f"two systems are called {name}", remedy="--system NAME=HYP, with a name of its own for each"
            )
        current = name or current
        if not current:
            raise InputError(f"the system of {word} has no name", remedy="--system NAME=HYP")
        files.setdefault(current, []).append(path)
    for name, paths in files.items():
        if len(paths) != len(sets):
            remedy = (
                f"one for each of {', '.join(test.name for test in sets)}, in this order; {ABSENT} "
                "where it has none"
            )
            raise InputError(f"{len(paths)} files of system {name} for {len(sets)} test sets", remedy=remedy)
    return {
        name: {test.name: path for test, path in zip(sets, paths, strict=True) if path != ABSENT}
        for name, paths in files.items()
    }


def read_systems(
    files: Mapping[str, Mapping[str, str | Path]], sets: Sequence[TestSet]
) -> dict[str, dict[str, list[str]]]:
    """Reads the hypotheses of every other system: name → test set → lines. Raises InputError for a file that
    does not fit its test set."""
    sizes = {test.name: len(test.source) for test in sets}
    return {
        name: {test: list(read_hypotheses(path, sizes[test], name).texts) for test, path in paths.items()}
        for name, paths in files.items()
    }


def _read_test_set(source: str, reference: str) -> TestSet:
    name, source = _named(source)
    return read_test_set(name or Path(source).name.partition(".")[0] or "test", source, reference)


def _with_gold(sets: list[TestSet], entry: str) -> list[TestSet]:
    name, path = _named(entry)
    if not name and len(sets) > 1:
        raise InputError(f"which test set do the gold links {path} belong to?", remedy="--gold NAME=FILE")
    name = name or sets[0].name
    if name not in [test.name for test in sets]:
        raise InputError(
            f"no test set {name!r} for the gold links {path}",
            remedy=f"one of {', '.join(each.name for each in sets)}",
        )
    return [test.with_gold(path) if test.name == name else test for test in sets]


def _named(word: str) -> tuple[str, str]:
    """Splits NAME=PATH; the name is empty if there is none, or if the whole word is a file."""
    name, equals, path = word.partition("=")
    return ("", word) if not equals or Path(word).exists() else (name, path)
