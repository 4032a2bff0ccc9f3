"""The command `rnnsearch serve`: what it says of bad usage; and, slow, its processes under kill -9 and
SIGTERM."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from .conftest import wait_until


def test_bad_usage_is_one_line(command: Callable[..., Any], tiny_run: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, says in (
            ((tmp_path / "nothing", "--port", 0), "is not a run"),
            (("a b=x", "--port", 0), "cannot be the name of a model"),
            ((tiny_run, "--port", port), f"cannot listen at 127.0.0.1 port {port}"),
            ((tiny_run, "--host", "nowhere.invalid", "--port", 0), "cannot listen at nowhere.invalid"),
            ((tiny_run, "--api-keys", tmp_path / "none"), "cannot be read"),
            ((tiny_run, "--trust-code"), "No such option"),
            ((tiny_run, "--workers", 0), "--workers"),
        ):
            outcome = command("serve", *arguments)
            assert outcome.code == 2
            assert outcome.err.count("\n") == 1
            assert says in outcome.err


def test_a_missing_extra_is_named(
    command: Callable[..., Any], tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rnnsearch.cli.serve.find_spec", lambda name: None if name == "uvicorn" else name)
    outcome = command(f"serve {tiny_run}")
    assert outcome.code == 2
    assert "the command serve needs uvicorn (pip install 'rnnsearch[serve]')" in outcome.err


class Command:
    """The command in a process of its own. lines: what it has written to stderr so far."""

    def __init__(self, *arguments: object) -> None:
        words = [
            sys.executable,
            "-m",
            "rnnsearch",
            "serve",
            "--port",
            "0",
            "--threads",
            "1",
            *map(str, arguments),
        ]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = self.wait_for(" at http://").rpartition(" at ")[2].split()[0]

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            for line in self.process.stderr:
                self.lines.append(line)

    def wait_for(self, text: str) -> str:
        wait_until(lambda: any(text in line for line in list(self.lines)), 120)
        return next(line for line in self.lines if text in line)

    def ask(self, **body: Any) -> Any:
        request = Request(
            f"{self.address}/v1/translate", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def metrics(self) -> str:
        with urlopen(f"{self.address}/metrics", timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def workers(self) -> list[int]:
        """Its child processes that serve."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [
            int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self._reader.join(10)
        return code


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_the_end_is_graceful(tiny_run: Path) -> None:
    service = Command(f"en-fr={tiny_run}", "--workers", 2)
    try:
        first = service.ask(text="A cat .")
        for _ in range(20):
            assert service.ask(text="A cat .") == first
        assert 'route="/v1/translate",status="200"} 21.0' in service.metrics()  # of both workers
        before = service.workers()
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        service.wait_for(f"Child process [{before[0]}] died")
        for _ in range(20):  # the other one answers at once
            assert service.ask(text="A cat .") == first
        wait_until(lambda: len(service.workers()) == 2 and before[0] not in service.workers(), 60)
        assert (
            'route="/v1/translate",status="200"} 41.0' in service.metrics()
        )  # what the dead one counted still counts
        answers: list[Any] = []
        long = threading.Thread(
            target=lambda: answers.append(service.ask(text="The old man sees a dog .\n" * 300, beam=40))
        )
        long.start()
        time.sleep(0.3)
        children = service.workers()
        assert service.end() == 0
        long.join(60)
        assert len(answers[0]["translations"][0]["sentences"]) == 300
        assert not any(Path(f"/proc/{child}").exists() for child in children)
        assert not any("Traceback" in line for line in service.lines)
    finally:
        service.process.kill()


@pytest.mark.slow
def test_one_process_ends_at_ctrl_c_and_workers_with_their_supervisor(tiny_run: Path) -> None:
    alone = Command(tiny_run)
    assert alone.ask(text="A cat .")["model"] == "en-fr"
    alone.process.send_signal(signal.SIGINT)
    assert alone.process.wait(60) == 0
    several = Command(tiny_run, "--workers", 2)
    wait_until(lambda: len(several.workers()) == 2, 60)
    workers = several.workers()
    several.process.kill()
    several.process.wait(60)
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), 60)


@pytest.mark.slow
def test_a_worker_never_serves_another_model_than_the_others(
    tiny_run: Path, tiny_reverse_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    service = Command(f"en-fr={run}", "--workers", 2)
    try:
        service.ask(text="A cat .")
        shutil.rmtree(run)
        shutil.copytree(tiny_reverse_run, run)
        os.kill(service.workers()[0], signal.SIGKILL)
        assert service.process.wait(120) == 2
        service.wait_for("has changed since the service began (restart the service")
    finally:
        service.process.kill()
