"""Several processes compute what one does: gradients of their shares summed, every parameter updated once."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

from rnnsearch.builtin.generate import write
from rnnsearch.config import DataSettings, ModelSettings, Settings, TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.team import Exchange, Team
from rnnsearch.training.trainer import Trainer

MODEL = ModelSettings(embedding_size=6, hidden_size=8, alignment_size=5, maxout_size=6, initialisation="glorot")
WORDS = 23


def trainer(**training: Any) -> Trainer:
    torch.manual_seed(3)
    network = TranslationNetwork(MODEL, WORDS, WORDS).double()
    return Trainer(network, TrainingSettings(threads=1, **training), 0)


def batches(number: int, pairs: int = 7) -> list[Batch]:
    generator = torch.Generator().manual_seed(number)
    lengths = torch.randint(1, 6, (2, pairs), generator=generator)
    ids = torch.randint(0, WORDS, (2, pairs, 5), generator=generator)
    return [Batch(ids[0], lengths[0], ids[1], lengths[1])]


OPTIMISERS: dict[str, dict[str, Any]] = {
    "adadelta, sparse": {},
    "adadelta, clipped": {"clip_norm": 0.01},
    "adam, averaged": {"optimiser": "adam", "learning_rate": 0.01, "average_decay": 0.9},
    "sgd": {"optimiser": "sgd", "learning_rate": 0.1, "clip_norm": 0.0},
}


@pytest.mark.parametrize(
    ("name", "processes"),
    [
        ("adadelta, sparse", 2),
        ("adam, averaged", 2),
        *(pytest.param(*some, marks=pytest.mark.slow) for some in (("adadelta, clipped", 2), ("sgd", 2), ("adadelta, sparse", 3))),
    ],
)
def test_a_team_computes_what_one_process_does(name: str, processes: int) -> None:
    """Weights, averages, NLL and norm after six updates, in float64, where the order of sums hardly matters."""
    alone, first = trainer(**OPTIMISERS[name]), trainer(**OPTIMISERS[name])
    expected = [alone.update(batches(number), number) for number in range(1, 7)]
    found = [first.update(batches(1), 1)]
    with closing(Team(first, processes)) as team:
        found += [team.update(batches(number), number) for number in range(2, 7)]
    for one, other in zip(expected, found, strict=True):
        assert (one.pairs, one.target_tokens, one.applied) == (other.pairs, other.target_tokens, other.applied)
        assert other.nll == pytest.approx(one.nll, rel=1e-9)
        assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-9)
    for (key, one_tensor), other_tensor in zip(alone.network.state_dict().items(), first.network.state_dict().values(), strict=True):
        torch.testing.assert_close(other_tensor, one_tensor, rtol=1e-8, atol=1e-10, msg=key)
    if alone.average is not None and first.average is not None:
        for key, tensor in alone.average.weights.items():
            torch.testing.assert_close(first.average.weights[key], tensor, rtol=1e-8, atol=1e-10, msg=key)
    for index, state in alone.optimiser.state_dict()["state"].items():  # what a checkpoint will hold
        for slot, value in state.items():
            torch.testing.assert_close(first.optimiser.state_dict()["state"][index][slot], value, rtol=1e-8, atol=1e-12)


def test_fewer_pairs_than_processes() -> None:
    alone, first = trainer(), trainer()
    for member in (alone, first):
        member.update(batches(1), 1)
    expected = alone.update(batches(2, pairs=1), 2)
    with closing(Team(first, 3)) as team:
        assert team.update(batches(2, pairs=1), 2).nll == pytest.approx(expected.nll, rel=1e-9)
    torch.testing.assert_close(first.network.readout.U_o.weight, alone.network.readout.U_o.weight)


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    first = trainer(optimiser="adam")
    first.update(batches(1), 1)
    with closing(Team(first, 2)) as team:
        before = {name: tensor.clone() for name, tensor in first.network.state_dict().items()}
        with torch.no_grad():
            first.network.output.bias[3] = before["output.bias"][3] = math.nan
        assert not team.update(batches(2), 2).applied
        for name, tensor in first.network.state_dict().items():
            torch.testing.assert_close(tensor, before[name], equal_nan=True)


def test_every_parameter_has_one_owner_and_the_loads_are_even() -> None:
    parameters = list(trainer().network.parameters())
    exchange = Exchange.of(parameters, 2)
    load = [sum(p.numel() for p, owner in zip(parameters, exchange.owner, strict=True) if owner == rank) for rank in range(2)]
    assert max(load) < 1.1 * min(load)
    for index, owner in enumerate(exchange.owner):
        assert [exchange.written[rank][index] is None for rank in range(2)] == [rank == owner for rank in range(2)]


def test_dropout_differs_between_processes_and_follows_the_seed() -> None:
    """Both shares hold the same pair: with the same masks the NLL would be twice that of one of them."""
    pair = batches(2, pairs=1)[0]
    twice = [Batch(**{name: torch.cat((part, part)) for name, part in pair.parts().items()})]
    first = trainer(dropout_readout=0.5, optimiser="sgd", learning_rate=1e-30)
    first.update(batches(1), 1)
    with closing(Team(first, 2)) as team:
        torch.manual_seed(5)
        together = team.update(twice, 2).nll
        torch.manual_seed(5)
        assert team.update(twice, 3).nll == together
    torch.manual_seed(5)
    torch.randint(2**62, (2,))  # as the team does for the seeds of its processes
    alone = first.update([pair], 4).nll
    assert together != pytest.approx(2 * alone, rel=1e-6)


def test_a_process_that_has_ended_is_one_clear_line() -> None:
    first = trainer()
    first.update(batches(1), 1)
    with closing(Team(first, 2)) as team:
        (child,) = team.process_ids
        os.kill(child, signal.SIGKILL)
        with pytest.raises(InputError, match="process of the training has ended"):
            team.update(batches(2), 2)


def children(pid: int) -> list[int]:
    """Processes that compute for `pid`, by its kernel's list; multiprocessing's own tracker is none of them."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("needs the kernel's list of child processes")
    found = [int(child) for child in listed.read_text().split()]
    return [child for child in found if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("team")
    write(folder, 120, 12)
    dev = (folder / "dev.en", folder / "dev.fr")
    prepare(folder / "train.en", folder / "train.fr", folder / "store", dev=dev, settings=DataSettings())
    return folder / "store"


def command(folder: Path, store: Path, run: str, *more: str) -> subprocess.Popen[bytes]:
    recipe = folder / "recipe.toml"
    training = TrainingSettings(
        max_updates=14, validate_every=7, save_every=3, batch_size=10, threads=1, processes=2, dropout_embedding=0.1, samples=0
    )
    recipe.write_text(tomli_w.dumps(Settings(model=MODEL, training=training).model_dump(exclude_none=True)), encoding="utf-8")
    words = [sys.executable, "-m", "rnnsearch", "train", str(recipe), "--data", str(store), "--out", str(folder / run), *more]
    return subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)


def has_saved(training: subprocess.Popen[bytes], run: Path) -> None:
    """Waits until a training has a checkpoint."""
    while not (run / "checkpoints" / "last.safetensors").exists():
        assert training.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)


def nobody_left(processes: list[int]) -> None:
    """Waits until all of them have ended."""
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{process}").exists() for process in processes):
        assert time.monotonic() < deadline, "a process outlives the training"
        time.sleep(0.05)


@pytest.mark.slow
def test_the_command_resumes_exactly_after_a_kill_and_leaves_no_process_behind(store: Path, tmp_path: Path) -> None:
    assert command(tmp_path, store, "whole").wait() == 0
    victim = command(tmp_path, store, "killed", "--set", "training.max_updates=100000")
    has_saved(victim, tmp_path / "killed")
    helpers = children(victim.pid)
    victim.kill()
    victim.wait()
    nobody_left(helpers)
    _, notes = load_tensors(tmp_path / "killed" / "checkpoints" / "last.safetensors", "")
    if notes["progress"]["update"] > 14:
        pytest.skip("it was too quick to be killed early")
    assert command(tmp_path, store, "killed", "--resume").wait() == 0
    expected, _ = load_tensors(tmp_path / "whole" / "checkpoints" / "last.safetensors", "")
    found, _ = load_tensors(tmp_path / "killed" / "checkpoints" / "last.safetensors", "")
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())


@pytest.mark.slow
def test_a_signal_to_all_processes_ends_the_training_after_an_update(store: Path, tmp_path: Path) -> None:
    """So do `timeout`, a terminal and the managers of clusters."""
    seldom = ("--set", "training.save_every=50", "--set", "training.validate_every=100000")
    training = command(tmp_path, store, "run", "--set", "training.max_updates=100000", "--set", "training.batch_size=100", *seldom)
    has_saved(training, tmp_path / "run")
    helpers = children(training.pid)
    time.sleep(0.5)  # until it is at work on an update again
    os.killpg(training.pid, signal.SIGTERM)
    assert training.wait(60) == 128 + signal.SIGTERM
    nobody_left(helpers)


@pytest.mark.slow
def test_an_interrupted_benchmark_leaves_no_process_behind() -> None:
    """Nobody closes its team."""
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import rnnsearch.cli; rnnsearch.cli.main()"
    sizes = ["--recipe", "demo", "--words", "10", "--length", "3", "--repetitions", "1000000", "--set", "training.processes=2"]
    bench = subprocess.Popen([sys.executable, "-c", program, "bench", "train", *sizes], stderr=subprocess.DEVNULL)
    while not (helpers := children(bench.pid)):
        assert bench.poll() is None, "it ended before it could be stopped"
        time.sleep(0.01)
    time.sleep(3)
    bench.send_signal(signal.SIGINT)
    assert bench.wait(60) == 130
    nobody_left(helpers)
