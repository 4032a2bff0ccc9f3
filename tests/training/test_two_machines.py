"""Two machines, as far as one can be two: network namespaces with an address each, and separate copies of the
prepared dataset."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from started_commands import assert_same_checkpoint, start, torchrun, train_words

pytestmark = pytest.mark.slow
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
