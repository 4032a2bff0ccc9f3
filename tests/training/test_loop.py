"""What ends, spoils or survives a training."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import started_commands
import torch
from refusals import refusal
from small import small_network, small_trainer
from started_commands import settings

from rnnsearch.builtin.corpus import write
from rnnsearch.kernels import fast_loss
from rnnsearch.run import Run, read_statistics
from rnnsearch.settings import DataSettings
from rnnsearch.system.tensors import load_tensors, save_tensors
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.preparation import prepare
from rnnsearch.training import log, loop, setup, validation
from rnnsearch.training.display import Display
from rnnsearch.training.setup import run_lock

EVERY_5 = {"max_updates": 10, "validate_every": 5, "save_every": 5, "samples": 1}


@pytest.fixture
def corpus(linked: Corpus) -> Corpus:
    """An epoch has 6 batches."""
    return linked


def train(
    corpus: Corpus, path: Path, *changes: str, resume: bool = False, **stopping: Any
) -> tuple[Run, str]:
    """Returns the run, and what all trainings beside it have said."""
    messages = path.parent / "messages"
    with messages.open("a+") as stream:
        given = settings(*changes, **EVERY_5 | stopping)
        run = started_commands.train(
            given, corpus, path, resume=resume, display=Display(stream=stream)
        )
    return run, messages.read_text()


def weights(run: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    return load_tensors(run / "model.safetensors", "")


@pytest.mark.parametrize(
    ("limit", "updates"),
    [
        ({"max_updates": 7}, 7),
        ({"max_updates": 0, "max_epochs": 1.5}, 9),
        ({"max_updates": 50, "max_epochs": 0.5}, 3),
    ],
)
def test_limits(corpus: Corpus, tmp_path: Path, limit: dict[str, float], updates: int) -> None:
    """And the statistics, which are those of Table 2."""
    run, _ = train(corpus, tmp_path / "run", **limit)
    statistics = read_statistics(run.path)
    assert {"hardware", "train_nll", "dev_nll"} <= statistics.keys()
    assert statistics["updates"] == updates
    assert statistics["epochs"] == pytest.approx(updates / 6, abs=1e-3)
    assert statistics["hours"] > 0
    assert statistics["ended_because"].startswith("reached stopping.max_")
    assert [row["update"] for row in statistics["validations"]] == [*range(0, updates, 5), updates]
    assert list(run.log_path.glob("events.out.tfevents.*"))
    _, said = train(corpus, run.path, resume=True, **limit)
    assert said.strip().endswith("; nothing is left to train: raise this limit to continue")


def falling_nll(
    *values: float, bleu: Sequence[float] = (), start: Sequence[float] = (99.0,)
) -> Callable[..., tuple[Any, Any]]:
    """start: the NLL of the initial weights of a new training, whose BLEU is 0."""
    values, bleu = (*start, *values), (*(0.0 for _ in start), *bleu) if bleu else ()
    rows: list[dict[str, float]] = [{"dev_nll": nll, "dev_nll_per_word": 1.0} for nll in values]
    for row, score in zip(rows, bleu, strict=False):
        row["dev_bleu"] = score
    found = iter(rows)
    return lambda *_: (next(found), [])


@pytest.mark.parametrize(
    ("bleu", "nll", "best"),
    [
        ([0.0, 0.0, 0.0], [50.0, 30.0, 40.0], 10),  # BLEU of short targets stays 0: NLL decides
        ([1.0, 2.0, 2.0], [30.0, 40.0, 40.0], 10),
        ([3.0, 2.0, 3.0], [30.0, 20.0, 40.0], 5),
        ([0.9, 0.1, 0.0], [30.0, 20.0, 40.0], 10),  # noise
    ],
)
def test_equal_bleu_is_decided_by_nll(
    bleu: list[float], nll: list[float], best: int,
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(loop, "validate", falling_nll(*nll, bleu=bleu))
    given = {"select_by": "bleu", "max_updates": 15}
    train(corpus, tmp_path / "run", **given | {"max_updates": 10})
    run, _ = train(corpus, tmp_path / "run", resume=True, **given)
    assert read_statistics(run.path)["best_update"] == weights(run.path)[1]["update"] == best


def test_what_makes_the_weights_worse_is_not_called_the_best(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, _ = train(corpus, tmp_path / "base", max_updates=1)
    monkeypatch.setattr(loop, "validate", falling_nll(40.0, 30.0, start=(20.0,)))
    with (tmp_path / "said").open("w") as stream:
        display = Display(stream=stream)
        run = started_commands.train(
            settings(**EVERY_5), corpus, tmp_path / "run", begin_from=base.path, display=display
        )
    said = (tmp_path / "said").read_text()
    assert "update 0  epoch 0.00" in said
    assert said.count("(best so far)") == 1
    assert (
        "best at update 0: development NLL 20.00: no validation was better than the start" in said
    )
    (tensors, notes), (expected, _) = weights(run.path), weights(base.path)
    assert notes["update"] == read_statistics(run.path)["best_update"] == 0
    torch.testing.assert_close(tensors, expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("rate", "optimiser", "said"),
    [
        (1e300, "adam", "the weights are too large or not numbers"),
        (
            1e30,
            "adamw",
            "the weights are too large or not numbers|the last 4 of 5 gradients were not finite",
        ),
    ],
)
def test_a_training_that_diverges_is_no_success(
    corpus: Corpus, tmp_path: Path, rate: float, optimiser: str, said: str
) -> None:
    diverging = f"optimiser.learning_rate={rate}", f"optimiser.method={optimiser}"
    with refusal(rf"{said}.*lower optimiser.learning_rate"):
        train(corpus, tmp_path / "run", *diverging, max_updates=5)
    assert not (tmp_path / "run" / "model.safetensors").exists()


METRICS = """
def words(translations, references, sources):
    assert len(translations) == len(references) == len(sources) == 12
    words.calls = getattr(words, "calls", 0) + 1
    return -words.calls

def wrong(translations, references, sources):
    return "good"

def nan(translations, references, sources):
    return float("nan")
"""


def test_own_metric_chooses_the_weights(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each validation has a lower score than the one before, so that the first is the best."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (tmp_path / "own_metrics.py").write_text(METRICS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    chosen = {"validate_metric": "own_metrics:words", "select_by": "metric", "max_updates": 10}
    run, said = train(corpus, tmp_path / "run", **chosen)
    statistics = read_statistics(run.path)
    assert [row["dev_metric"] for row in statistics["validations"]] == [-1, -2, -3]
    assert statistics["best_update"] == weights(run.path)[1]["update"] == 5
    assert "metric -2  (best so far)" in said
    curves = EventAccumulator(str(run.log_path)).Reload()
    assert [point.value for point in curves.Scalars("dev/metric")] == [-1, -2, -3]
    faults = {
        "wrong": "raised ValueError",
        "missing": "cannot be imported",
        "nan": "raised ValueError: it returned nan",
    }
    for name, fault in faults.items():
        with refusal(rf"stopping\.validate_metric = 'own_metrics:{name}' {fault}"):
            train(corpus, tmp_path / name, validate_metric=f"own_metrics:{name}")
    with refusal(r"needs stopping\.validate_metric"):
        settings(select_by="metric")


def test_patience_keeps_the_best_weights(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "validate", falling_nll(50.0, 40.0, 45.0, 44.0))
    run, _ = train(corpus, tmp_path / "run", max_updates=0, patience=2)
    statistics = read_statistics(run.path)
    assert (statistics["updates"], statistics["best_update"], statistics["dev_nll"]) == (
        20,
        10,
        40.0,
    )
    assert weights(run.path)[1]["update"] == 10


def test_a_gradient_that_is_not_finite_changes_nothing_and_stops_when_it_repeats(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = fast_loss(torch.float32)
    assert honest
    calls = 0

    def poisoned(*arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal calls
        calls += 1
        loss, nll = honest(*arguments)
        return (loss * float("nan"), nll) if calls > 5 else (loss, nll)

    monkeypatch.setattr(setup, "fast_loss", lambda dtype: poisoned)
    with refusal(r"10 gradients in a row were not finite \(update 15\)"):
        train(corpus, tmp_path / "run", max_updates=100, save_every=1, validate_every=1000)
    assert (tmp_path / "messages").read_text().count("the gradient is not finite") == 10
    monkeypatch.setattr(setup, "fast_loss", lambda dtype: honest)
    train(corpus, tmp_path / "clean", max_updates=5, save_every=1, validate_every=1000)
    before, after = (
        load_tensors(tmp_path / run / "checkpoints" / "last.safetensors", "")[0]
        for run in ("run", "clean")
    )
    for name in (name for name in after if name.startswith(("network.", "optimiser."))):
        assert torch.equal(after[name], before[name]), name


def test_a_full_disk_costs_no_earlier_checkpoint(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = loop.save_checkpoint

    def full(*arguments: Any) -> None:
        if arguments[-1].update > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        honest(*arguments)

    monkeypatch.setattr(loop, "save_checkpoint", full)
    with refusal(r"no checkpoint at update 10: No space left on device \(free some space"):
        train(corpus, tmp_path / "run")
    assert "training goes on" in (tmp_path / "messages").read_text()
    _, notes = load_tensors(tmp_path / "run" / "checkpoints" / "last.safetensors", "")
    assert notes["progress"]["update"] == 5


class Refusing:
    """In place of `save_tensors`: a disk that is full for the weights of these updates, so many times."""

    def __init__(self, updates: tuple[int, ...], times: int = 1000) -> None:
        self.updates, self.times = updates, times

    def __call__(self, path: Path, tensors: Any, notes: Any) -> None:
        if notes["update"] in self.updates and self.times:
            self.times -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        save_tensors(path, tensors, notes)


def test_the_best_weights_are_tried_again_until_the_disk_takes_them(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = weights(train(corpus, tmp_path / "five", max_updates=5)[0].path)
    monkeypatch.setattr(validation, "save_tensors", Refusing((5,), times=2))
    monkeypatch.setattr(loop, "validate", falling_nll(30.0, 40.0, 50.0))
    run, said = train(corpus, tmp_path / "run", max_updates=15)
    assert (
        "the best weights, of update 5, are not saved: No space left on device; the next check"
        in said
    )
    assert "no checkpoint at update 5: No space left on device; the previous one is kept" in said
    tensors, notes = weights(run.path)
    assert (notes["update"], read_statistics(run.path)["best_update"]) == (5, 5)
    torch.testing.assert_close(tensors, expected, rtol=0, atol=0)


@pytest.mark.parametrize(("full_at", "resumed_at"), [((5, 10), 0), ((10,), 5)])
def test_best_weights_that_are_never_saved_are_no_success(
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    full_at: tuple[int, ...],
    resumed_at: int,
) -> None:
    """And there is no checkpoint that believes them saved: resuming makes them again."""
    nll = {5: 50.0, 10: 40.0}
    monkeypatch.setattr(loop, "validate", falling_nll(*nll.values()))
    whole, _ = train(corpus, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(validation, "save_tensors", Refusing(full_at))
        patch.setattr(loop, "validate", falling_nll(*nll.values()))
        said = rf"no checkpoint at update 10: No space left on device .* --resume from update {resumed_at}"
        with refusal(said):
            train(corpus, tmp_path / "run")
    left = [nll[at] for at in nll if at > resumed_at]
    monkeypatch.setattr(loop, "validate", falling_nll(*left, start=() if resumed_at else (99.0,)))
    run, _ = train(corpus, tmp_path / "run", resume=True)
    (tensors, notes), (expected, _) = weights(run.path), weights(whole.path)
    assert (notes["update"], read_statistics(run.path)["best_update"]) == (10, 10)
    torch.testing.assert_close(tensors, expected, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "fails", ["SummaryWriter.add_scalar", "SummaryWriter.__init__", "RecordWriter.write"]
)
def test_curves_and_statistics_are_not_needed(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """The last one fails in a thread, as on a full disk."""
    from tensorboard.summary.writer.record_writer import RecordWriter
    from torch.utils.tensorboard import SummaryWriter

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    name, _, method = fails.partition(".")
    monkeypatch.setattr(
        {"SummaryWriter": SummaryWriter, "RecordWriter": RecordWriter}[name], method, fail
    )
    monkeypatch.setattr(log, "write_text", fail)
    run, messages = train(corpus, tmp_path / "run", max_updates=30, validate_every=30)
    assert weights(run.path)[1]["update"] == 30
    assert messages.count("No space left; no more curves for TensorBoard, training goes on") == 1
    assert "statistics.json: " in messages


def test_one_training_at_a_time_and_what_a_killed_one_left_is_removed(
    corpus: Corpus, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    said = r"run: another process \(\d+\) is training here \(wait for it or end it"
    with run_lock(path, resume=False), refusal(said):
        train(corpus, path)
    assert not path.exists()
    train(corpus, path, max_updates=1)
    for folder in (path, path / "checkpoints", path / "log"):
        (folder / ".model.safetensors.12345.partial").write_text("half")
    with run_lock(path, resume=True), refusal("is training here"):
        train(corpus, path, resume=True)
    train(corpus, path, resume=True, max_updates=2)
    assert not [file for file in path.rglob(".*") if file.name.startswith(".")]


def test_an_update_of_more_than_an_epoch_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with refusal("accumulate = 7, and an epoch has 6 batches"):
        train(corpus, tmp_path / "run", "training.accumulate=7")
    assert not (tmp_path / "run").exists()
    run, _ = train(corpus, tmp_path / "run", "training.accumulate=6", max_updates=2)
    assert read_statistics(run.path)["epochs"] == 2


def test_a_corpus_without_development_set(tmp_path: Path) -> None:
    write(tmp_path, 60, 5)
    prepare(
        tmp_path / "train.en", tmp_path / "train.fr", tmp_path / "store", settings=DataSettings()
    )
    run, said = train(Corpus.open(tmp_path / "store"), tmp_path / "run")
    assert "warning: the corpus has no development set" in said
    assert weights(run.path)[1]["update"] == 10  # the latest


def test_a_fixed_context_of_another_encoder_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    """c_i = →h_Tx is what makes RNNencdec; runs that were begun with another context still go on."""
    chosen = "model.encoder=embedding", "model.alignment=fixed"
    with refusal(r'RNNencdec has a forward .*, and model.encoder = "embedding" \(set'):
        train(corpus, tmp_path / "run", *chosen)
    assert not (tmp_path / "run").exists()
    own = settings(*chosen, **EVERY_5).model_copy(update={"data": corpus.settings})
    Run(tmp_path / "old", own, corpus.source, corpus.target).create()
    train(corpus, tmp_path / "old", *chosen, resume=True)


@pytest.mark.parametrize("lowercase", [False, True])
def test_case_counts_in_validations_unless_the_network_writes_none(
    monkeypatch: pytest.MonkeyPatch, corpus: Corpus, lowercase: bool
) -> None:
    """The translator writes the references, in lowercase."""
    given = settings("stopping.validate_bleu=true", "stopping.samples=0")
    corpus = replace(
        corpus,
        target=replace(
            corpus.target, tokeniser=replace(corpus.target.tokeniser, lowercase=lowercase)
        ),
    )
    written = [SimpleNamespace(text=line.lower()) for line in corpus.dev_target_lines]
    other = SimpleNamespace(translate=lambda *_, **__: written)
    monkeypatch.setattr(validation, "Translator", lambda *_: other)
    monkeypatch.setattr(validation, "nll_and_words", lambda *_: (1.0, 1))
    scores, _ = validation.validate(cast(Any, None), corpus, given)
    assert (scores["dev_bleu"] == pytest.approx(100)) == lowercase


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["capture=true"], "training.capture = true is for a GPU: on a CPU"),
        (["kernels=false", "precision=bfloat16"], "computes in float32 in spite of"),
        (["kernels=false", "precision=float32"], ""),
        (["method=adamw"], "optimiser.learning_rate = 1 is far too high for Adam: set it to 0.001"),
        (["method=adam", "learning_rate=0.001"], ""),
    ],
)
def test_settings_without_effect_are_named(corpus: Corpus, changes: list[str], said: str) -> None:
    table = "optimiser" if changes[0].startswith("method") else "training"
    how = settings(*(f"{table}.{change}" for change in changes))
    notes = setup.fit_to_corpus(how, corpus, known_links=False)[1]
    assert any(said in note for note in notes) if said else not notes


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_one_line(
    corpus: Corpus, tmp_path: Path, device: str
) -> None:
    with refusal(f"device '{device}' cannot be used"):
        loop.train(settings(f"training.device={device}"), corpus, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_validation_is_without_dropout_of_any_part() -> None:
    trainer = small_trainer(small_network())
    with trainer.for_use() as network:
        assert not any(part.training for part in network.modules())
    assert all(part.training for part in trainer.network.modules())
