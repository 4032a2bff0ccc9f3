"""What ends, spoils or survives a training."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from rnnsearch.builtin.generate import write
from rnnsearch.config import DataSettings, ModelSettings, Settings, TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training import loop, trainer
from rnnsearch.training.display import Display
from rnnsearch.training.log import read_statistics

MODEL = ModelSettings(embedding_size=12, hidden_size=16, alignment_size=12, maxout_size=12)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("loop")
    write(folder, 100, 10)
    dev = (folder / "dev.en", folder / "dev.fr")
    prepare(folder / "train.en", folder / "train.fr", folder / "store", dev=dev, settings=DataSettings())
    return Corpus.open(folder / "store")


def settings(**training: Any) -> Settings:
    table = {"batch_size": 10, "threads": 1, "validate_every": 5, "save_every": 5, "max_updates": 10, "samples": 1} | training
    return Settings(model=MODEL, training=TrainingSettings(**table))


def train(corpus: Corpus, path: Path, **training: Any) -> tuple[Any, str]:
    messages = path.parent / "messages"
    with messages.open("a+") as stream:
        run = loop.train(settings(**training), corpus, path, display=Display(0, stream=stream))
    return run, messages.read_text()


@pytest.mark.parametrize(
    ("limit", "updates"),
    [({"max_updates": 7}, 7), ({"max_updates": 0, "max_epochs": 1.5}, 15), ({"max_updates": 50, "max_epochs": 0.3}, 3)],
)
def test_limits(corpus: Corpus, tmp_path: Path, limit: dict[str, float], updates: int) -> None:
    train(corpus, tmp_path / "run", **limit)
    statistics = read_statistics(tmp_path / "run")
    assert statistics["updates"] == updates
    assert statistics["epochs"] == pytest.approx(updates / 10)
    assert statistics["ended_because"].startswith("reached training.max_")


def test_lengths_are_padded_as_the_settings_say(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: set[int] = set()
    update = trainer.Trainer.update

    def seen(self: Any, batches: Any, number: int) -> Any:
        shapes.update((batches[0].source.shape[1], batches[0].target.shape[1]))
        return update(self, batches, number)

    monkeypatch.setattr(trainer.Trainer, "update", seen)
    train(corpus, tmp_path / "run", length_multiple=3)
    assert all(positions % 3 == 0 for positions in shapes)
    assert len(shapes) > 1


def test_patience_keeps_the_best_weights(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nll = iter([50.0, 40.0, 45.0, 44.0])

    def scripted(network: Any, corpus: Corpus, settings: Settings) -> loop.Validation:
        return loop.Validation(next(nll), 1.0, None, "", [])

    monkeypatch.setattr(loop, "validate", scripted)
    train(corpus, tmp_path / "run", max_updates=0, patience=2, validate_bleu=False)
    statistics = read_statistics(tmp_path / "run")
    assert (statistics["updates"], statistics["best_update"], statistics["dev_nll"]) == (20, 10, 40.0)
    _, notes = load_tensors(tmp_path / "run" / "model.safetensors", "")
    assert notes["update"] == 10


def test_a_gradient_that_is_not_finite_changes_nothing_and_stops_when_it_repeats(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = trainer.negative_log_likelihood
    calls = 0

    def poisoned(*arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal calls
        calls += 1
        loss, nll = honest(*arguments)
        return (loss * float("nan"), nll) if calls > 5 else (loss, nll)

    monkeypatch.setattr(trainer, "negative_log_likelihood", poisoned)
    with pytest.raises(InputError, match=r"10 gradients in a row were not finite \(update 15\)"):
        train(corpus, tmp_path / "run", max_updates=100, save_every=1, validate_every=1000)
    before, _ = load_tensors(tmp_path / "run" / "checkpoints" / "last.safetensors", "")
    assert (tmp_path / "messages").read_text().count("the gradient is not finite") == 10
    monkeypatch.setattr(trainer, "negative_log_likelihood", honest)
    train(corpus, tmp_path / "clean", max_updates=5, save_every=1, validate_every=1000)
    after, _ = load_tensors(tmp_path / "clean" / "checkpoints" / "last.safetensors", "")
    for name, tensor in after.items():
        if name.startswith(("network.", "optimiser.")):
            assert torch.equal(tensor, before[name]), name


def test_a_full_disk_costs_no_earlier_checkpoint(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = loop.save_checkpoint

    def full(*arguments: Any) -> None:
        if arguments[-1].update > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        honest(*arguments)

    monkeypatch.setattr(loop, "save_checkpoint", full)
    with pytest.raises(InputError, match=r"no checkpoint at update 10: No space left on device \(free some space"):
        train(corpus, tmp_path / "run")
    assert "training goes on" in (tmp_path / "messages").read_text()
    _, notes = load_tensors(tmp_path / "run" / "checkpoints" / "last.safetensors", "")
    assert notes["progress"]["update"] == 5


def test_statistics_are_those_of_table_2(corpus: Corpus, tmp_path: Path) -> None:
    train(corpus, tmp_path / "run")
    statistics = json.loads((tmp_path / "run" / "log" / "statistics.json").read_text())
    assert {"updates", "epochs", "hours", "hardware", "train_nll", "dev_nll"} <= statistics.keys()
    assert statistics["hours"] > 0
    assert len(statistics["validations"]) == 2
    assert list((tmp_path / "run" / "log").glob("events.out.tfevents.*"))


def test_a_corpus_without_development_set(tmp_path: Path) -> None:
    write(tmp_path, 60, 5)
    prepare(tmp_path / "train.en", tmp_path / "train.fr", tmp_path / "store", settings=DataSettings())
    train(Corpus.open(tmp_path / "store"), tmp_path / "run")
    _, notes = load_tensors(tmp_path / "run" / "model.safetensors", "")
    assert notes["update"] == 10  # the latest weights


def test_development_nll_is_the_mean_over_sentences(corpus: Corpus, tmp_path: Path) -> None:
    from rnnsearch.translation.translator import Translator

    run, _ = train(corpus, tmp_path / "run")
    pairs = zip(corpus.dev_source_lines, corpus.dev_target_lines, strict=True)
    scores = [result.score for result in Translator.load(run.path).force(pairs)]
    statistics = read_statistics(run.path)
    assert statistics["dev_nll"] == pytest.approx(-sum(scores) / len(scores), rel=1e-5)


@pytest.mark.parametrize("encoder", ["bidirectional", "embedding"])
def test_a_fixed_context_of_another_encoder_is_refused(encoder: str, corpus: Corpus, tmp_path: Path) -> None:
    """c_i = →h_Tx is what makes RNNencdec; runs that were begun with another context still go on."""
    network = MODEL.model_copy(update={"encoder": encoder, "alignment": "fixed"})
    chosen = settings(max_updates=1).model_copy(update={"model": network})
    quiet = Display(0, quiet=True)
    with pytest.raises(InputError, match=rf'RNNencdec of a forward encoder only, and model.encoder = "{encoder}" \(set model'):
        loop.train(chosen, corpus, tmp_path / "run", display=quiet)
    assert not (tmp_path / "run").exists()
    Run.create(tmp_path / "old", chosen.model_copy(update={"data": corpus.settings}), corpus.source, corpus.target)
    loop.train(chosen, corpus, tmp_path / "old", resume=True, display=quiet).load_network()
