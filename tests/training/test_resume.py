"""Resuming is exact: an interrupted and resumed training equals the uninterrupted one, bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w
import torch

from rnnsearch.builtin.generate import write
from rnnsearch.config import DataSettings, ModelSettings, SearchSettings, Settings, TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training import loop
from rnnsearch.training.display import Display
from rnnsearch.training.loop import train

MODEL = ModelSettings(embedding_size=12, hidden_size=16, alignment_size=12, maxout_size=12)
PLAIN = TrainingSettings(max_updates=12, validate_every=4, save_every=2, batch_size=10, pool_batches=3, threads=1, samples=1)
PAIRS = 60  # an epoch has 6 batches
EVERYTHING = TrainingSettings(
    **PLAIN.model_dump(exclude={"reshuffle", "accumulate", "optimiser", "learning_rate", "schedule", "warmup", "precision"})
    | {"dropout_embedding": 0.1, "dropout_recurrent": 0.1, "dropout_readout": 0.1, "label_smoothing": 0.1, "average_decay": 0.9},
    reshuffle=True,
    accumulate=2,
    optimiser="adamw",
    learning_rate=0.003,
    schedule="cosine",
    warmup=5,
    precision="bfloat16",
)
SEARCH = SearchSettings(beam=2, max_length_ratio=1.0)  # what has hardly been trained writes as much as it may
SETTINGS = {
    "paper's": Settings(model=MODEL, training=PLAIN, search=SEARCH),
    "everything on, both directions": Settings(
        model=MODEL.model_copy(update={"decoder": "bidirectional"}), training=EVERYTHING, search=SEARCH
    ),
}


@pytest.fixture(scope="module")
def store(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    def make(folder: Path) -> None:
        write(folder, PAIRS, 12)
        dev = (folder / "dev.en", folder / "dev.fr")
        prepare(folder / "train.en", folder / "train.fr", folder / "store", dev=dev, settings=DataSettings())

    return made_once("resume", make) / "store"


@pytest.fixture
def whole(store: Path, made_once: Callable[[str, Callable[[Path], object]], Path]) -> Callable[[str], Path]:
    """The run of these settings that nothing interrupted."""
    return lambda name: made_once(f"whole {name}", lambda run: train(SETTINGS[name], Corpus.open(store), run, display=quiet()))


def quiet() -> Display:
    return Display(0, quiet=True)


def assert_same_run(one: Path, other: Path) -> None:
    for name in ("model.safetensors", "checkpoints/last.safetensors"):
        expected, notes = load_tensors(one / name, "")
        found, other_notes = load_tensors(other / name, "")
        assert expected.keys() == found.keys()
        for key, tensor in expected.items():
            assert torch.equal(tensor, found[key]), f"{name}: {key}"
        for timed in (notes.get("progress"), other_notes.get("progress")):
            if timed:
                timed.pop("seconds")
                for row in timed["validations"]:
                    row.pop("seconds")
        assert notes == other_notes


@pytest.mark.parametrize(
    ("name", "interrupted_at"),
    [
        *(("paper's", update) for update in (1, 4, 9)),
        ("everything on, both directions", 9),
        *(pytest.param("everything on, both directions", update, marks=pytest.mark.slow) for update in (1, 4)),
    ],
)
def test_a_resumed_run_equals_an_uninterrupted_one(
    store: Path, tmp_path: Path, whole: Callable[[str], Path], name: str, interrupted_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SETTINGS[name]
    update = loop.Session.update

    def interrupting(session: loop.Session, *arguments: object) -> None:
        update(session, *arguments)  # type: ignore[arg-type]
        if session.progress.update == interrupted_at:
            os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C does

    with monkeypatch.context() as patch:
        patch.setattr(loop.Session, "update", interrupting)
        train(settings, Corpus.open(store), tmp_path / "parts", display=quiet())
    _, notes = load_tensors(tmp_path / "parts" / "checkpoints" / "last.safetensors", "")
    assert notes["progress"]["update"] == interrupted_at
    torch.rand(7)  # whatever happened to the random state in between must not matter
    train(settings, Corpus.open(store), tmp_path / "parts", resume=True, display=quiet())
    assert_same_run(whole(name), tmp_path / "parts")


@pytest.mark.slow
def test_a_killed_run_equals_an_uninterrupted_one(store: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    settings = Settings(model=MODEL, training=PLAIN.model_copy(update={"max_updates": 60, "validate_every": 20}))
    recipe.write_text(tomli_w.dumps(settings.model_dump(exclude_none=True)), encoding="utf-8")

    def command(run: str, *more: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "rnnsearch", "train", str(recipe), "--data", str(store), "--out", str(tmp_path / run), *more]
        return subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    assert command("whole").wait() == 0
    victim = command("killed")
    checkpoint = tmp_path / "killed" / "checkpoints" / "last.safetensors"
    while not checkpoint.exists():
        assert victim.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    victim.kill()
    assert victim.wait() == -signal.SIGKILL
    assert command("killed", "--resume").wait() == 0
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_more_updates_than_first_asked_for(store: Path, tmp_path: Path, whole: Callable[[str], Path]) -> None:
    long = SETTINGS["paper's"]
    short = long.model_copy(update={"training": PLAIN.model_copy(update={"max_updates": 8})})
    train(short, Corpus.open(store), tmp_path / "grown", display=quiet())
    train(long, Corpus.open(store), tmp_path / "grown", resume=True, display=quiet())
    assert_same_run(whole("paper's"), tmp_path / "grown")


def test_other_settings_are_refused(store: Path, tmp_path: Path) -> None:
    train(
        Settings(model=MODEL, training=PLAIN.model_copy(update={"max_updates": 2})), Corpus.open(store), tmp_path / "run", display=quiet()
    )
    other = Settings(model=MODEL, training=PLAIN.model_copy(update={"batch_size": 20}))
    with pytest.raises(InputError, match=r"training\.batch_size = 10, which is now 20"):
        train(other, Corpus.open(store), tmp_path / "run", resume=True, display=quiet())


def test_an_existing_run_is_not_overwritten(store: Path, tmp_path: Path) -> None:
    settings = Settings(model=MODEL, training=PLAIN.model_copy(update={"max_updates": 1}))
    train(settings, Corpus.open(store), tmp_path / "run", display=quiet())
    with pytest.raises(InputError, match="holds a run already"):
        train(settings, Corpus.open(store), tmp_path / "run", display=quiet())
