"""Resuming is exact: an interrupted and resumed training equals the uninterrupted one, bit for bit."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import sizes
from pairs import lines_of, write
from refusals import refusal
from started_commands import assert_same_checkpoint, start, train, train_words, until_saved

from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.run import Run, read_statistics
from rnnsearch.settings import Settings
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.preparation import prepare

PLAIN = [
    *sizes(12),
    *(
        "stopping.max_updates=12",
        "stopping.validate_every=4",
        "stopping.save_every=2",
        "stopping.samples=1",
    ),
    # 6 batches an epoch
    *("training.batch_size=10", "training.pool_batches=3", "training.threads=1"),
    *("search.beam=2", "search.max_length_ratio=1"),  # what hardly learned writes as much as it may
]
QUICK = ["stopping.validate_bleu=false", "stopping.select_by=nll", "stopping.samples=0"]
DRAWN = [f"dropout.{part}=0.1" for part in ("embedding", "recurrent", "readout")]
LINKS = [
    *(
        "known_alignments.loss=product",
        "known_alignments.annealing=10",
        "known_alignments.final_weight=0.1",
    ),
    *("known_alignments.forcing=mixed", "known_alignments.forcing_probability=0.6"),
]
SETTINGS: dict[str, Settings] = {
    name: load_config(overrides=[*PLAIN, *changes])
    for name, changes in {
        "paper's": [],
        "everything, both directions": [
            *(*DRAWN, *LINKS, "model.decoder=bidirectional", "dropout.label_smoothing=0.1"),
            *("optimiser.average_decay=0.9", "training.reshuffle=true", "training.accumulate=2"),
            *(
                "optimiser.method=adamw",
                "optimiser.learning_rate=0.003",
                "optimiser.schedule=cosine",
            ),
            *("optimiser.warmup=5", "training.precision=bfloat16", *QUICK),
        ],
    }.items()
}


@pytest.fixture
def whole(
    linked: Corpus, made_once: Callable[[str, Callable[[Path], object]], Path]
) -> Callable[[str], Path]:
    """The run of these settings that nothing interrupted."""
    return lambda name: made_once(f"whole {name}", lambda run: train(SETTINGS[name], linked, run))


def assert_same_run(one: Path, other: Path) -> None:
    """But for the time that it took."""
    assert_same_checkpoint(one, other)
    found, expected = (load_tensors(run / "model.safetensors", "")[0] for run in (one, other))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    notes = [load_tensors(run / "checkpoints" / "last.safetensors", "")[1] for run in (one, other)]
    for progress in (note["progress"] for note in notes):
        progress.pop("changes")  # of limits
        for timed in (progress, *progress["validations"]):
            timed.pop("seconds")
    assert notes[0] == notes[1]


@pytest.mark.parametrize(
    ("name", "stop"),
    [
        *((name, 9) for name in SETTINGS),
        *(pytest.param(name, stop, marks=pytest.mark.slow) for name in SETTINGS for stop in (1, 4)),
    ],
)
def test_a_resumed_run_equals_an_uninterrupted_one(
    linked: Corpus,
    tmp_path: Path,
    whole: Callable[[str], Path],
    name: str,
    stop: int,
    interrupted: Any,
) -> None:
    interrupted(stop)
    run = train(SETTINGS[name], linked, tmp_path / "parts")
    torch.rand(7)  # whatever happens to the random state meanwhile must not matter
    assert load_tensors(run.checkpoint_path, "")[1]["progress"]["update"] == stop
    assert run.model_path.exists()  # a run can be used before its first validation, too
    train(SETTINGS[name], linked, tmp_path / "parts", resume=True)
    assert_same_run(whole(name), tmp_path / "parts")


@pytest.mark.processes
@pytest.mark.slow
def test_a_killed_run_equals_an_uninterrupted_one(tiny_store: Path, tmp_path: Path) -> None:
    runs = [tmp_path / "whole", tmp_path / "killed"]
    words, killed = (train_words(tiny_store, run, "stopping.save_every=1") for run in runs)
    assert start(words, tmp_path / "said").wait() == 0
    victim = start(killed, tmp_path / "said")
    until_saved(victim, runs[1])
    victim.kill()
    assert victim.wait() == -signal.SIGKILL
    assert start([*killed, "--resume"], tmp_path / "said").wait() == 0
    assert_same_checkpoint(*runs)


def changed(*overrides: str) -> Settings:
    return load_config(overrides=[*PLAIN, *overrides])


def test_more_updates_than_first_asked_for(
    linked: Corpus, tmp_path: Path, whole: Callable[[str], Path]
) -> None:
    train(changed("stopping.max_updates=8"), linked, tmp_path / "grown")
    train(SETTINGS["paper's"], linked, tmp_path / "grown", resume=True)
    assert_same_run(whole("paper's"), tmp_path / "grown")


def test_another_learning_rate(linked: Corpus, tmp_path: Path) -> None:
    """A rate of almost 0 changes no weight; the change is noted once, also in config.toml. The first
    updates are captured: their state fits those that are not."""
    run, rate = tmp_path / "run", 1e-30
    train(changed("stopping.max_updates=4", "training.capture=true"), linked, run)
    before, _ = load_tensors(run / "checkpoints" / "last.safetensors", "")
    for updates in (6, 7):
        train(
            changed(f"stopping.max_updates={updates}", f"optimiser.learning_rate={rate}"),
            linked,
            run,
            resume=True,
        )
    after, _ = load_tensors(run / "checkpoints" / "last.safetensors", "")
    for name in (name for name in before if name.startswith("network.")):
        assert torch.equal(before[name], after[name]), name
    noted = [
        one
        for one in read_statistics(run)["changes"]
        if one["setting"] == "optimiser.learning_rate"
    ]
    assert noted == [
        {"update": 4, "setting": "optimiser.learning_rate", "before": 1.0, "after": rate}
    ]
    assert Run.open(run).settings.optimiser.learning_rate == rate


def test_the_fastest_precision_is_that_of_the_machine_where_training_began(
    linked: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """config.toml names it; on another machine the run keeps it, until another one is given."""
    run = tmp_path / "run"
    for updates, amx, asked, used in [
        (1, True, "fastest", "bfloat16"),
        (2, False, "fastest", "bfloat16"),
        (3, False, "float32", "float32"),
        (4, True, "fastest", "float32"),
    ]:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda amx=amx: {"amx_bf16": amx})
        settings = changed(f"stopping.max_updates={updates}", f"training.precision={asked}", *QUICK)
        train(settings, linked, run, resume=True)
        assert Run.open(run).settings.training.precision == used
    noted = [one["setting"] for one in read_statistics(run)["changes"]]
    assert noted.count("training.precision") == 1


def test_other_settings_are_refused_and_a_run_is_not_overwritten(
    linked: Corpus, tmp_path: Path
) -> None:
    train(changed("stopping.max_updates=1"), linked, tmp_path / "run")
    with pytest.raises(InputError, match=r"training\.batch_size = 10, which is now 20"):
        train(changed("training.batch_size=20"), linked, tmp_path / "run", resume=True)
    with pytest.raises(InputError, match="holds a run already"):
        train(changed("stopping.max_updates=2"), linked, tmp_path / "run")


def test_other_sentences_are_refused(tiny_corpus: Path, tiny_store: Path, tmp_path: Path) -> None:
    """As many pairs and the same words, but each has the next one's translation."""
    shifted = [*lines_of(tiny_corpus / "train.fr")]
    write(tmp_path / "train.fr", [*shifted[1:], shifted[0]])
    files = tiny_corpus / "train.en", tmp_path / "train.fr"
    dev = tiny_corpus / "dev.en", tiny_corpus / "dev.fr"
    whole = Corpus.open(tiny_store)
    prepare(*files, tmp_path / "store", dev=dev, settings=whole.settings)
    other = Corpus.open(tmp_path / "store")
    assert len(other.train) == len(whole.train)
    train(changed("stopping.max_updates=2"), whole, tmp_path / "run")
    with refusal("was trained on other sentences .resume with the same --data"):
        train(changed("stopping.max_updates=4"), other, tmp_path / "run", resume=True)


def test_an_interrupted_run_has_its_latest_weights(
    linked: Corpus, tmp_path: Path, interrupted: Any
) -> None:
    how = changed("stopping.validate_every=100")
    for stop, resume in ((2, False), (5, True)):
        interrupted(stop)
        run = train(how, linked, tmp_path / "run", resume=resume)
        assert load_tensors(run.model_path, "")[1]["update"] == stop
