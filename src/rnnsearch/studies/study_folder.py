"""The folder of a study: where everything lies, which runs there are, and who is at work in it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.studies.study import Plan
from rnnsearch.system.parsing import read_toml

WAIT = 60.0
"""Seconds that a second command waits for the first to end: one that was killed is still saving its run."""


@dataclass(frozen=True)
class StudyRun:
    """One training. name: of its folder. reverse: from target to source, for aligning in both directions only."""

    name: str
    variant: str
    seed: int
    path: Path
    reverse: bool = False


@dataclass(frozen=True)
class StudyFolder:
    """OUT, by its parts."""

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
    def page(self) -> Path:
        """The report."""
        return self.path / "report"

    def store(self, reverse: bool = False) -> Path:
        return self.path / ("store.reverse" if reverse else "store")

    def log(self, run: StudyRun) -> Path:
        """What its training and its search said."""
        return self.path / "logs" / f"{run.name}.log"

    @property
    def outputs(self) -> Path:
        """What the runs make of the test sets: RUN/TEST.txt and the files of translation/outputs.py."""
        return self.path / "translations"

    def runs(self, plan: Plan) -> list[StudyRun]:
        """Every run of the study: variant by variant, seed by seed, those of the other direction after all others."""
        study, forward, reverse = plan.study, [], []
        for variant, changes in study.variants.items():
            both = study.both_directions if changes.both_directions is None else changes.both_directions
            for seed in study.seeds:
                name = self._name(variant, seed, len(study.seeds) > 1)
                forward.append(StudyRun(name, variant, seed, self.path / "runs" / name))
                if both:
                    reverse.append(StudyRun(f"{name}.reverse", variant, seed, self.path / "runs" / f"{name}.reverse", reverse=True))
        runs = forward + reverse
        names = [run.name for run in runs]
        clash = next((name for name in names if names.count(name) > 1), None)
        if clash is not None:
            raise InputError(f"two runs would be named {clash!r}", file=plan.name, remedy="rename one of the variants")
        return runs

    def _name(self, variant: str, seed: int, several: bool) -> str:
        """`variant`, or `variant-seed` with several seeds; a run that the folder has under the other name keeps it."""
        names = [variant, f"{variant}-{seed}"]
        usual, other = reversed(names) if several else names
        there = [name for name in (usual, other) if self._seed(self.path / "runs" / name) == seed]
        return there[0] if there else usual

    @staticmethod
    def _seed(run: Path) -> int | None:
        """That a run was trained with; None if there is none."""
        try:
            table = read_toml(run / "config.toml")
            return int(table["training"]["seed"])
        except (OSError, KeyError, ValueError, TypeError):
            return None

    @contextmanager
    def locked(self, say: Callable[[str], None]) -> Iterator[int]:
        """Keeps other commands out of the folder; the value is the lock's descriptor, which those who work here must inherit.

        Raises InputError if another command is still at work after WAIT seconds.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._wait(lock, say)
            yield lock
        finally:
            os.close(lock)

    def _wait(self, lock: int, say: Callable[[str], None]) -> None:
        until, said = time.monotonic() + WAIT, False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    remedy = "wait for it or end it, or name another folder"
                    raise InputError("another command is at work here", file=self.path, remedy=remedy) from None
            if not said:
                say(f"{self.path}: another command is at work here; waiting for {WAIT:.0f} seconds at most")
                said = True
            time.sleep(0.1)
