"""The models that the project ships: small enough, described, and as good at the first sentence as the README
says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Command

from rnnsearch import Translator
from rnnsearch.installed import VARIABLE
from rnnsearch.pretrained.card import card_of

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "models" / "src" / "rnnsearch_models"
MODELS = sorted(file.parent for file in SHIPPED.glob("*/config.toml"))
ON_DISK = 20_000_000
"""Bytes of a model, at most."""
README = (ROOT / "README.md").read_text(encoding="utf-8")

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda folder: folder.name)


@pytest.fixture(autouse=True)
def shipped_models_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(SHIPPED))


def test_there_are_models() -> None:
    assert MODELS


@each_model
def test_a_model_is_small_and_says_what_it_is(model: Path) -> None:
    assert sum(file.stat().st_size for file in model.iterdir()) <= ON_DISK
    card = card_of(model)
    assert card.name == model.name
    assert card.licence
    assert card.data
    assert card.limits
    assert all(score.signature for score in card.scores if score.metric == "BLEU")
    assert {
        "newstest2012",
        "newstest2013",
        "europarl-test",
        "europarl-bylen",
        "multi30k-test2016",
    } <= {score.test for score in card.scores}


@each_model
def test_a_model_searches_in_8_bits(model: Path) -> None:
    assert Translator.load(model.name).settings.search.precision == "int8"


def test_the_first_command_of_the_readme(command: Command) -> None:
    """Its output stands in the block below it."""
    said = re.search(
        r'^echo "(.+)" \| rnnsearch translate (\S+).*\n```\n\n```text\n(.+)\n```',
        README,
        re.MULTILINE,
    )
    assert said
    outcome = command("translate", said[2], stdin=f"{said[1]}\n".encode())
    assert outcome.out == f"{said[3]}\n"


def test_the_score_of_the_readme_is_on_a_card() -> None:
    said = re.search(r"`([\w-]+)` has BLEU ([\d.]+) on (\w+)", README)
    assert said
    scores = {score.test: score.value for score in card_of(SHIPPED / said[1]).scores}
    assert said[2] == f"{scores[said[3]]:.1f}"
