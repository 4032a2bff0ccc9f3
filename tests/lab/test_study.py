"""A study file says what it means, and a mistake in it is one clear line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Command
from refusals import refusal

from rnnsearch.config import built_in
from rnnsearch.lab.study import StudyFolder, open_studies, open_study

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


def test_a_study_is_like_another_in_what_it_does_not_say(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(
        SMALL + "[settings.model]\nhidden_size = 11\n", encoding="utf-8"
    )
    study = plan('like = "other.toml"\nseeds = [4]\n[variants.two]\n')
    assert (study.study.seeds, list(study.variants)) == ([4], ["two"])
    assert (study.corpus.model.hidden_size, study.study.corpus.builtin) == (11, True)


def test_a_study_that_is_like_no_other(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('like = "alignment"\n' + SMALL, encoding="utf-8")
    with refusal("other.toml is itself like another study"):
        plan('like = "other.toml"\n')
    with refusal("no study 'nosuch'"):
        plan('like = "nosuch"\n')


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
    assert (one.maxout_size, one.embedding_size, one.hidden_size, one.alignment_size) == (
        64,
        10,
        21,
        32,
    )
    assert (two.maxout_size, two.embedding_size, two.hidden_size, two.alignment_size) == (
        500,
        10,
        11,
        32,
    )
    assert (two.alignment, two.encoder, found.variants["two"].training.max_length) == (
        "fixed",
        "forward",
        30,
    )
    assert (found.corpus.data.vocabulary_size, found.corpus.data.minimum_count) == (77, 2)


def test_a_recipe_lies_beside_its_study(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[model]\nhidden_size = 5\n", "utf-8")
    found = plan(
        FILES.replace("[variants.one]", '[variants.one]\nrecipe = "own.toml"'),
        tmp_path / "elsewhere",
    )
    assert found.variants["one"].model.hidden_size == 5
    assert found.tests["news"].source == str(tmp_path / "elsewhere" / "news.en")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SMALL + "nosuch = 1",
            r"study\.toml: unknown setting variants\.one\.nosuch \(.*`rnnsearch settings --study alignment`",
        ),
        (SMALL + "model.nosuch = 1", r"study\.toml: variant one: unknown setting model\.nosuch"),
        (SMALL + "data.vocabulary_size = 1", r"unknown setting variants\.one\.data"),
        (
            SMALL + "training.seed = 3",
            r"training\.seed is not a setting of a study: list the seeds, as seeds = \[1, 2\]",
        ),
        ("seeds = [1, 1]" + SMALL, r"study\.toml: seeds: .*a seed is named twice"),
        (SMALL + "seeds = [1, 1]", r"study\.toml: variants\.one\.seeds: .*a seed is named twice"),
        ('baseline = "two"' + SMALL, r"there is no variant 'two', only one"),
        (SMALL.replace("one", '"a/b"'), r"variants\.a/b"),
        (FILES.replace(', "train.fr"', ""), "alternate, source and target"),
        (
            FILES.replace("[tests", 'links = "l"\nalign = "union"\n[tests'),
            "or say how to `align`, not both",
        ),
        (
            SMALL.replace("builtin = true", ""),
            r"corpus: name the files of `train`, or say `builtin = true`",
        ),
        (
            SMALL.replace("builtin = true", 'builtin = true\ndev = ["a"]'),
            "has its own development pairs",
        ),
        (
            FILES.replace("[tests.news]", "[settings.nosuch]"),
            "tests: name at least one",
        ),
        (SMALL + "[settings.nosuch]\na = 1", "unknown setting nosuch"),
        (FILES.replace("reference", "gold"), r"tests\.news\.reference: Field required"),
        (
            FILES.replace("[tests", "hold_out = true\n[tests").replace("train =", "dev =", 1),
            "name the files",
        ),
        (
            FILES.replace("[tests", "hold_out = true\ndev_pairs = 5\n[tests"),
            "name the files",
        ),
        (
            FILES.replace("[tests", "hold_out = true\n[tests") + "[quick]\ndev_pairs = 5",
            r"study\.toml: quick: .*name the files",
        ),
        (FILES + '[tests.news.systems]\none = "f"', "'one' is a variant, too: rename one"),
        (
            FILES.replace("[variants", 'links = "eflomal"\n[variants'),
            r'tests\.news\.links = "eflomal" needs corpus\.align',
        ),
        (FILES.replace("news]", "train]"), r"tests\.train: the study has its own train"),
        (
            SMALL + '[tests.test]\nsource = "a"\nreference = "b"',
            r"tests\.test: the study has its own test",
        ),
        (
            FILES + '[tests."t+1"]\nsource = "a"\nreference = "b"\n'
            '[tests."t-1"]\nsource = "a"\nreference = "b"',
            "rename one in .*study.toml",
        ),
        (SMALL + "[quick.settings.training]\nseed = 7", "training.seed is not a setting"),
        ("seeds = [", "is not TOML"),
    ],
)
def test_mistakes_are_one_clear_line(plan: Plan, text: str, message: str) -> None:
    with refusal(message):
        plan(text, quick="[quick" in text)


def test_a_seed_is_no_override(plan: Plan) -> None:
    with refusal("training.seed is not a setting of a study"):
        plan(SMALL, overrides=("training.seed=9",))


def test_what_failed_of_several_studies_is_named(command: Command, tmp_path: Path) -> None:
    done = command(f"experiment languages --data {tmp_path} --out {tmp_path}/out --quick")
    assert (done.code, done.out) == (2, "")
    assert "zh: " in done.err
    assert "7 of 7 studies failed: de, ja, cs, es, ro, ru, zh (see above; " in done.err


def test_one_study_for_each_language(tmp_path: Path) -> None:
    text = """
    each = ["de", "ja"]
    [corpus]
    train = ["{}/train.{}", "{}/train.en"]
    hold_out = true
    [settings.data]
    source_language = "{}"
    target_language = "en"
    [variants.one]
    """
    (tmp_path / "study.toml").write_text(text, "utf-8")
    studies = open_studies(tmp_path / "study.toml", tmp_path / "out", tmp_path, (), False)
    assert [one.path.name for one in studies] == ["de", "ja"]
    assert [one.study.corpus.train[0] for one in studies] == ["de/train.de", "ja/train.ja"]
    held_out = studies[1].tests["held-out"]
    assert held_out.source == str(tmp_path / "out" / "ja" / "corpus" / "test.ja")


def test_a_study_that_does_not_exist() -> None:
    with refusal(r"no study 'nosuch' \(name a TOML file or one of .*alignment"):
        open_study("nosuch")


def test_runs_are_variants_times_seeds(plan: Plan) -> None:
    runs = plan("seeds = [7, 8]" + SMALL + "[variants.two]\n[variants.three]\nseeds = [9]\n").runs
    names = [("one-7", 7), ("two-7", 7), ("three-9", 9), ("one-8", 8), ("two-8", 8)]
    assert [(run.name, run.seed) for run in runs] == names
    assert [run.settings.training.seed for run in runs] == [7, 7, 9, 8, 8]


def test_quick_changes_what_its_table_says(plan: Plan) -> None:
    text = """
    seeds = [1, 2]
    recipe = "demo"
    [corpus]
    builtin = true
    [variants.one]
    seeds = [3]
    stopping.max_updates = 500
    [quick]
    seeds = [5]
    pairs = 100
    sentences = 9
    settings.stopping.max_updates = 7
    """
    usual, quick = plan(text), plan(text, quick=True)
    assert (usual.study.seeds, usual.study.corpus.pairs, usual.sentences) == ([1, 2], None, None)
    assert (quick.study.seeds, quick.study.corpus.pairs, quick.sentences) == ([5], 100, 9)
    assert [[run.seed for run in folder.runs] for folder in (usual, quick)] == [[3], [5]]
    updates = [folder.variants["one"].stopping.max_updates for folder in (usual, quick)]
    assert updates == [500, 7]
    with refusal(r"no table \[quick\]"):
        plan(SMALL, quick=True)


def test_what_is_compared(plan: Plan) -> None:
    study = plan(
        'comparisons = [["b", "c"], ["a", "b"]]'
        + SMALL.replace("one", "a")
        + "[variants.b]\n[variants.c]\n"
    ).study
    assert study.pairs_to_compare == [("a", "b"), ("a", "c"), ("b", "c")]
