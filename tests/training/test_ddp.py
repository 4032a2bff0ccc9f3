"""Several ranks compute what one does: gradients of their shares, with the mean that DDP takes of them; and
they end together, by a kill, a signal or a disagreement; also as the scripts of the page on several machines
start them, with stand-ins for Slurm and ssh."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import learning_together as together
import numpy as np
import pytest
import torch
from refusals import refusal
from started_commands import (
    ENDLESS,
    SMALL,
    TWO,
    assert_same_checkpoint,
    children,
    free_port,
    nobody_left,
    own_lines,
    start,
    torchrun,
    train_words,
    until_saved,
)

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.settings import TrainingSettings
from rnnsearch.text.batches import BatchOrder, Position
from rnnsearch.text.dataset import Corpus
from rnnsearch.training import ddp
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.setup import check_agreement

QUICK = ("adadelta, sparse rows, averaged", "adamw, links, backward decoder")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("world", "cases"),
    [(2, QUICK), pytest.param(3, tuple(together.CASES), marks=pytest.mark.slow)],
)
def test_ranks_learn_what_one_does(world: int, cases: tuple[str, ...], tmp_path: Path) -> None:
    """Weights, averages, optimiser state, NLL and norm of 12 updates in float64, where the order of sums
    hardly matters; word links that are forced at random too."""
    torch.set_num_threads(1)
    launcher = torchrun("--standalone", "--nproc-per-node", str(world), "-m", "learning_together")
    path = os.pathsep.join([str(Path(together.__file__).parent), *sys.path])
    done = subprocess.run(
        [*launcher, tmp_path / "found", *cases], env=os.environ | {"PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0
    found, weights = torch.load(tmp_path / "found", weights_only=False)
    for case in cases:
        assert_same(found[case], together.learned(case, Ranks()))
    for other, case in itertools.product(weights[1:], cases):
        for name, tensor in weights[0][case].items():
            assert torch.equal(other[case][name], tensor), name  # bit for bit
    assert_same(found["fewer pairs than ranks"], together.learned(QUICK[0], Ranks(), 3, pairs=1))
    update, unchanged = found["skipped"]
    assert not update.applied
    assert unchanged


def assert_same(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    (state, updates), (expected_state, expected_updates) = found, expected
    torch.testing.assert_close(state, expected_state, rtol=tolerance, atol=tolerance)
    for one, other in zip(updates, expected_updates, strict=True):
        assert (one.pairs, one.target_tokens, one.applied) == (
            other.pairs,
            other.target_tokens,
            other.applied,
        )
        numbers = [
            (update.nll, update.gradient_norm, update.alignment_loss, update.linked_rows)
            for update in (one, other)
        ]
        assert numbers[0] == pytest.approx(numbers[1], rel=tolerance)


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("worlds", [(1,), (2,), (5,), (2, 3), (3, 1, 2)])
def test_every_pair_is_read_once_in_an_epoch(worlds: tuple[int, ...], accumulate: int) -> None:
    """By whatever number of ranks, and by another number from where those before have stopped in the middle
    of it."""
    training = TrainingSettings(batch_size=4, pool_batches=3, accumulate=accumulate, max_length=9)
    lengths = np.random.default_rng(1).integers(1, 8, (2, 61))
    order, position, read = BatchOrder(lengths[0], lengths[1], training), Position(), Counter[int]()
    left = len(order)  # so many updates are as many epochs as are accumulated
    for number, world in enumerate(worlds, 1):
        part = left if number == len(worlds) else 5
        left -= part
        for indices, after in itertools.islice(order.batches(position), part * accumulate):
            for rank in range(world):
                ids = torch.tensor(indices).unsqueeze(1)
                ones = torch.ones(len(indices), dtype=torch.int64)
                batch = Ranks(rank, world).share(Batch(ids, ones, ids, ones))
                read.update(batch.source[batch.target_lengths > 0].flatten().tolist())
            position = after
    assert position in ((accumulate, 0), (accumulate - 1, len(order)))
    assert read == dict.fromkeys(range(61), accumulate)


class Two(Ranks):
    """Rank 0 of two; the other has another fact of this name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def gather(self, value: Any) -> list[Any]:
        changed = {key: "another" for key in value if self.name and key.startswith(self.name)}
        return [value, value | changed]


FACTS = "version of rnnsearch|version of torch|settings|prepared dataset|CPU capability of"


@pytest.mark.parametrize("name", FACTS.split("|"))
def test_ranks_that_would_learn_different_things_are_refused(name: str, tiny_store: Path) -> None:
    corpus = Corpus.open(tiny_store)
    check_agreement(Two(""), load_config(), corpus)
    with refusal(f"ranks 0 and 1 have different {name}"):
        check_agreement(Two(name), load_config(), corpus)


def test_a_rank_without_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"RANK": 3, "WORLD_SIZE": 4, "LOCAL_RANK": 3}
    monkeypatch.setattr(ddp, "torchrun_value", lambda name, alone: numbers[name])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for device in ("cuda", "cuda:1"):
        with refusal(rf'"{device}" has no GPU 3 for rank 3 .*torchrun --nproc-per-node'):
            ddp.connected_ranks(device).__enter__()


@pytest.mark.processes
@pytest.mark.slow
def test_a_signal_ends_the_training_after_an_update(tiny_store: Path, tmp_path: Path) -> None:
    changes = (ENDLESS, "stopping.save_every=50", "stopping.validate_every=100000")
    training = start(
        train_words(tiny_store, tmp_path / "run", *changes), tmp_path / "said", torchrun(*TWO)
    )
    until_saved(training, tmp_path / "run")
    ranks = children(training.pid)
    os.kill(training.pid, signal.SIGTERM)
    assert training.wait(600) != 0
    nobody_left(ranks)
    assert "interrupted after" in (tmp_path / "said").read_text()
    assert (tmp_path / "run" / "model.safetensors").exists()


@pytest.mark.processes
@pytest.mark.slow
def test_torchrun_learns_the_same_and_goes_on_after_a_kill(
    tiny_store: Path, whole_run: Path, tmp_path: Path
) -> None:
    launcher = torchrun(*TWO, "--max-restarts", "1")
    training = start(train_words(tiny_store, tmp_path / "killed"), tmp_path / "said", launcher)
    until_saved(training, tmp_path / "killed")
    ranks = sorted(children(training.pid))
    os.kill(ranks[0], signal.SIGKILL)
    nobody_left(ranks)
    assert training.wait(600) == 0, (tmp_path / "said").read_text()
    assert_same_checkpoint(whole_run, tmp_path / "killed")


RESTARTED = """
import os, time
from rnnsearch.training.ddp import connected_ranks

restarts, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), os.environ["RANK"]
if restarts and rank == "0":
    time.sleep(2)
with connected_ranks("cpu") as ranks:
    assert ranks.gather(restarts) == [restarts] * 2
    if restarts < 3 and rank == "1":
        os.kill(os.getpid(), 9)
"""


@pytest.mark.processes
@pytest.mark.slow
def test_restarted_ranks_look_for_each_other_where_they_are_now(tmp_path: Path) -> None:
    """torchrun's store still has the addresses of ranks that were killed. They do harm in some restarts only, so
    there are three."""
    (tmp_path / "restarted.py").write_text(RESTARTED)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = torchrun(*TWO, "--max-restarts", "3", "-m", "restarted")
    subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True, timeout=600)


@pytest.mark.processes
@pytest.mark.slow
def test_what_torchrun_started_leaves_nobody_behind(
    tiny_store: Path, whole_run: Path, tmp_path: Path
) -> None:
    """The other rank says one line; torchrun names the one that was killed. Resuming is exact."""
    words = train_words(tiny_store, tmp_path / "run", "stopping.save_every=1", more=["--resume"])
    for place in (0, 1, 2):  # a rank, the other one, the launcher
        training = start(words, tmp_path / "said", torchrun(*TWO))
        until_saved(training, tmp_path / "run")
        ranks = sorted(children(training.pid))
        os.kill([*ranks, training.pid][place], signal.SIGKILL)
        assert training.wait(600) != 0
        nobody_left(ranks)
        lines = own_lines(tmp_path / "said")
        assert len(lines) <= (place < 2)
        for line in lines:
            assert f"rank {1 - place} of 2 ends: " in line
            assert "go on with --resume" in line
    assert start(words, tmp_path / "said", torchrun(*TWO)).wait(600) == 0
    assert_same_checkpoint(whole_run, tmp_path / "run")


LATE_THREADS = """
import os, sys
from rnnsearch.training.ddp import connected_ranks

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
with connected_ranks("cpu") as ranks:
    for thread in map(int, os.listdir("/proc/self/task")):
        if thread != os.getpid():
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    for _ in range(3):
        ranks.gather("word")
sys.exit(2)
"""
"""Exchanges, and ends before the threads that exchanged have a turn: they run when nothing else does."""


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's scheduler")
def test_threads_let_go_before_the_interpreter_ends() -> None:
    for _ in range(2):
        environment = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        environment |= {"TORCHELASTIC_RUN_ID": "test", "TORCHELASTIC_RESTART_COUNT": "0"}
        environment |= {"LOCAL_RANK": "0", "GROUP_WORLD_SIZE": "1"}
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", LATE_THREADS], env=os.environ | environment | {"RANK": rank}
            )
            for rank in "01"
        ]
        assert [rank.wait(600) for rank in ranks] == [2, 2]


@pytest.mark.processes
@pytest.mark.slow
def test_an_error_of_all_ranks_is_one_line(tiny_store: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").touch()
    training = start(train_words(tiny_store, tmp_path / "run"), tmp_path / "said", torchrun(*TWO))
    assert training.wait(600) != 0
    (line,) = own_lines(tmp_path / "said")
    assert "holds a run already" in line


SCRIPTS = Path(__file__).parents[2] / "docs" / "how-to"
STAND_INS = {
    "scontrol": "echo 127.0.0.1",
    "srun": """while [[ $1 == --* ]]; do shift; done
"$@" & first=$!
"$@" & second=$!
wait $first && wait $second""",
    "ssh": 'shift 2; exec bash -c "$*"',
}


@pytest.mark.parametrize("name", ["train.sbatch", "train-over-ssh.sh"])
def test_scripts_are_sound(name: str) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("needs the command `shellcheck`")
    done = subprocess.run(
        ["shellcheck", SCRIPTS / name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "first"), [("train.sbatch", []), ("train-over-ssh.sh", ["one two"])]
)
def test_scripts_train(
    script: str, first: list[str], tiny_store: Path, whole_run: Path, tmp_path: Path
) -> None:
    """Two nodes with a rank each learn what two processes do."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, body in STAND_INS.items():
        (commands / name).write_text(f"#!/usr/bin/env bash\n{body}\n", encoding="utf-8")
        (commands / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        **{"GLOO_SOCKET_IFNAME": "lo", "FIRST_ADDRESS": "127.0.0.1", "PORT": free_port()},
        **{
            "SLURM_JOB_NODELIST": "one,two",
            "SLURM_NNODES": "2",
            "SLURM_JOB_ID": "7",
            "RANKS_PER_NODE": "1",
        },
    }
    recipe = tmp_path / "empty.toml"
    recipe.touch()
    sets = [word for change in SMALL for word in ("--set", change)]
    words = ["bash", SCRIPTS / script, *first, recipe, tiny_store, tmp_path / "run", *sets]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert_same_checkpoint(whole_run, tmp_path / "run")
