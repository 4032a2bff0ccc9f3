"""A service with two small models, without a socket (`client`) and behind real ones (`loopback`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from loopback import Loopback
from starlette.testclient import TestClient

from rnnsearch.serve.app import make_app
from rnnsearch.serve.service import ModelPlace, Options, ServedModel, Service, load_models

OPTIONS = Options(characters=2_000, sentences=40, beam=10, queue=100, deadline=30.0)


@pytest.fixture(scope="session")
def served(tiny_run: Path, tiny_reverse_run: Path) -> list[ServedModel]:
    places = ModelPlace("", str(tiny_run)), ModelPlace("back", str(tiny_reverse_run))
    return load_models(Options(places=places))


@pytest.fixture(scope="session")
def make_service(served: list[ServedModel]) -> Callable[..., Service]:
    """make_service(queue=3, …): with other options."""
    return lambda **options: Service(served, replace(OPTIONS, **options))


def client_for(service: Service) -> TestClient:
    return TestClient(make_app(service), raise_server_exceptions=False)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def client(make_service: Callable[..., Service]) -> Iterator[TestClient]:
    with client_for(make_service()) as client:
        yield client


@pytest.fixture
def client_of(make_service: Callable[..., Service]) -> Iterator[Callable[..., TestClient]]:
    """client_of(keys=…): of a service with these options."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(client_for(make_service(**options)))


@pytest.fixture
def loopback_of(make_service: Callable[..., Service]) -> Iterator[Callable[..., Loopback]]:
    """loopback_of(service): one of the test's own."""
    with ExitStack() as stack:

        def make(service: Service | None = None) -> Loopback:
            server = Loopback(make_app(service or make_service()))
            stack.callback(server.end)
            return server

        yield make


@pytest.fixture(scope="session")
def loopback(make_service: Callable[..., Service]) -> Iterator[Loopback]:
    """A service with two models, shared by all tests."""
    server = Loopback(make_app(make_service()))
    yield server
    server.end()


class Held:
    """A service whose batches wait until `go` is set. server: it, behind a socket. batches: the tasks of those
    that have begun."""

    def __init__(self, service: Service, server: Loopback) -> None:
        self.service, self.server, self.post = service, server, server.post
        self.go = threading.Event()
        self.batches: list[list[str]] = []
        work = service.queue.work

        def held(group: Any, tasks: Sequence[Any]) -> Any:
            words = [[word for part in task.item[0] for word in part.words] for task in tasks]
            self.batches.append(list(map(" ".join, words)))
            assert self.go.wait(300)
            return work(group, tasks)

        service.queue.work = held

    def wait_for_batch(self) -> None:
        wait_until(lambda: len(self.batches) >= 1)

    def wait_for_queue(self, length: int) -> None:
        wait_until(
            lambda: sum(not task.future.done() for task in self.service.queue.waiting) == length
        )


@pytest.fixture
def held_of(
    make_service: Callable[..., Service], loopback_of: Callable[..., Loopback]
) -> Iterator[Callable[..., Held]]:
    """held_of(queue=3, …): with other limits."""
    made: list[Held] = []

    def make(**limits: Any) -> Held:
        service = make_service(**limits)
        made.append(Held(service, loopback_of(service)))
        return made[-1]

    yield make
    for held in made:
        held.go.set()


def wait_until(condition: Callable[[], bool], seconds: float = 300) -> None:
    latest = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < latest
        time.sleep(0.01)
