"""The script that makes the shipped models: its text, and its means of weights."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from rnnsearch.run import Run

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delitem(sys.modules, "shipped_model", raising=False)
    import shipped_model

    return shipped_model


def test_short_pairs_are_typed_without_capitals_and_the_last_mark(script: ModuleType) -> None:
    pairs = [
        ("I am late!", "Je suis en retard !"),
        ("Bread", "Pain"),
        ("One two three four five six seven eight nine.", "Un."),
    ]
    assert [*script.typed(pairs)] == [("i am late", "je suis en retard"), ("bread", "pain")]


def test_the_phrases_have_two_sides(script: ModuleType) -> None:
    for name in script.OWN:
        assert all(len(pair) == 2 and all(pair) for pair in script.phrases(name))


def test_a_mean_of_weights_is_a_run(
    script: ModuleType, tiny_run: Path, other_tiny_run: Path, tmp_path: Path
) -> None:
    made = script.mean(tiny_run, other_tiny_run, 0.25, tmp_path)
    base, own, mean = (
        Run.open(path).load_network().state_dict() for path in (tiny_run, other_tiny_run, made)
    )
    for name, tensor in mean.items():
        torch.testing.assert_close(tensor, 0.75 * base[name] + 0.25 * own[name])
