"""A study: its file (corpus, settings, variants, seeds, test sets, comparisons), validated like a recipe, and
its folder, in which one command works at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rnnsearch.config import (
    DataSettings,
    Positive,
    Seed,
    Settings,
    apply_override,
    checked,
    read_named,
    read_recipe,
    validated,
)
from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import counted_links
from rnnsearch.evaluation.test_set import System, TestSet, read_hypotheses, read_test_set
from rnnsearch.system.files import lock
from rnnsearch.system.parsing import read_toml
from rnnsearch.text.codec import side_tokeniser

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""Name of a variant, a test set or a system, and of its folders and columns."""
LONG = 40
"""Sentences with more source words than this are also scored separately."""
Symmetrisation = Literal[
    "grow-diag-final-and", "grow-diag-final", "grow-diag", "grow", "intersection", "union"
]
Changes = dict[str, dict[str, Any]]
"""section → key → value, as TOML gives them"""
WAIT = 60.0
"""Seconds that a command waits for another one to end: after Ctrl-C a training still saves."""


class _StudyTable(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CorpusFiles(_StudyTable):
    """Origin of the pairs: files, given as to `rnnsearch prepare`, or the built-in corpus."""

    builtin: bool = Field(
        False, description="the built-in corpus, whose word links are exact; then no files are named"
    )
    train: list[str] = Field([], description="pairs of a source file and a target file, or bilingual files")
    dev: list[str] = Field([], description="development files, named as the others are")
    links: list[str] = Field(
        [], description="word links (Pharaoh, JSON lines or TMX), a file for each corpus"
    )
    links_reversed: bool = Field(False, description="the links are written target-source")
    align: Symmetrisation | None = Field(
        None, description="make word links with eflomal (extra `align`), symmetrised in this way"
    )
    pairs: Positive | None = Field(
        None, description="use only the first pairs, as many as this; default of the built-in corpus: 12,000"
    )
    max_words: Positive | None = Field(
        None, description="use only pairs with 1 to this many words on both sides; `pairs` counts these"
    )
    dev_pairs: Positive | None = Field(None, description="use only this many development pairs")
    held_out: Positive = Field(500, description="pairs of each of the built-in development and test set")
    long_pairs: Positive | None = Field(
        None, description="pairs of another built-in test set, `long`, with sentences of 41 to 60 words"
    )

    @model_validator(mode="after")
    def _one_source(self) -> CorpusFiles:
        if self.builtin == bool(self.train):
            raise ValueError("name the files of `train`, or say `builtin = true`")
        if self.links and self.align:
            raise ValueError("name the files of `links`, or say how to `align`, not both")
        if self.builtin and (self.dev or self.links or self.align or self.dev_pairs or self.max_words):
            raise ValueError("the built-in corpus has its own development pairs and links")
        if not self.builtin and self.long_pairs:
            raise ValueError("long_pairs is for the built-in corpus")
        return self


class Test(_StudyTable):
    """A test set."""

    source: str
    reference: str
    gold: str | None = Field(
        None,
        description="gold word links, for the alignment error rate of forced decoding",
    )
    translate: bool = Field(
        True, description="whether the runs translate it; else the references are scored and aligned only"
    )
    systems: dict[Name, str] = Field({}, description="translations of other systems, line by line")


class Variant(_StudyTable):
    """Changes of one variant: a recipe of its own, and settings."""

    recipe: str | None = None
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    search: dict[str, Any] = {}
    both_directions: bool | None = Field(None, description="replaces the study's setting")


class Study(_StudyTable):
    """The content of a study's file. Paths are relative to the folder of the file, or to --data."""

    title: str = ""
    recipe: str = Field("", description="recipe of the corpus, and of every variant that names none")
    seeds: list[Seed] = Field([1], min_length=1)
    baseline: Name | None = Field(
        None, description="variant with which the others are compared; default: the first one"
    )
    comparisons: list[tuple[Name, Name]] = Field(
        [], description="further pairs of variants to test against each other"
    )
    both_directions: bool = Field(
        False, description="train each variant from target to source as well, to align in both directions"
    )
    symmetrisation: Symmetrisation = Field(
        "intersection", description="how the links of both directions are combined"
    )
    corpus: CorpusFiles
    settings: Changes = Field(
        {}, description="settings of all variants, by section; those of [data] are the corpus's"
    )
    variants: dict[Name, Variant] = Field(min_length=1)
    tests: dict[Name, Test] = {}

    @model_validator(mode="after")
    def _names_exist(self) -> Study:
        for name in (self.baseline, *(name for pair in self.comparisons for name in pair)):
            if name is not None and name not in self.variants:
                raise ValueError(f"there is no variant {name!r}, only {', '.join(self.variants)}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: a seed is named twice")
        if not self.tests and not self.corpus.builtin:
            raise ValueError("tests: name at least one test set, as [tests.NAME] with source and reference")
        return self


@dataclass(frozen=True)
class StudyRun:
    """One training. name: also that of its folder. reverse: trained from target to source,
    only to align in both directions."""

    name: str
    variant: str
    seed: int
    path: Path
    recipe: str
    settings: Settings
    store: Path
    reverse: bool = False


class StudyTest(NamedTuple):
    """A test set as it was read. systems: translations of other systems. long: positions of the sentences of
    more than LONG source words, as the corpus's tokeniser counts."""

    test: TestSet
    systems: list[System]
    long: list[int]


@dataclass(frozen=True)
class StudyFolder:
    """A study with resolved settings, and the paths in its folder OUT.

    name: the study's name in messages. config_folder: base of its recipes' paths. base_folder: base of its
    other paths. data: settings of the corpus. variants: name → settings.
    """

    path: Path
    study: Study
    name: str
    config_folder: Path
    base_folder: Path
    data: DataSettings
    variants: dict[str, Settings]

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def corpus(self) -> Path:
        """The built-in corpus, or the subset of the files that the study uses, as plain text."""
        return self.path / "corpus"

    @property
    def outputs(self) -> Path:
        """Outputs of the runs for the test sets: RUN/TEST.txt and the files of translation/outputs.py."""
        return self.path / "translations"

    @property
    def baseline(self) -> str:
        """The variant that the others are compared with."""
        return self.study.baseline or next(iter(self.study.variants))

    def store(self, reverse: bool = False) -> Path:
        """Returns the folder of the prepared dataset. reverse: of the one from target to source."""
        return self.path / ("store.reverse" if reverse else "store")

    def log(self, name: str) -> Path:
        """Returns the log file of a command."""
        return self.path / "logs" / f"{name}.log"

    def path_of(self, name: str) -> Path:
        """Returns the path of a file that the study names."""
        return self.base_folder / name

    def recipe(self, variant: str = "") -> str:
        """Returns the name or file of a variant's recipe; without a variant, of the corpus's."""
        return _recipe(self.study, self.config_folder, variant)

    @cached_property
    def runs(self) -> list[StudyRun]:
        """All runs of the study, ordered by variant and seed, reverse ones last. Raises InputError if two
        would have the same name."""
        runs: list[StudyRun] = []
        for reverse in (False, True):
            for variant, changes in self.study.variants.items():
                both = changes.both_directions
                if reverse and not (self.study.both_directions if both is None else both):
                    continue
                for seed in self.study.seeds:
                    name = self._run_name(variant, seed) + ".reverse" * reverse
                    path, recipe, store = self.path / "runs" / name, self.recipe(variant), self.store(reverse)
                    settings = self.variants[variant]
                    training = settings.training.model_copy(update={"seed": seed})
                    settings = settings.model_copy(update={"training": training})
                    runs.append(StudyRun(name, variant, seed, path, recipe, settings, store, reverse))
        names = [run.name for run in runs]
        clash = next((name for name in names if names.count(name) > 1), None)
        if clash is not None:
            what, remedy = f"two runs would be named {clash!r}", "rename one of the variants"
            raise InputError(what, file=self.name, remedy=remedy)
        return runs

    def _run_name(self, variant: str, seed: int) -> str:
        """Returns `variant`, or `variant-seed` with several seeds. A run that already has the other name
        keeps it."""
        names = [variant, f"{variant}-{seed}"]
        if len(self.study.seeds) > 1:
            names.reverse()
        return next((name for name in names if _seed(self.path / "runs" / name) == seed), names[0])

    @cached_property
    def tests(self) -> dict[str, Test]:
        """The test sets by name, with resolved paths; the built-in corpus has its own."""
        tests = {}
        if self.study.corpus.builtin:
            for name in ("test", *(["long"] if self.study.corpus.long_pairs else [])):
                files = (str(self.corpus / f"{name}.{kind}") for kind in ("en", "fr", "links"))
                tests[name] = Test(**dict(zip(("source", "reference", "gold"), files, strict=True)))
        for name, test in self.study.tests.items():
            paths = {
                key: str(self.path_of(path))
                for key in ("source", "reference", "gold")
                if (path := getattr(test, key)) is not None
            }
            systems = {system: str(self.path_of(path)) for system, path in test.systems.items()}
            tests[name] = test.model_copy(update=paths | {"systems": systems})
        return tests

    @cached_property
    def test_sets(self) -> dict[str, StudyTest]:
        """The test sets by name, read once. Raises InputError if one cannot be read, or if its files do not
        fit together."""
        tokenisers = side_tokeniser("source", self.data), side_tokeniser("target", self.data)
        found = {}
        for name, files in self.tests.items():
            test = read_test_set(name, files.source, files.reference, files.gold)
            lines = len(test.source)
            systems = [read_hypotheses(path, lines, system) for system, path in files.systems.items()]
            if test.gold is not None:
                counted_links(test, [[]] * lines, tokenisers)
            words = [len(tokenisers[0].words(line)) for line in test.source]
            long = [number for number, count in enumerate(words) if count > LONG]
            found[name] = StudyTest(test, systems, long)
        return found

    @contextmanager
    def locked(self, say: Callable[[str], None]) -> Iterator[int]:
        """Keeps other commands out of the folder. Yields the lock's file descriptor, which the study's
        processes must inherit.

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
                    remedy = "wait for it or end it, or name another folder"
                    raise InputError("another command is at work here", file=self.path, remedy=remedy)
                time.sleep(0.1)
            yield handle
        finally:
            os.close(handle)


def _seed(run: Path) -> int | None:
    """Returns the seed that a run was trained with; None if there is no such run."""
    try:
        return int(read_toml(run / "config.toml")["training"]["seed"])
    except (OSError, KeyError, ValueError, TypeError):
        return None


def open_study(
    name: str | Path, out: Path = Path(), data: str | Path | None = None, overrides: Sequence[str] = ()
) -> StudyFolder:
    """Reads a built-in study by name, or a TOML file, and resolves the settings of its variants.

    out: the study's folder. data: base of its paths; default: the folder of the study file, or the current
    one for a built-in study. overrides: `section.key=value`, for all variants. Raises InputError for a study
    that does not exist, is not TOML or is invalid.
    """
    where, table = read_named("study", name)
    config_folder = Path(where).parent  # of a built-in study, the current one
    study = checked(Study, table, where, "`rnnsearch settings --study alignment` shows an example")
    unknown = sorted(set(study.settings) - set(Settings.model_fields))
    if unknown:
        remedy = f"one of {', '.join(Settings.model_fields)}"
        raise InputError(f"unknown section settings.{unknown[0]}", file=where, remedy=remedy)

    def resolved(variant: str, *changes: Changes) -> Settings:
        recipe = _recipe(study, config_folder, variant)
        called = f"{where}: variant {variant}" if variant else where
        return _resolved([study.settings, *changes], recipe, overrides, called)

    variants = {}
    for variant, changes in study.variants.items():
        own = {"model": changes.model, "training": changes.training, "search": changes.search}
        if "seed" in changes.training or "seed" in study.settings.get("training", {}):
            what, remedy = "training.seed is not a setting of a study", "list the seeds, as seeds = [1, 2]"
            raise InputError(what, file=where, remedy=remedy)
        variants[variant] = resolved(variant, own)
    base_folder = Path(data) if data else config_folder
    return StudyFolder(out, study, where, config_folder, base_folder, resolved("").data, variants)


def _recipe(study: Study, folder: Path, variant: str = "") -> str:
    """Returns the recipe of a variant, or of the corpus: the name of a built-in one, or the path of a
    file."""
    own = study.variants[variant].recipe if variant else None
    recipe = study.recipe if own is None else own
    return str(folder / recipe) if recipe.endswith(".toml") else recipe


def _resolved(changes: Sequence[Changes], recipe: str, overrides: Sequence[str], where: str) -> Settings:
    """Applies the changes to the recipe, in order, and then the overrides."""
    name, table = read_recipe(recipe)
    for change in changes:
        for section, values in change.items():
            if not isinstance(table.setdefault(section, {}), dict):
                raise InputError(f"{section} is not a section", file=name)
            table[section].update(values)
    for override in overrides:
        apply_override(table, override)
    return validated(table, where)
