"""A study file says what it means, and a mistake in it is one clear line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w

from rnnsearch.config import built_in, load_config
from rnnsearch.errors import InputError
from rnnsearch.studies import study
from rnnsearch.studies.study import CorpusFiles, Study, StudyFolder, Variant, open_study

Plan = Callable[..., StudyFolder]

SMALL = """
recipe = "demo"
[corpus]
builtin = true
[variants.one]
"""
FILES = """
[corpus]
train = ["train.en", "train.fr"]
[tests.news]
source = "news.en"
reference = "news.fr"
[variants.one]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """plan(text, …) reads a study file with that text; its folder is `out`."""

    def read(text: str, *arguments: object, **named: object) -> StudyFolder:
        (tmp_path / "study.toml").write_text(text, "utf-8")
        return open_study(tmp_path / "study.toml", tmp_path / "out", *arguments, **named)  # type: ignore[arg-type]

    return read


@pytest.mark.parametrize("name", built_in("study"))
def test_built_in_studies_can_be_read(name: str) -> None:
    assert open_study(name).study.variants


def test_recipe_then_settings_then_variant_then_overrides(plan: Plan) -> None:
    text = """
    recipe = "demo"
    [corpus]
    builtin = true
    [settings]
    data = {vocabulary_size = 77}
    model = {embedding_size = 10, hidden_size = 11, alignment_size = 12}
    [variants.one]
    model = {hidden_size = 21, alignment_size = 22}
    [variants.two]
    recipe = "rnnencdec-30"
    """
    found = plan(text, overrides=("model.alignment_size=32", "data.minimum_count=2"))
    one, two = found.variants["one"].model, found.variants["two"].model
    assert (one.maxout_size, one.embedding_size, one.hidden_size, one.alignment_size) == (64, 10, 21, 32)
    assert (two.maxout_size, two.embedding_size, two.hidden_size, two.alignment_size) == (500, 10, 11, 32)
    assert (two.alignment, two.encoder, found.variants["two"].training.max_length) == ("fixed", "forward", 30)
    assert (found.data.vocabulary_size, found.data.minimum_count) == (77, 2)


def test_a_recipe_lies_beside_its_study(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[model]\nhidden_size = 5\n", "utf-8")
    found = plan(
        FILES.replace("[variants.one]", '[variants.one]\nrecipe = "own.toml"'), tmp_path / "elsewhere"
    )
    assert found.variants["one"].model.hidden_size == 5
    assert found.path_of("news.en") == tmp_path / "elsewhere" / "news.en"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SMALL + "nosuch = 1",
            r"study\.toml: unknown setting variants\.one\.nosuch \(`rnnsearch settings --study alignment`",
        ),
        (SMALL + "model.nosuch = 1", r"study\.toml: variant one: unknown setting model\.nosuch"),
        (SMALL + "data.vocabulary_size = 1", r"unknown setting variants\.one\.data"),
        (
            SMALL + "training.seed = 3",
            r"training\.seed is not a setting of a study \(list the seeds, as seeds = \[1, 2\]\)",
        ),
        ("seeds = [1, 1]" + SMALL, "a seed is named twice"),
        ('baseline = "two"' + SMALL, r"there is no variant 'two', only one"),
        (SMALL.replace("one", '"a/b"'), r"variants\.a/b"),
        (SMALL.replace("builtin = true", ""), r"corpus: name the files of `train`, or say `builtin = true`"),
        (SMALL.replace("builtin = true", 'builtin = true\ndev = ["a"]'), "has its own development pairs"),
        (
            FILES.replace("[tests.news]", "[settings.nosuch]"),
            "unknown setting settings|unknown section|tests: name at least one",
        ),
        (SMALL + "[settings.nosuch]\na = 1", r"unknown section settings\.nosuch"),
        (FILES.replace("reference", "gold"), r"tests\.news\.reference: Field required"),
        ("seeds = [", "is not TOML"),
    ],
)
def test_mistakes_are_one_clear_line(plan: Plan, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(text)


def test_a_study_that_does_not_exist() -> None:
    with pytest.raises(InputError, match=r"no study 'nosuch' \(name a TOML file or one of .*alignment"):
        open_study("nosuch")


def test_runs_are_named_after_variant_and_seed(plan: Plan) -> None:
    one, several = plan("seeds = [7]" + SMALL), plan("seeds = [7, 8]\nboth_directions = true" + SMALL)
    assert [(run.name, run.seed) for run in one.runs] == [("one", 7)]
    assert [(run.name, run.reverse) for run in several.runs] == [
        ("one-7", False),
        ("one-8", False),
        ("one-7.reverse", True),
        ("one-8.reverse", True),
    ]
    assert [run.settings.training.seed for run in several.runs] == [7, 8, 7, 8]


def test_a_run_keeps_its_name_when_seeds_are_added(plan: Plan, tmp_path: Path) -> None:
    run = tmp_path / "out" / "runs" / "one"
    run.mkdir(parents=True)
    settings = load_config("demo", ["training.seed=8"]).model_dump(exclude_none=True)
    (run / "config.toml").write_text(tomli_w.dumps(settings), "utf-8")
    several = plan("seeds = [7, 8]" + SMALL)
    assert [found.name for found in several.runs] == ["one-7", "one"]


def test_two_runs_of_one_name_are_refused(plan: Plan) -> None:
    clash = plan("seeds = [1, 2]" + SMALL + '[variants."one-1"]\n')
    assert len({run.name for run in clash.runs}) == 4
    with pytest.raises(InputError, match=r"two runs would be named 'one\.reverse'"):
        _ = plan("both_directions = true" + SMALL + '[variants."one.reverse"]').runs


def test_every_key_is_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "experiments.md").read_text("utf-8")
    sections = {Study: ("corpus", "variants", "tests"), CorpusFiles: (), Variant: (), study.Test: ()}
    for kind, shown_as_a_section in sections.items():
        for key in kind.model_fields:
            assert f"`{key}`" in page or key in shown_as_a_section, key
