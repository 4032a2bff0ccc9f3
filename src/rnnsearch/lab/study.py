"""A study's file (corpus, settings, variants × seeds, test sets, comparisons), validated like a
recipe, and the paths in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from rnnsearch.config import (
    Tables,
    Values,
    checked,
    merged,
    read_named,
    read_overrides,
    read_recipe,
    rename,
    validated,
)
from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import read_pharaoh
from rnnsearch.lab.test_set import (
    TestSet,
    read_hypotheses,
    read_test_set,
    require_different,
    require_lines,
)
from rnnsearch.settings import Positive, Seed, Settings
from rnnsearch.word_links import Link

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""Name of a variant, a test set or a system, and of its folders and columns."""
EFLOMAL = "eflomal"
"""Instead of a file of links: make them with eflomal."""
LinkMethod = Literal[
    "vote", "grow-diag-final-and", "grow-diag-final", "grow-diag", "grow", "intersection", "union"
]


def _distinct(seeds: list[int]) -> list[int]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed is named twice")
    return seeds


Seeds = Annotated[list[Seed], AfterValidator(_distinct)]
"""Seeds of training, none of them twice."""


class _StudyTable(
    BaseModel, extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
):
    """A table of a study's file."""


class CorpusFiles(_StudyTable):
    """Origin of the pairs: files, given as to `rnnsearch prepare`, or the built-in corpus."""

    builtin: bool = False
    """the built-in corpus, whose word links are exact; then no files are named"""
    train: list[str] = []
    """source and target files, alternating"""
    dev: list[str] = []
    """development files, named as the others are"""
    links: str = ""
    """word links of `train`, in Pharaoh format"""
    align: LinkMethod | None = None
    """make the links of `train`, and of tests with `links = "eflomal"`, with eflomal"""
    pairs: Positive | None = None
    """use only this many pairs: the first ones, or with `hold_out` pairs of the whole text"""
    dev_pairs: Positive | None = None
    """use only this many development pairs"""
    hold_out: bool = False
    """hold out development and test pairs of `train`, as `rnnsearch try` does; the test set is
    `held-out`"""
    held_out: Positive = 500
    """pairs of the built-in development and test sets"""
    long_pairs: Positive | None = None
    """pairs of another built-in test set, `long`, with sentences of 41 to 60 words"""

    @model_validator(mode="after")
    def _one_source(self) -> CorpusFiles:
        if self.builtin == bool(self.train):
            raise ValueError("name the files of `train`, or say `builtin = true`")
        if self.builtin and (self.dev or self.links or self.align):
            raise ValueError("the built-in corpus has its own development pairs and links")
        if len(self.train) % 2 or len(self.dev) % 2:
            raise ValueError("the files of `train` and of `dev` alternate, source and target")
        if self.hold_out and (self.builtin or self.dev or self.links or self.dev_pairs):
            raise ValueError("with `hold_out`, name the files of `train` only")
        if self.links and self.align:
            raise ValueError("name the file of `links`, or say how to `align`, not both")
        return self


class StudyTest(_StudyTable):
    """A test set."""

    source: str
    reference: str
    gold: str | None = None
    """gold word links, for the alignment error rate"""
    links: str | None = None
    """links from which α's distance is measured: a file, or "eflomal" with corpus.align"""
    translate: bool = True
    """whether the runs translate it; else the references are scored and aligned only"""
    systems: dict[Name, str] = {}
    """translations of other systems, line by line"""


class Variant(_StudyTable):
    """Changes of one variant: a recipe of its own, settings, and seeds."""

    recipe: str | None = None
    seeds: Seeds = []
    """instead of the study's"""
    model: Values = {}
    training: Values = {}
    optimiser: Values = {}
    dropout: Values = {}
    known_alignments: Values = {}
    stopping: Values = {}
    search: Values = {}
    translation: Values = {}


class Quick(_StudyTable):
    """Changes for --quick: of the seeds, the corpus, the test sets and the settings of all
    variants."""

    seeds: Seeds = []
    pairs: Positive | None = None
    dev_pairs: Positive | None = None
    long_pairs: Positive | None = None
    sentences: Positive | None = None
    """use only this many sentences of each test set"""
    settings: Tables = {}


class Study(_StudyTable):
    """The content of a study's file. Paths are relative to the folder of the file, or to --data."""

    title: str = ""
    like: str = ""
    """a study, by name or file, whose keys and tables this one has too, unless it has its own"""
    recipe: str = ""
    """recipe of the corpus, and of every variant that names none"""
    seeds: Seeds = Field([1], min_length=1)
    baseline: Name | None = None
    """variant with which the others are compared; default: the first one"""
    comparisons: list[tuple[Name, Name]] = []
    """further pairs of variants to compare"""
    corpus: CorpusFiles
    each: list[Name] = []
    """one study for each of these, in a folder of OUT; it replaces every {} of the file"""
    settings: Tables = {}
    """settings of all variants, by section; those of [data] are the corpus's"""
    variants: dict[Name, Variant] = Field(min_length=1)
    tests: dict[Name, StudyTest] = {}
    quick: Quick | None = None
    """changes for a small version of the study"""

    @model_validator(mode="after")
    def _names_exist(self) -> Study:
        for name in (self.baseline, *(name for pair in self.comparisons for name in pair)):
            if name is not None and name not in self.variants:
                raise ValueError(f"there is no variant {name!r}, only {', '.join(self.variants)}")
        training = [
            self.settings.get("training", {}),
            *(one.training for one in self.variants.values()),
        ]
        if any("seed" in settings for settings in training):
            raise ValueError(
                "training.seed is not a setting of a study: list the seeds, as seeds = [1, 2]"
            )
        for name, test in self.tests.items():
            if both := [one for one in test.systems if one in self.variants]:
                raise ValueError(f"tests.{name}.systems: {both[0]!r} is a variant, too: rename one")
            if test.links == EFLOMAL and not self.corpus.align:
                raise ValueError(f'tests.{name}.links = "{EFLOMAL}" needs corpus.align')
        own = {"train", "dev", *("test", "long") * self.corpus.builtin}
        own |= {"held-out"} if self.corpus.hold_out else set()
        if taken := sorted(own & self.tests.keys()):
            raise ValueError(f"tests.{taken[0]}: the study has its own {taken[0]}: rename it")
        if not (self.tests or self.corpus.builtin or self.corpus.hold_out):
            raise ValueError(
                "tests: name at least one test set, as [tests.NAME] with source and reference"
            )
        return self

    @property
    def pairs_to_compare(self) -> list[tuple[str, str]]:
        """Returns (variant, other): the baseline with every other variant, and the pairs that the
        file names."""
        baseline = self.baseline or next(iter(self.variants))
        pairs = [(baseline, name) for name in self.variants if name != baseline]
        return pairs + [pair for pair in self.comparisons if pair not in pairs]


@dataclass(frozen=True)
class StudyRun:
    """One training. name: VARIANT-SEED, also that of its folder."""

    name: str
    variant: str
    seed: int
    path: Path
    settings: Settings

    @property
    def names(self) -> dict[str, Any]:
        """The first entries of its row of results."""
        return {"run": self.name, "variant": self.variant, "seed": self.seed}


@dataclass(frozen=True)
class StudyFolder:
    """A study with resolved settings, and its folder.

    name: the study's name in messages. base: base directory of its paths. corpus: the settings that
    prepare the corpus. variants: name → settings. sentences: number of sentences used of each test
    set; None for all.
    """

    path: Path
    study: Study
    name: str
    base: Path
    corpus: Settings
    variants: dict[str, Settings]
    sentences: int | None = None

    @property
    def runs(self) -> list[StudyRun]:
        """Lists all runs: every variant with its first seed, then with its second, and so on."""
        rounds = [
            (place, name, seed)
            for name, variant in self.study.variants.items()
            for place, seed in enumerate(variant.seeds or self.study.seeds)
        ]
        runs = []
        for _, variant, seed in sorted(rounds, key=lambda one: one[0]):
            settings, name = self.variants[variant], f"{variant}-{seed}"
            training = settings.training.model_copy(update={"seed": seed})
            seeded = settings.model_copy(update={"training": training})
            runs.append(StudyRun(name, variant, seed, self.path / "runs" / name, seeded))
        return runs

    @property
    def sides(self) -> tuple[str, str]:
        """The codes of the two languages."""
        return self.corpus.data.source_language, self.corpus.data.target_language

    @cached_property
    def tests(self) -> dict[str, StudyTest]:
        """The test sets by name, with resolved paths; the built-in corpus has its own."""
        tests, corpus = {}, self.study.corpus
        names = ("test", "long") if corpus.long_pairs else ("test",)
        for name in names if corpus.builtin else ():
            endings = (*self.sides, "links")
            source, reference, links = (
                str(self.path / "corpus" / f"{name}.{end}") for end in endings
            )
            tests[name] = StudyTest(source=source, reference=reference, gold=links, links=links)
        if corpus.hold_out:
            source, reference = (str(self.path / "corpus" / f"test.{side}") for side in self.sides)
            tests["held-out"] = StudyTest(source=source, reference=reference)
        for name, test in self.study.tests.items():
            files = ("source", "reference", "gold", "links")
            found = {key: str(self.base / path) for key in files if (path := getattr(test, key))}
            if test.links == EFLOMAL:
                found["links"] = str(self.path / "corpus" / f"{name}.links")
            systems = {system: str(self.base / path) for system, path in test.systems.items()}
            tests[name] = test.model_copy(update=found | {"systems": systems})
        return tests

    def read_test(self, name: str) -> TestSet:
        """Reads a test set. Raises InputError if it cannot be read, or if its files do not fit
        together."""
        return self._whole_test(name).first(self.sentences)

    def _whole_test(self, name: str) -> TestSet:
        test = self.tests[name]
        return read_test_set(name, test.source, test.reference, test.gold)

    def read_links(self, name: str) -> list[set[Link]]:
        """Reads the known links of a test set. Raises InputError if they do not fit it."""
        links = read_pharaoh(file := self.tests[name].links or "")
        require_lines(file, len(links), self._whole_test(name))
        return links[: self.sentences]

    def read_systems(self, name: str) -> dict[str, list[str]]:
        """Reads the translations of other systems; none for a study with fewer sentences. Raises
        InputError if they do not fit the test set."""
        systems = self.tests[name].systems if self.sentences is None else {}
        lines = len(self._whole_test(name).source) if systems else 0
        return {system: read_hypotheses(path, lines) for system, path in systems.items()}


def open_studies(
    study_file: str | Path, out: Path, data: Path | None, overrides: Sequence[str], quick: bool
) -> list[StudyFolder]:
    """Opens the study, or one for each name in its `each`. Raises InputError as `open_study`
    does."""
    first = open_study(study_file, out, data, overrides, quick)
    names = first.study.each
    return [open_study(study_file, out / name, data, overrides, quick, name) for name in names] or [
        first
    ]


def open_study(
    study_file: str | Path,
    out: Path = Path(),
    data: str | Path | None = None,
    overrides: Sequence[str] = (),
    quick: bool = False,
    each: str = "",
) -> StudyFolder:
    """Reads a built-in study by name, or a TOML file, and resolves the settings of its variants.

    out: the study's folder. data: base of its paths; default: the folder of the study file, or the
    current one for a built-in study. overrides: `section.key=value`, for all variants. quick: apply
    the changes of its table [quick]. each: replaces every {}; default: the first of its `each`.
    Raises InputError for a study that does not exist, is not TOML or is invalid.
    """
    where, table = _read_study(study_file)
    folder = Path(where).parent  # of a built-in study, the current one
    if isinstance(names := table.get("each"), list) and names:
        table = _filled(table, each or str(names[0]))
    rename(where, *_tables(table))
    remedy = "`rnnsearch settings --study alignment` shows an example"
    study = checked(Study, table, where, remedy)
    changes = study.quick if quick else Quick()
    if changes is None:
        raise InputError("the study has no table [quick]", "leave --quick out", file=where)
    study = _changed(study, changes, f"{where}: quick", remedy)
    late, read = read_overrides(overrides), cache(read_recipe)
    if "seed" in changes.settings.get("training", {}) | late.get("training", {}):
        what = "training.seed is not a setting of a study"
        raise InputError(what, "list the seeds, as seeds = [1, 2]", file=where)

    def resolved(variant: Variant, where: str) -> Settings:
        """Returns the settings: a recipe, changed by the study, the variant, [quick] and the
        overrides."""
        recipe = study.recipe if variant.recipe is None else variant.recipe
        name, settings = read(folder / recipe if recipe.endswith(".toml") else recipe)
        validated(settings, name)
        own = variant.model_dump(exclude={"recipe", "seeds"})
        return validated(merged(settings, study.settings, own, changes.settings, late), where)

    for names in (study.variants, study.tests):
        require_different(list(names), "variants or test sets", f"rename one in {where}")
    return StudyFolder(
        path=out,
        study=study,
        name=where,
        base=Path(data) if data else folder,
        corpus=resolved(Variant(), where),
        variants={
            name: resolved(one, f"{where}: variant {name}") for name, one in study.variants.items()
        },
        sentences=changes.sentences,
    )


def _changed(study: Study, changes: Quick, where: str, remedy: str) -> Study:
    """Returns the study with other seeds and fewer pairs."""
    sizes = changes.model_dump(include={"pairs", "dev_pairs", "long_pairs"}, exclude_none=True)
    corpus = study.corpus.model_dump(exclude_defaults=True) | sizes
    smaller: Values = {"corpus": checked(CorpusFiles, corpus, where, remedy)}
    if changes.seeds:
        smaller["seeds"] = changes.seeds
        smaller["variants"] = {
            name: one.model_copy(update={"seeds": []}) for name, one in study.variants.items()
        }
    return study.model_copy(update=smaller)


def _read_study(study_file: str | Path) -> tuple[str, Values]:
    """Returns the study's name for messages, and its table, completed by that of the study which it
    is like."""
    where, table = read_named("study", study_file)
    if not isinstance(like := table.get("like"), str):
        return where, table
    _, other = read_named("study", Path(where).parent / like if like.endswith(".toml") else like)
    if "like" in other:
        said, remedy = f"like: {like} is itself like another study", "name that one"
        raise InputError(said, remedy, file=where)
    return where, other | table


def _filled(value: Any, name: str) -> Any:
    """Returns the content of a file with a name in place of every {}."""
    if isinstance(value, dict):
        return {key: _filled(one, name) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, name) for one in value]
    return value.replace("{}", name) if isinstance(value, str) else value


def _tables(study: Values) -> list[Any]:
    """Returns the tables of settings in a study's file: its own, those of --quick, and the
    variants."""
    quick, variants = (study.get(key, {}) for key in ("quick", "variants"))
    settings = [table.get("settings") for table in (study, quick) if isinstance(table, dict)]
    return [*settings, *(variants.values() if isinstance(variants, dict) else ())]
