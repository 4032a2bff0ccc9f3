"""The script that makes the shipped models: its text, and its means of weights."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from rnnsearch import Corpus
from rnnsearch.run import Run, read_statistics
from rnnsearch.training.loop import train

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
    made = script.mean(tiny_run, other_tiny_run, {"mean": 0.25, "kept": ["readout"]}, tmp_path)
    base, mean = (Run.open(path).load_network().state_dict() for path in (tiny_run, made))
    own = script.last_weights(other_tiny_run)
    assert own.keys() == mean.keys()
    for name, tensor in mean.items():
        share = 0.0 if name.startswith("readout") else 0.25
        torch.testing.assert_close(tensor, (1 - share) * base[name] + share * own[name])


def test_weights_after_the_last_update_are_not_those_of_the_best_validation(
    script: ModuleType, tiny_run: Path, tiny_store: Path, tmp_path: Path
) -> None:
    """Here those before all updates are the best, and are kept."""
    before = Run.open(tiny_run).settings
    optimiser = before.optimiser.model_copy(update={"method": "sgd", "learning_rate": 99.0})
    stopping = before.stopping.model_copy(update={"max_updates": 2, "max_epochs": 0})
    settings = before.model_copy(update={"optimiser": optimiser, "stopping": stopping})
    train(settings, Corpus.open(tiny_store), tmp_path / "run", begin_from=tiny_run)
    run = Run.open(tmp_path / "run")
    assert read_statistics(run.path)["best_update"] == 0
    last, best = script.last_weights(run.path), run.load_network().state_dict()
    assert last.keys() == best.keys()
    assert any(not torch.equal(last[name], best[name]) for name in best)
