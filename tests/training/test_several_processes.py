"""Trainings of several processes, and how they end: by a kill, a signal, a hang, a disagreement."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import HEEDING_CTRL_C
from started_commands import (
    ENDLESS,
    assert_same_checkpoint,
    children,
    free_port,
    nobody_left,
    own_lines,
    settings,
    start,
    torchrun,
    train,
    train_words,
    until_saved,
)

from rnnsearch.run import Run
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.checkpoint import read_progress

TWO = "training.processes=2"


def test_a_killed_process_is_one_clear_line_and_resuming_is_exact(
    tiny_store: Path, whole_run: Path, tmp_path: Path
) -> None:
    words = train_words(tiny_store, tmp_path / "run", TWO)
    training = start(words, tmp_path / "said")
    until_saved(training, tmp_path / "run")
    ranks = children(training.pid)
    os.kill(ranks[1], signal.SIGKILL)
    assert training.wait(60) == 2, (tmp_path / "said").read_text()
    nobody_left(ranks)
    (line,) = own_lines(tmp_path / "said")
    assert f"rank 1 (process {ranks[1]} on {socket.gethostname()}) was ended by SIGKILL (" in line
    assert "--resume" in line
    assert start([*words, "--resume"], tmp_path / "said").wait(240) == 0
    assert_same_checkpoint(whole_run, tmp_path / "run")


@pytest.mark.slow
def test_another_number_of_processes_goes_on_with_the_next_pairs(tiny_store: Path, tmp_path: Path) -> None:
    """Without dropout, in float32: what two processes make of the second half is what one makes of it, but
    for rounding."""
    changes = {"dropout_embedding": 0, "optimiser": "sgd", "learning_rate": 0.1}

    def trained(name: str, **more: Any) -> Run:
        given, corpus = settings(**changes | more), Corpus.open(tiny_store)
        return train(given, corpus, tmp_path / name, resume="processes" in more)

    whole = trained("whole")
    trained("run", max_updates=15)
    run = trained("run", processes=2)
    found, expected = (load_tensors(one.checkpoint_path, "")[0] for one in (run, whole))
    for name in (name for name in expected if name.startswith("network.")):
        torch.testing.assert_close(found[name], expected[name], rtol=1e-4, atol=1e-5, msg=name)
    assert read_progress(run.checkpoint_path).epochs == read_progress(whole.checkpoint_path).epochs


@pytest.mark.slow
@pytest.mark.parametrize("when", ["importing", "training"])
def test_the_command_ends_its_processes_even_when_it_is_killed(
    when: str, tiny_store: Path, tmp_path: Path
) -> None:
    training = start(train_words(tiny_store, tmp_path / "run", TWO, ENDLESS), tmp_path / "said")
    if when == "training":
        until_saved(training, tmp_path / "run")
    while not (ranks := children(training.pid)):
        assert training.poll() is None
        time.sleep(0.01)
    training.kill()
    training.wait()
    nobody_left(ranks)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "whom", ["the command", "all processes"]
)  # a person; `timeout`, a terminal, a cluster
def test_a_signal_ends_the_training_after_an_update(
    whom: str, number: signal.Signals, tiny_store: Path, tmp_path: Path
) -> None:
    changes = (TWO, ENDLESS, "training.save_every=50", "training.validate_every=100000")
    training = start(train_words(tiny_store, tmp_path / "run", *changes), tmp_path / "said")
    until_saved(training, tmp_path / "run")
    ranks = children(training.pid)
    (os.kill if whom == "the command" else os.killpg)(training.pid, number)
    assert training.wait(60) == 128 + number, (tmp_path / "said").read_text()
    nobody_left(ranks)
    said = (tmp_path / "said").read_text()
    assert "interrupted after" in said
    assert "Traceback" not in said
    assert (tmp_path / "run" / "model.safetensors").exists()


@pytest.mark.slow
def test_an_interrupted_benchmark_leaves_no_process_behind() -> None:
    sizes = ["--recipe", "demo", "--words", "10", "--length", "3", "--repetitions", "1000000", "--set", TWO]
    bench = subprocess.Popen([*HEEDING_CTRL_C, "bench", "train", *sizes], stderr=subprocess.DEVNULL)
    while not (ranks := children(bench.pid)):
        assert bench.poll() is None, "it ended before it could be stopped"
        time.sleep(0.01)
    time.sleep(3)
    bench.send_signal(signal.SIGINT)
    assert bench.wait(60) == 130
    nobody_left(ranks)


@pytest.mark.slow
@pytest.mark.parametrize("hanging", [0, 1])
def test_a_rank_that_hangs_is_named(hanging: int, tiny_store: Path, tmp_path: Path) -> None:
    changes = (
        TWO,
        ENDLESS,
        "training.exchange_timeout=4",
        "training.save_every=60",
        "training.validate_every=60",
    )
    training = start(train_words(tiny_store, tmp_path / "run", *changes), tmp_path / "said")
    until_saved(training, tmp_path / "run")
    time.sleep(0.5)  # all wait for rank 0 as long as it saves
    ranks = children(training.pid)
    os.kill(ranks[hanging], signal.SIGSTOP)
    assert training.wait(120) == 2, (tmp_path / "said").read_text()
    (line,) = own_lines(tmp_path / "said")
    who = f"rank {hanging} (process {ranks[hanging]} on {socket.gethostname()})"
    assert f"{who} has not answered for 4 seconds" in line
    nobody_left(ranks)


@pytest.mark.slow
def test_torchrun_learns_the_same_and_goes_on_after_a_kill(
    tiny_store: Path, whole_run: Path, tmp_path: Path
) -> None:
    """The first time rank 1 is killed, the second time rank 0."""
    launcher = torchrun("--standalone", "--nproc-per-node", "2", "--max-restarts", "3")
    training = start(train_words(tiny_store, tmp_path / "killed"), tmp_path / "said", launcher)
    until_saved(training, tmp_path / "killed")
    victims = sorted(children(training.pid))
    for rank in (1, 0):
        os.kill(victims[rank], signal.SIGKILL)
        nobody_left(victims)
        while (
            len(victims_now := sorted(set(children(training.pid)) - set(victims))) < 2
            and training.poll() is None
        ):
            time.sleep(0.05)
        victims = victims_now
        time.sleep(4)  # until it learns again, more or less
        if training.poll() is not None:
            break
    assert training.wait(120) == 0, (tmp_path / "said").read_text()
    assert_same_checkpoint(whole_run, tmp_path / "killed")


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["rank 0", "rank 1", "launcher"])
def test_what_torchrun_started_leaves_nobody_behind(victim: str, tiny_store: Path, tmp_path: Path) -> None:
    training = start(
        train_words(tiny_store, tmp_path / "run", ENDLESS),
        tmp_path / "said",
        torchrun("--standalone", "--nproc-per-node", "2"),
    )
    until_saved(training, tmp_path / "run")
    ranks = sorted(children(training.pid))
    os.kill({"rank 0": ranks[0], "rank 1": ranks[1], "launcher": training.pid}[victim], signal.SIGKILL)
    assert training.wait(60) != 0
    nobody_left(ranks)
    lines = own_lines(tmp_path / "said")
    assert len(lines) <= 1
    if victim != "launcher":
        assert f"{victim} (process" in lines[0]


HELD_BACK = """
import os, sys
from rnnsearch.config import TrainingSettings
from rnnsearch.training.launch import Interrupt
from rnnsearch.training.launch import joined, launch_of_environment

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
with joined(launch_of_environment(), TrainingSettings(), Interrupt()) as processes:
    for thread in map(int, os.listdir("/proc/self/task")):
        if thread != os.getpid():
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    for _ in range(3):
        processes.gather("word")
sys.exit(2)
"""
"""Exchanges, and ends before the threads that exchanged have a turn: they run when nothing else does."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's scheduler")
def test_threads_let_go_before_the_interpreter_ends() -> None:
    for _ in range(3):
        environment = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        ranks = [
            subprocess.Popen([sys.executable, "-c", HELD_BACK], env=os.environ | environment | {"RANK": rank})
            for rank in "01"
        ]
        assert [rank.wait(120) for rank in ranks] == [2, 2]


@pytest.mark.slow
def test_different_settings_are_refused_at_the_start(tiny_store: Path, tmp_path: Path) -> None:
    """Each process is started by hand, as on two machines without any launcher."""
    port = free_port()
    ranks = []
    for rank in ("0", "1"):
        words = train_words(tiny_store, tmp_path / "run", f"training.seed={rank}")
        environment = {"RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks.append(start(words, tmp_path / f"said{rank}", **environment))
    assert [rank.wait(60) for rank in ranks] == [2, 2]
    (line,) = own_lines(tmp_path / "said0")
    assert "training.seed is 1 in rank 1" in line
    assert "and 0 in rank 0" in line
