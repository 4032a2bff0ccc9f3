"""The folder of a study: where everything lies, which runs and test sets there are, who is at work in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rnnsearch.config import Settings
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import counted_links
from rnnsearch.evaluation.test_set import TestSet, read_hypotheses, read_test_set
from rnnsearch.studies.study import Plan
from rnnsearch.system.files import lock
from rnnsearch.system.parsing import read_toml
from rnnsearch.text.codec import side_tokeniser

WAIT = 60.0
"""Seconds that a second command waits for the first to end: one that was killed is still saving its run."""


@dataclass(frozen=True)
class StudyRun:
    """One training. name: of its folder. reverse: from target to source, for aligning in both directions
    only."""

    name: str
    variant: str
    seed: int
    path: Path
    reverse: bool = False


@dataclass(frozen=True)
class SetFiles:
    """A test set's paths on this machine. systems: name → translations. translate: False to score and align
    its references only."""

    name: str
    source: Path
    reference: Path
    gold: Path | None
    translate: bool
    systems: dict[str, Path]

    def read(self, reverse: bool = False) -> TestSet:
        """Reads the test set. reverse: from target to source; then without gold links.

        Raises InputError if the files do not fit together.
        """
        if reverse:
            return read_test_set(self.name, self.reference, self.source)
        return read_test_set(self.name, self.source, self.reference, self.gold)


@dataclass(frozen=True)
class StudyFolder:
    """A study, and the folder OUT by its parts."""

    plan: Plan
    path: Path

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def corpus(self) -> Path:
        """The built-in corpus, or the subset of the files that the study uses, as plain text."""
        return self.path / "corpus"

    @property
    def aligned(self) -> Path:
        """Word links of the training pairs, if the study makes them."""
        return self.path / "train.links"

    @property
    def outputs(self) -> Path:
        """Outputs of the runs for the test sets: RUN/TEST.txt and the files of translation/outputs.py."""
        return self.path / "translations"

    def store(self, reverse: bool = False) -> Path:
        return self.path / ("store.reverse" if reverse else "store")

    def log(self, name: str) -> Path:
        """Returns the file of what a command said."""
        return self.path / "logs" / f"{name}.log"

    def settings(self, run: StudyRun) -> Settings:
        return self.plan.of_seed(run.variant, run.seed)

    @cached_property
    def runs(self) -> list[StudyRun]:
        """Every run of the study: variant by variant, seed by seed, those of the other direction after all
        others. Raises InputError if two would have one name."""
        study = self.plan.study
        runs: dict[bool, list[StudyRun]] = {False: [], True: []}
        for variant, changes in study.variants.items():
            both = study.both_directions if changes.both_directions is None else changes.both_directions
            for seed in study.seeds:
                forward = self._name(variant, seed)
                for reverse in (False, True) if both else (False,):
                    name = f"{forward}.reverse" if reverse else forward
                    runs[reverse].append(StudyRun(name, variant, seed, self.path / "runs" / name, reverse))
        every = runs[False] + runs[True]
        names = [run.name for run in every]
        clash = next((name for name in names if names.count(name) > 1), None)
        if clash is not None:
            what, remedy = f"two runs would be named {clash!r}", "rename one of the variants"
            raise InputError(what, file=self.plan.name, remedy=remedy)
        return every

    @cached_property
    def tests(self) -> dict[str, SetFiles]:
        """The test sets by name; the built-in corpus brings its own."""
        plan, tests = self.plan, {}
        if plan.study.corpus.builtin:
            for name in ("test", *(["long"] if plan.study.corpus.long_pairs else [])):
                source, reference, gold = (self.corpus / f"{name}.{kind}" for kind in ("en", "fr", "links"))
                tests[name] = SetFiles(name, source, reference, gold, translate=True, systems={})
        for name, test in plan.study.tests.items():
            gold_file = None if test.gold is None else plan.path(test.gold)
            systems = {system: plan.path(path) for system, path in test.systems.items()}
            files = plan.path(test.source), plan.path(test.reference), gold_file
            tests[name] = SetFiles(name, *files, test.translate, systems)
        return tests

    def check_tests(self) -> None:
        """Raises InputError for a test set that cannot be read or whose files do not fit together."""
        tokenisers = side_tokeniser("source", self.plan.data), side_tokeniser("target", self.plan.data)
        for files in self.tests.values():
            test = files.read()
            for name, path in files.systems.items():
                read_hypotheses(path, len(test.source), name)
            if test.gold is not None:
                counted_links(test, [[] for _ in test.source], tokenisers)

    def _name(self, variant: str, seed: int) -> str:
        """Returns `variant`, or `variant-seed` with several seeds; a run that the folder has under the other
        name keeps it."""
        usual, other = variant, f"{variant}-{seed}"
        if len(self.plan.study.seeds) > 1:
            usual, other = other, usual
        there = [name for name in (usual, other) if self._seed(self.path / "runs" / name) == seed]
        return there[0] if there else usual

    @staticmethod
    def _seed(run: Path) -> int | None:
        """Returns the seed that a run was trained with; None if there is none."""
        try:
            return int(read_toml(run / "config.toml")["training"]["seed"])
        except (OSError, KeyError, ValueError, TypeError):
            return None

    @contextmanager
    def locked(self, say: Callable[[str], None]) -> Iterator[int]:
        """Keeps other commands out of the folder; the value is the lock's descriptor, which those who work
        here must inherit.

        Raises InputError if another command is still at work after WAIT seconds.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        until = time.monotonic() + WAIT
        try:
            if not lock(handle):
                say(f"{self.path}: another command is at work here; waiting for {WAIT:.0f} seconds at most")
            while not lock(handle):
                if time.monotonic() > until:
                    what, remedy = (
                        "another command is at work here",
                        "wait for it or end it, or name another folder",
                    )
                    raise InputError(what, file=self.path, remedy=remedy)
                time.sleep(0.1)
            yield handle
        finally:
            os.close(handle)
