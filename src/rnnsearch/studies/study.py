"""A study file: corpus, common settings, variants, seeds, test sets and what is compared; validated like a
recipe."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
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
    read_recipe,
    validated,
)
from rnnsearch.errors import InputError, did_you_mean
from rnnsearch.system.parsing import parse_toml, read_toml

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
"""Of a variant, a test set or a system: it names folders and columns."""
LONG = 40
"""Words of the source: sentences with more are scored by themselves, too."""
Symmetrisation = Literal[
    "grow-diag-final-and", "grow-diag-final", "grow-diag", "grow", "intersection", "union"
]
Changes = dict[str, dict[str, Any]]
"""section → key → value, as TOML gives them"""


class _StudyTable(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CorpusFiles(_StudyTable):
    """Origin of the pairs: files, named as `rnnsearch prepare` names them, or the built-in corpus."""

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
        None, description="make the word links with eflomal (extra `align`), symmetrised so"
    )
    pairs: Positive | None = Field(
        None, description="only the first so many pairs; the built-in corpus has 12,000 if not said"
    )
    max_words: Positive | None = Field(
        None, description="only pairs with 1 to so many words on both sides, before `pairs` counts them"
    )
    dev_pairs: Positive | None = Field(None, description="only the first so many development pairs")
    held_out: Positive = Field(500, description="pairs of each of the built-in development and test set")
    long_pairs: Positive | None = Field(
        None, description="of the built-in corpus: another test set `long`, of sentences of 41 to 60 words"
    )

    @model_validator(mode="after")
    def _one_source(self) -> CorpusFiles:
        if self.builtin == bool(self.train):
            raise ValueError("name the files of `train`, or say `builtin = true`")
        if self.links and self.align:
            raise ValueError("name the files of `links`, or say how to `align`, not both")
        if self.builtin and (self.dev or self.links or self.align or self.dev_pairs or self.max_words):
            raise ValueError("the built-in corpus brings its own development pairs and links")
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
    translate: bool = Field(True, description="false: only the references are scored and aligned")
    systems: dict[Name, str] = Field({}, description="translations of other systems, line by line")


class Variant(_StudyTable):
    """Changes of one variant: a recipe of its own, and settings."""

    recipe: str | None = None
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}
    search: dict[str, Any] = {}
    both_directions: bool | None = Field(None, description="as the study's, for this variant alone")


class Study(_StudyTable):
    """All of a study. Paths are relative to the folder of the study file, or to --data."""

    title: str = ""
    recipe: str = Field("", description="of every variant that names none, and of the corpus")
    seeds: list[Seed] = Field([1], min_length=1)
    baseline: Name | None = Field(
        None, description="what the others are compared with; the first variant if not given"
    )
    comparisons: list[tuple[Name, Name]] = Field(
        [], description="further pairs of variants to test against each other"
    )
    both_directions: bool = Field(
        False, description="train each variant from target to source as well, to align in both directions"
    )
    symmetrisation: Symmetrisation = Field("intersection", description="of the links of both directions")
    corpus: CorpusFiles
    settings: Changes = Field(
        {}, description="settings of all variants, by section; those of [data] make the corpus"
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

    @property
    def reference_variant(self) -> str:
        """The baseline."""
        return self.baseline or next(iter(self.variants))


class Plan(NamedTuple):
    """A study with everything resolved. settings: of each variant; `of_seed` has those of a run.

    config_folder: that of its file, where its recipes are looked for. base_folder: where its other paths
    begin.
    """

    study: Study
    name: str
    config_folder: Path
    base_folder: Path
    data: DataSettings
    settings: dict[str, Settings]

    def of_seed(self, variant: str, seed: int) -> Settings:
        """Returns the settings of one run."""
        settings = self.settings[variant]
        return settings.model_copy(update={"training": settings.training.model_copy(update={"seed": seed})})

    def recipe(self, variant: str = "") -> str:
        """Returns the name or file of a variant's recipe, or of the corpus's."""
        return recipe_name(self.study, self.config_folder, variant)

    def path(self, name: str) -> Path:
        """Returns the path of a file that the study names."""
        return self.base_folder / name


def study_names() -> list[str]:
    """Lists the studies that come with the package."""
    folder = resources.files("rnnsearch.studies") / "builtin"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def read_plan(name: str | Path, data: str | Path | None = None, overrides: Sequence[str] = ()) -> Plan:
    """Reads a study, by the name of a built-in one or as a TOML file, and resolves the settings of its
    variants.

    data: the folder that its paths are relative to; else that of the study file, or the current one for a
    built-in study. overrides: `section.key=value`, for all variants. Raises InputError for a study that does
    not exist, is not TOML or does not fit.
    """
    where, config_folder, table = _read(str(name))
    study = checked(Study, table, where, "`rnnsearch settings --study alignment` shows an example")
    unknown = sorted(set(study.settings) - set(Settings.model_fields))
    if unknown:
        raise InputError(
            f"unknown section settings.{unknown[0]}",
            file=where,
            remedy=f"one of {', '.join(Settings.model_fields)}",
        )
    settings = {}
    for variant, changes in study.variants.items():
        own = {"model": changes.model, "training": changes.training, "search": changes.search}
        if "seed" in changes.training or "seed" in study.settings.get("training", {}):
            raise InputError(
                "training.seed is not a setting of a study",
                file=where,
                remedy="list the seeds, as seeds = [1, 2]",
            )
        recipe = recipe_name(study, config_folder, variant)
        settings[variant] = _resolved([study.settings, own], recipe, overrides, f"{where}: variant {variant}")
    corpus = _resolved([study.settings], recipe_name(study, config_folder), overrides, where).data
    return Plan(study, where, config_folder, Path(data) if data else config_folder, corpus, settings)


def _read(name: str) -> tuple[str, Path, dict[str, Any]]:
    """Returns what messages call the study, the folder of its paths, and its table."""
    path = Path(name)
    try:
        if path.suffix != ".toml" and not path.is_file():
            built_in = resources.files("rnnsearch.studies") / "builtin" / f"{name}.toml"
            if not built_in.is_file():
                names = f"name a TOML file or one of {', '.join(study_names())}"
                raise InputError(
                    f"no study {name!r}", remedy=f"{did_you_mean(name, study_names())} {names}".strip()
                )
            return f"study {name}", Path(), parse_toml(built_in.read_text(encoding="utf-8"))
        return str(path), path.parent, read_toml(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError as error:
        raise InputError(f"is not TOML: {error}", file=path) from None


def recipe_name(study: Study, folder: Path, variant: str = "") -> str:
    """Returns the recipe of a variant, or of the corpus: built-in ones by name, files as paths from its
    folder."""
    own = study.variants[variant].recipe if variant else None
    recipe = study.recipe if own is None else own
    return str(folder / recipe) if recipe.endswith(".toml") else recipe


def _resolved(changes: Sequence[Changes], recipe: str, overrides: Sequence[str], where: str) -> Settings:
    """Applies to the recipe one set of changes after the other, then the overrides."""
    name, table = read_recipe(recipe)
    for change in changes:
        for section, values in change.items():
            if not isinstance(table.setdefault(section, {}), dict):
                raise InputError(f"{section} is not a section", file=name)
            table[section].update(values)
    for override in overrides:
        apply_override(table, override)
    return validated(table, where)
