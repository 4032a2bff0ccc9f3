"""A corpus in shards, and one Ray for all tests that need one: started as the how-to starts it, with two
cores."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.cluster import actors
from rnnsearch.cluster.worker import Worker
from rnnsearch.errors import InputError
from rnnsearch.system.extras import package_version

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/ray.md"
START = "ray start --head --port=6379"
"""As it stands on the page."""
BOUNDED = [
    "--num-cpus=2",
    "--object-store-memory=100000000",
    "--include-dashboard=false",
    "--disable-usage-stats",
    "--block",
]


def in_this_process(given: list[str]) -> Callable[..., Iterator[actors.Outcome]]:
    """What stands for `answered`, with one worker here in place of Ray's actors. given: gets the names of the
    shards."""

    def answered(
        ray: Any, task: Any, folder: Any, shards: Sequence[Any], *_: Any
    ) -> Iterator[actors.Outcome]:
        worker = Worker(task, folder, package_version())
        for shard in shards:
            given.append(shard.name)
            try:
                yield actors.Outcome(shard, worker.answer(shard))
            except (InputError, ZeroDivisionError) as fault:
                yield actors.Outcome(shard, None, fault)

    return answered


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the shards that one worker in this process was given in place of Ray's actors."""
    given: list[str] = []
    monkeypatch.setattr(actors, "connected", lambda *_: nullcontext())
    monkeypatch.setattr(actors, "answered", in_this_process(given))
    return given


class Cluster:
    """address: for --ray. process: `ray start`, whose children are Ray's."""

    def __init__(self, address: str, process: subprocess.Popen[bytes]) -> None:
        self.address, self.process = address, process

    def workers(self) -> list[int]:
        """Processes in which a model is at work."""
        return [pid for pid, title in descendants(self.process.pid) if title.startswith("ray::Worker")]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if find_spec("ray") is None:
        pytest.skip("needs Ray: pip install 'rnnsearch[ray]'")
    assert START in PAGE.read_text(encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    _, *words = shlex.split(START.replace("6379", str(port)))
    command = [str(Path(sys.executable).parent / "ray"), *words, "--node-ip-address=127.0.0.1", *BOUNDED]
    with pytest.MonkeyPatch.context() as patch:
        token = tmp_path_factory.mktemp("ray") / "token"
        token.write_text(secrets.token_hex(16))
        environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": SOURCE,
        }
        for name, value in environment.items():  # for those who connect as well
            patch.setenv(name, value)
        yield from started(command, port)


def started(command: list[str], port: int) -> Iterator[Cluster]:
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wait_until_open(port, process)
        yield Cluster(f"127.0.0.1:{port}", process)
    finally:
        children = list(descendants(process.pid))
        process.terminate()  # it ends what it started
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pid, title in children:
            if "ray" in title and title == title_of(pid):
                os.kill(pid, signal.SIGKILL)


def wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until Ray answers at the port; two minutes are long."""
    for _ in range(480):
        assert process.poll() is None, "ray start ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0 and any(
                "raylet" in title for _, title in descendants(process.pid)
            ):
                return
        time.sleep(0.25)
    raise AssertionError("Ray did not start in two minutes")


def descendants(of: int) -> Iterator[tuple[int, str]]:
    """(process, title) of all that the process and its children started."""
    for listed in Path(f"/proc/{of}/task").glob("*/children"):
        for child in map(int, read(listed).split()):
            yield child, title_of(child)
            yield from descendants(child)


def read(file: Path) -> str:
    """Returns what the kernel says, nothing of a process that has ended."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def title_of(pid: int) -> str:
    return read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").strip()
