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


def test_single_words_are_those_with_one_usual_translation(
    script: ModuleType, tmp_path: Path
) -> None:
    rows = ["dog\tchien\t90\t0.9\t0.8", "list\tliste\t5\t0.9\t0.9", "the\tla\t99\t0.4\t0.8"]
    rows += ["Wash\tlave\t9\t0.9\t0.9", "rainbow\tarc-en-ciel\t6\t1.0\t1.0", ".\t.\t9\t1.0\t1.0"]
    (tmp_path / "dictionary.tsv").write_text("\n".join([*rows, ""]))
    found = script.dictionary(tmp_path, "text", tmp_path)
    assert [*found] == [("Dog", "Chien"), ("Rainbow", "Arc-en-ciel")]


def test_a_mean_of_weights_is_a_run(
    script: ModuleType, tiny_run: Path, other_tiny_run: Path, tmp_path: Path
) -> None:
    made = script.mean(tiny_run, other_tiny_run, 0.25, tmp_path)
    base, own, mean = (
        Run.open(path).load_network().state_dict() for path in (tiny_run, other_tiny_run, made)
    )
    for name, tensor in mean.items():
        torch.testing.assert_close(tensor, 0.75 * base[name] + 0.25 * own[name])
