"""Several machines, as far as one can be several: network namespaces with an address each and separate copies
of the prepared dataset; and the scripts of the how-to pages, with stand-ins for Slurm and ssh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from started_commands import SMALL, assert_same_checkpoint, free_port, start, torchrun, train_words

PORT = "29500"


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"network namespaces cannot be made here: {done.stderr.strip()}")


@pytest.fixture
def machines() -> Iterator[list[tuple[str, str, str]]]:
    """(namespace, its address, its interface) of each."""
    if not shutil.which("ip"):
        pytest.skip("needs the command `ip`")
    unique = os.getpid() % 10_000
    both = [
        (f"rnns{unique}{side}", f"10.77.{unique % 200}.{number}", f"rnn{unique}{side}")
        for number, side in enumerate("ab", 1)
    ]
    try:
        for space, _, _ in both:
            ip("netns", "add", space)
        ip("link", "add", both[0][2], "type", "veth", "peer", "name", both[1][2])
        for space, address, interface in both:
            ip("link", "set", interface, "netns", space)
            ip("-n", space, "addr", "add", f"{address}/24", "dev", interface)
            ip("-n", space, "link", "set", interface, "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield both
    finally:
        for space, _, _ in both:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


@pytest.mark.slow
def test_two_machines_learn_what_two_processes_of_one_do(
    machines: list[tuple[str, str, str]], tiny_store: Path, whole_run: Path, tmp_path: Path
) -> None:
    nodes = []
    for number, (space, address, interface) in enumerate(machines):
        store = tmp_path / f"store{number}"
        shutil.copytree(tiny_store, store)
        options = f"--nnodes 2 --node-rank {number} --nproc-per-node 1 --rdzv-backend c10d --rdzv-id test"
        options += f" --rdzv-endpoint {machines[0][1]}:{PORT} --rdzv-conf is_host={int(not number)}"
        options += f" --local-addr {address}"
        launcher = ["ip", "netns", "exec", space, *torchrun(*options.split())]
        words = train_words(store, tmp_path / f"run{number}")
        nodes.append(start(words, tmp_path / f"said{number}", launcher, GLOO_SOCKET_IFNAME=interface))
    try:
        assert [node.wait(150) for node in nodes] == [0, 0], [
            (tmp_path / f"said{number}").read_text() for number in range(2)
        ]
    finally:
        for node in nodes:
            node.kill()
    runs = [tmp_path / f"run{number}" for number in range(2) if (tmp_path / f"run{number}").exists()]
    assert len(runs) == 1  # rank 0's, whichever machine it was on
    assert_same_checkpoint(whole_run, runs[0])


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
    done = subprocess.run(["shellcheck", SCRIPTS / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("script", "first"), [("train.sbatch", []), ("train-over-ssh.sh", ["one two"])])
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
        **{"SLURM_JOB_NODELIST": "one,two", "SLURM_NNODES": "2", "SLURM_JOB_ID": "7", "RANKS_PER_NODE": "1"},
    }
    recipe = tmp_path / "empty.toml"
    recipe.touch()
    sets = [word for change in SMALL for word in ("--set", change)]
    words = ["bash", SCRIPTS / script, *first, recipe, tiny_store, tmp_path / "run", *sets]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert_same_checkpoint(whole_run, tmp_path / "run")
