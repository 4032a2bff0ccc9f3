"""A study's file (corpus, settings, variants × seeds, test sets, comparisons), validated like a recipe, and
the paths in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from rnnsearch.config import (
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
from rnnsearch.evaluation.test_set import TestSet, read_test_set

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""Name of a variant, a test set or a system, and of its folders and columns."""
Symmetrisation = Literal[
    "grow-diag-final-and", "grow-diag-final", "grow-diag", "grow", "intersection", "union"
]
_FILES = ("source", "reference", "gold", "links")
Changes = dict[str, dict[str, Any]]
"""section → key → value, as TOML gives them"""


class _StudyTable(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """A table of a study's file."""


class CorpusFiles(_StudyTable):
    """Origin of the pairs: files, given as to `rnnsearch prepare`, or the built-in corpus."""

    builtin: bool = Field(
        False, description="the built-in corpus, whose word links are exact; then no files are named"
    )
    train: list[str] = Field([], description="source and target files, alternating")
    dev: list[str] = Field([], description="development files, named as the others are")
    links: str = Field("", description="word links of `train`, in Pharaoh format")
    align: Symmetrisation | None = Field(
        None, description='make the links of `train`, and of tests with `links = "eflomal"`, with eflomal'
    )
    pairs: Positive | None = Field(None, description="use only this many pairs, the first ones")
    dev_pairs: Positive | None = Field(None, description="use only this many development pairs")
    held_out: Positive = Field(500, description="pairs of the built-in development and test sets")
    long_pairs: Positive | None = Field(
        None, description="pairs of another built-in test set, `long`, with sentences of 41 to 60 words"
    )

    @model_validator(mode="after")
    def _one_source(self) -> CorpusFiles:
        if self.builtin == bool(self.train):
            raise ValueError("name the files of `train`, or say `builtin = true`")
        if self.builtin and (self.dev or self.links or self.align):
            raise ValueError("the built-in corpus has its own development pairs and links")
        if len(self.train) % 2 or len(self.dev) % 2:
            raise ValueError("the files of `train` and of `dev` alternate, source and target")
        if self.links and self.align:
            raise ValueError("name the file of `links`, or say how to `align`, not both")
        return self


class StudyTest(_StudyTable):
    """A test set."""

    source: str
    reference: str
    gold: str | None = Field(None, description="gold word links, for the alignment error rate")
    links: str | None = Field(
        None, description='links from which α\'s distance is measured: a file, or "eflomal" with corpus.align'
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


class Study(_StudyTable):
    """The content of a study's file. Paths are relative to the folder of the file, or to --data."""

    title: str = ""
    recipe: str = Field("", description="recipe of the corpus, and of every variant that names none")
    seeds: list[Seed] = Field([1], min_length=1)
    baseline: Name | None = Field(
        None, description="variant with which the others are compared; default: the first one"
    )
    comparisons: list[tuple[Name, Name]] = Field([], description="further pairs of variants to compare")
    corpus: CorpusFiles
    settings: Changes = Field(
        {}, description="settings of all variants, by section; those of [data] are the corpus's"
    )
    variants: dict[Name, Variant] = Field(min_length=1)
    tests: dict[Name, StudyTest] = {}
    quick: dict[str, Any] = Field(
        {},
        description="what --quick changes: seeds; pairs and dev_pairs of the corpus; sentences of each test "
        "set; settings",
    )

    @model_validator(mode="after")
    def _names_exist(self) -> Study:
        for name in (self.baseline, *(name for pair in self.comparisons for name in pair)):
            if name is not None and name not in self.variants:
                raise ValueError(f"there is no variant {name!r}, only {', '.join(self.variants)}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: a seed is named twice")
        training = [self.settings.get("training", {}), *(one.training for one in self.variants.values())]
        if any("seed" in settings for settings in training):
            raise ValueError("training.seed is not a setting of a study: list the seeds, as seeds = [1, 2]")
        if not self.tests and not self.corpus.builtin:
            raise ValueError("tests: name at least one test set, as [tests.NAME] with source and reference")
        return self

    @property
    def pairs_to_compare(self) -> list[tuple[str, str]]:
        """Returns (variant, other): the baseline with every other variant, and the pairs that the file
        names."""
        baseline = self.baseline or next(iter(self.variants))
        pairs = [(baseline, name) for name in self.variants if name != baseline]
        return pairs + [pair for pair in self.comparisons if pair not in pairs]


@dataclass(frozen=True)
class StudyRun:
    """One training. name: VARIANT-SEED, also that of its folder."""

    variant: str
    seed: int
    path: Path
    settings: Settings

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def names(self) -> dict[str, Any]:
        """The first entries of its row of results."""
        return {"run": self.name, "variant": self.variant, "seed": self.seed}


@dataclass(frozen=True)
class StudyFolder:
    """A study with resolved settings, and its folder.

    name: the study's name in messages. data: base of its paths. corpus: the settings that prepare the corpus.
    variants: name → settings. sentences: number of sentences used of each test set; None for all.
    """

    path: Path
    study: Study
    name: str
    data: Path
    corpus: Settings
    variants: dict[str, Settings]
    sentences: int | None = None

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def runs(self) -> list[StudyRun]:
        """Lists all runs: every variant with the first seed, then with the second, and so on."""
        return [
            StudyRun(
                name,
                seed,
                self / "runs" / f"{name}-{seed}",
                settings.model_copy(update={"training": settings.training.model_copy(update={"seed": seed})}),
            )
            for seed in self.study.seeds
            for name, settings in self.variants.items()
        ]

    @property
    def sides(self) -> tuple[str, str]:
        """The codes of the two languages."""
        return self.corpus.data.source_language, self.corpus.data.target_language

    @cached_property
    def tests(self) -> dict[str, StudyTest]:
        """The test sets by name, with resolved paths; the built-in corpus has its own."""
        tests, corpus = {}, self.study.corpus
        for name in ("test", "long")[: 1 + bool(corpus.long_pairs)] * corpus.builtin:
            paths = [str(self / "corpus" / f"{name}.{kind}") for kind in (*self.sides, "links", "links")]
            tests[name] = StudyTest(**dict(zip(_FILES, paths, strict=True)))
        for name, test in self.study.tests.items():
            found = {key: str(self.data / path) for key in _FILES if (path := getattr(test, key))}
            if test.links == "eflomal":
                found["links"] = str(self / "corpus" / f"{name}.links")
            systems = {system: str(self.data / path) for system, path in test.systems.items()}
            tests[name] = test.model_copy(update=found | {"systems": systems})
        return tests

    def read_test(self, name: str) -> TestSet:
        """Reads a test set. Raises InputError if it cannot be read, or if its files do not fit together."""
        test = self.tests[name]
        found = read_test_set(name, test.source, test.reference, test.gold)
        return found if self.sentences is None else found.first(self.sentences)


def open_study(
    study_file: str | Path,
    out: Path = Path(),
    data: str | Path | None = None,
    overrides: Sequence[str] = (),
    quick: bool = False,
) -> StudyFolder:
    """Reads a built-in study by name, or a TOML file, and resolves the settings of its variants.

    out: the study's folder. data: base of its paths; default: the folder of the study file, or the current
    one for a built-in study. overrides: `section.key=value`, for all variants. quick: apply the changes of
    its table [quick]. Raises InputError for a study that does not exist, is not TOML or is invalid.
    """
    where, table = read_named("study", study_file)
    folder = Path(where).parent  # of a built-in study, the current one
    remedy = "`rnnsearch settings --study alignment` shows an example"
    study = checked(Study, table, where, remedy)
    late: Changes = {}
    if quick:
        if not study.quick:
            raise InputError("the study has no table [quick]", file=where, remedy="leave --quick out")
        late = study.quick.get("settings", {})
        corpus = {key: study.quick[key] for key in ("pairs", "dev_pairs", "long_pairs") if key in study.quick}
        seeds = {"seeds": study.quick.get("seeds", study.seeds)}
        study = checked(Study, table | seeds | {"corpus": table["corpus"] | corpus}, where, remedy)

    def resolved(variant: Variant, where: str) -> Settings:
        """Returns the settings: a recipe, changed by the study, the variant, [quick] and the overrides."""
        recipe = study.recipe if variant.recipe is None else variant.recipe
        name, settings = read_recipe(folder / recipe if recipe.endswith(".toml") else recipe)
        validated(settings, name)
        for changes in (study.settings, variant.model_dump(exclude={"recipe"}), late):
            for section, values in changes.items():
                settings[section] = settings.get(section, {}) | values
        for override in overrides:
            apply_override(settings, override)
        return validated(settings, where)

    return StudyFolder(
        path=out,
        study=study,
        name=where,
        data=Path(data) if data else folder,
        corpus=resolved(Variant(), where),
        variants={name: resolved(one, f"{where}: variant {name}") for name, one in study.variants.items()},
        sentences=study.quick.get("sentences") if quick else None,
    )
