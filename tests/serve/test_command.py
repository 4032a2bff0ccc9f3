"""The command `rnnsearch serve`: what it says of bad usage; and, slow, its processes under kill -9 and
SIGTERM."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from loopback import posted
from started_commands import children, nobody_left, start

from .conftest import wait_until


def test_bad_usage_is_one_line(command: Callable[..., Any], tiny_run: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, says in (
            ((tmp_path / "nothing", "--port", 0), "is not a run"),
            (("a b=x", "--port", 0), "names no model"),
            ((tiny_run, "--port", port), f"cannot listen at 127.0.0.1 port {port}"),
            (
                (tiny_run, "--host", "nowhere.invalid", "--port", 0),
                "cannot listen at nowhere.invalid",
            ),
            ((tiny_run, "--api-keys", tmp_path / "none"), "cannot be read"),
            ((tiny_run, "--trust-code"), "No such option"),
            ((tiny_run, "--workers", 0), "--workers"),
        ):
            outcome = command("serve", *arguments)
            assert outcome.code == 2
            assert outcome.err.count("\n") == 1
            assert says in outcome.err


class Served:
    """`rnnsearch serve` in processes of its own. said: the file with what it says."""

    def __init__(self, said: Path, *arguments: object) -> None:
        self.said = said
        self.process = start(["serve", "--port", "0", "--threads", "1", *map(str, arguments)], said)
        self.address = self.wait_for(r" at (http://\S+)")[1]

    def wait_for(self, pattern: str) -> re.Match[str]:
        wait_until(lambda: re.search(pattern, self.said.read_text()) is not None)
        found = re.search(pattern, self.said.read_text())
        assert found
        return found

    def ask(self, text: str = "A cat .", **fields: Any) -> Any:
        status, _, answer = posted(f"{self.address}/v1/translate", text=text, **fields)
        assert status == 200
        return answer

    def counts(self, requests: int) -> bool:
        """Tells whether the metrics of all workers, ended ones too, have so many answers."""
        text = posted(f"{self.address}/metrics")[2]
        return f'count{{route="/v1/translate",status="200"}} {requests}.0' in text

    def workers(self) -> list[int]:
        return children(self.process.pid)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    with ExitStack() as stack:

        def make(*arguments: object) -> Served:
            service = Served(tmp_path / "said", *arguments)
            stack.callback(service.process.kill)
            return service

        yield make


@pytest.mark.processes
@pytest.mark.slow
def test_killed_workers_are_replaced_and_the_end_is_graceful(
    tiny_run: Path, tmp_path: Path, serve: Callable[..., Served]
) -> None:
    """Although the run's folder is gone since the start."""
    run = shutil.copytree(tiny_run, tmp_path / "run")
    service = serve(f"en-fr={run}", "--workers", 2)
    first = service.ask()
    assert [service.ask() for _ in range(20)] == [first] * 20
    wait_until(lambda: service.counts(21))
    before = service.workers()
    assert len(before) == 2
    shutil.rmtree(run)
    os.kill(before[0], signal.SIGKILL)
    assert [service.ask() for _ in range(20)] == [first] * 20  # the other one answers at once
    wait_until(lambda: len(service.workers()) == 2 and before[0] not in service.workers())
    wait_until(lambda: service.counts(41))  # what the dead one counted still counts
    os.kill(before[1], signal.SIGKILL)  # the new one has to answer
    wait_until(lambda: len(service.workers()) == 2 and before[1] not in service.workers())
    assert service.ask() == first
    answers: list[Any] = []
    long = "The old man sees a dog .\n" * 100
    asking = threading.Thread(target=lambda: answers.append(service.ask(long, beam=40)))
    asking.start()
    wait_until(lambda: posted(f"{service.address}/health")[2]["queue"] > 0)
    workers = service.workers()
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(300) == 0
    asking.join(300)
    assert len(answers[0]["translations"][0]["sentences"]) == 100
    nobody_left(workers)
    assert "Traceback" not in service.said.read_text()


@pytest.mark.processes
@pytest.mark.slow
def test_one_process_ends_at_ctrl_c_and_workers_with_their_supervisor(
    tiny_run: Path, serve: Callable[..., Served]
) -> None:
    at_once = serve(tiny_run)
    at_once.process.send_signal(signal.SIGINT)
    assert at_once.process.wait(60) == 0
    alone = serve(tiny_run)
    assert alone.ask()["model"] == "en-fr"
    alone.process.send_signal(signal.SIGINT)
    assert alone.process.wait(300) == 0
    several = serve(tiny_run, "--workers", 2)
    wait_until(lambda: len(several.workers()) == 2)
    workers = several.workers()
    several.process.kill()
    several.process.wait(300)
    nobody_left(workers)
