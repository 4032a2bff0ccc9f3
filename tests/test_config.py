"""Settings: the paper's numbers are the defaults, a recipe holds only what differs, and nothing unknown
passes silently."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from refusals import refusal
from tables import rows

from rnnsearch.config import (
    RENAMED,
    SHORT,
    TRANSLATING,
    changed,
    load_config,
    recipe_names,
    stored,
    validated,
)
from rnnsearch.errors import InputWarning
from rnnsearch.settings import Settings, ShortOptions

PAPER = """
data.vocabulary_size=30_000
model.embedding_size=620 model.hidden_size=1000 model.alignment_size=1000 model.maxout_size=500
model.cell=gated model.encoder=bidirectional model.alignment=additive model.readout=maxout
optimiser.method=adadelta optimiser.rho=0.95 optimiser.epsilon=1e-6
training.batch_size=80 training.pool_batches=20 optimiser.clip_norm=1.0 training.reshuffle=false
dropout.embedding=0 dropout.recurrent=0 dropout.readout=0
search.beam=12 search.normalise=none search.coverage_beta=0 search.no_unk=false
"""
"""Of 4.1, A.2.3 and B.2."""


def test_the_defaults_are_the_papers() -> None:
    assert load_config(overrides=PAPER.split()) == Settings()


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_says_something(name: str) -> None:
    settings = load_config(name)
    assert settings != Settings()
    stopping = settings.stopping
    assert stopping.max_updates or stopping.max_epochs or stopping.patience, (
        "it would train for ever"
    )


def test_the_starred_recipe_has_a_name_that_a_shell_leaves_alone() -> None:
    assert load_config("rnnsearch-50*") == load_config("rnnsearch-50-star")


READ = """
model.hidden_size=512 → 512
 model.hidden_size = 512  → 512
model.cell=lstm → 'lstm'
model.cell="lstm" → 'lstm'
model.alignment=my.scorers:Mine → 'my.scorers:Mine'
optimiser.learning_rate=1e-3 → 0.001
optimiser.learning_rate=2 → 2.0
optimiser.betas=[0.9, 0.98] → (0.9, 0.98)
training.reshuffle=true → True
training.device=cuda:1 → 'cuda:1'
data.source_language=de → 'de'
search.no_unk=true → True
"""


@pytest.mark.parametrize(("override", "value"), rows(READ))
def test_an_override_is_read_as_toml_or_else_as_text(override: str, value: str) -> None:
    section, key = override.partition("=")[0].strip().split(".")
    assert repr(getattr(getattr(load_config(overrides=[override]), section), key)) == value


def test_a_recipe_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes("[model]\nhidden_size = 7\n".encode("utf-8-sig"))
    assert load_config(tmp_path / "mine.toml").model.hidden_size == 7


def test_the_last_override_wins_over_the_one_before_and_over_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[model]\nhidden_size = 100\nmaxout_size = 50\n")
    settings = load_config(
        tmp_path / "mine.toml", ["model.hidden_size=200", "model.hidden_size=300"]
    )
    model = settings.model
    assert (model.hidden_size, model.maxout_size, model.embedding_size) == (300, 50, 620)


def test_int8_products_need_a_cpu() -> None:
    assert load_config("", ["search.precision=int8"]).search.precision == "int8"
    with refusal("needs a CPU"):
        load_config("", ["search.precision=int8", "training.device=cuda"])


WRONG = """
hidden_size=3 → 'hidden_size=3' is not section.key=value
model.hidden_size → is not section.key=value
= → is not section.key=value
model.=3 → unknown setting model.
model.depth=3 → unknown setting model.depth
training.max_updats=3 → unknown setting training.max_updats (did you mean 'stopping.max_updates'?
optimiser=adam → 'optimiser=adam' is not section.key=value (for example --set model.hidden_size=512)
modell.hidden_size=3 → unknown setting modell.hidden_size (did you mean 'model.hidden_size'?
validation.every=3 → unknown setting validation.every (did you mean 'stopping.validate_every'?
model.hidden_size.x=3 → unknown setting model.hidden_size.x
model.hidden_size=0 → model.hidden_size: Input should be greater than 0
model.hidden_size=true → model.hidden_size: true and false are no values of it
optimiser.learning_rate=true → optimiser.learning_rate: true and false are no values of it
model.hidden_size=2.5 → model.hidden_size: Input should be a valid integer
model.hidden_size= → model.hidden_size: Input should be a valid integer
model.cell=3 → model.cell: Input should be a valid string
training.frozen=output → training.frozen: Input should be a valid list
model.wiring=eq5 → model.wiring: Input should be 'eq4', 'appendix' or 'released'
data.subwords=wordpiece → data.subwords: Input should be 'none', 'unigram' or 'bpe'
optimiser.rho=1 → optimiser.rho: Input should be less than 1
optimiser.betas=[0.9] → optimiser.betas.1: Field required
optimiser.learning_rate=0 → optimiser.learning_rate: Input should be greater than 0
optimiser.learning_rate=nan → optimiser.learning_rate: Input should be
stopping.max_minutes=inf → stopping.max_minutes: Input should be a finite number
training.seed=-1 → training.seed: Input should be greater than or equal to 0
training.seed=1000000000000000001 → training.seed: Input should be less than or equal to 1000000000000000000
search.max_length_ratio=0 → search.max_length_ratio: Input should be greater than 0
search.nbest=13 → search.nbest = 13 is more than search.beam = 12
search.min_length_ratio=4 → search.min_length_ratio = 4.0 is more than search.max_length_ratio = 3.0
model.tie_output=true → model.tie_output needs model.factored_output = true, or model.maxout_size = model.embedding_size
"""


@pytest.mark.parametrize(("override", "said"), rows(WRONG))
def test_a_wrong_override_is_refused(override: str, said: str) -> None:
    with refusal(re.escape(said)):
        load_config(overrides=[override])


def test_a_folder_hides_no_recipe_and_a_star_is_part_of_a_name(here: Path) -> None:
    (here / "demo").mkdir()  # `rnnsearch demo` leaves it behind
    assert load_config("demo") == load_config(Path("demo"))
    (here / "of*mine.toml").write_text("[model]\nhidden_size = 7\n")
    assert load_config("of*mine.toml").model.hidden_size == 7


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"search.baem": 3}, "unknown setting search.baem (did you mean 'search.beam'?"),
        ({"beam": 3}, "unknown setting beam (did you mean 'search.beam'?"),
        ({"search.beam": None}, "search.beam"),
        ({"model.hidden_size": 3}, "model.hidden_size has no effect here (remove it)"),
    ],
)
def test_a_search_is_changed_by_known_settings_only(overrides: dict[str, Any], said: str) -> None:
    with refusal(re.escape(said)):
        changed(Settings(), overrides)


def test_a_table_names_where_it_came_from() -> None:
    with refusal(r"run/config\.toml: unknown setting nosuch"):
        validated({"nosuch": 1}, "run/config.toml")


OLD_RUN = """
[training]
batch_size = 7
optimiser = "adam"
learning_rate = 0.25
dropout_embedding = 0.1
label_smoothing = 0.2
alignment_loss = "product"
alignment_forcing_probability = 0.3
average_decay = 0.9
max_updates = 12
select_by = "nll"

[search]
beam = 3
replace_unk = true
confidence = [0.5, 0.1]
"""
TODAY = """
training.batch_size=7 optimiser.method=adam optimiser.learning_rate=0.25 dropout.embedding=0.1
dropout.label_smoothing=0.2 known_alignments.loss=product known_alignments.forcing_probability=0.3
optimiser.average_decay=0.9 stopping.max_updates=12 stopping.select_by=nll search.beam=3
translation.replace_unk=true translation.confidence=[0.5,0.1]
"""


def test_a_config_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """A run's silently; a recipe's with a warning that names every old key."""
    today = load_config(overrides=TODAY.split())
    assert stored(tomllib.loads(OLD_RUN), "run/config.toml") == today
    (tmp_path / "old.toml").write_text(OLD_RUN)
    first = "^training.optimiser is now optimiser.method; training.learning_rate is now"
    with pytest.warns(InputWarning, match=first):
        assert load_config(tmp_path / "old.toml") == today


def test_a_table_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("dropout = 0.3\n[training]\ndropout_readout = 0.1\n")
    with refusal(r"mine\.toml: dropout is no table \(write \[dropout\]\)"):
        load_config(tmp_path / "mine.toml")


def test_every_old_key_has_a_new_one() -> None:
    for old, new in RENAMED.items():
        table, key = new.split(".")
        default = json.dumps(getattr(getattr(Settings(), table), key))
        with pytest.warns(InputWarning, match=f"^{old} is now {new}$"):
            assert load_config(overrides=[f"{old}={default}"]) == Settings()
        with refusal(f"{old} is now {new}, and both are given"):
            load_config(overrides=[f"{old}={default}", f"{new}={default}"])


def test_options_of_a_translation_are_settings() -> None:
    hints = {name: get_type_hints(type(getattr(Settings(), name))) for name in TRANSLATING}
    settings = {name: tuple(key.split(".")) for name, key in SHORT.items()}
    assert get_type_hints(ShortOptions) == {
        name: hints[table][key] for name, (table, key) in settings.items()
    }
