"""A service with two small models, without a socket (`client`) and behind real ones (`server`)."""

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

from rnnsearch.serving.app import Options, make_app
from rnnsearch.serving.limits import Limits
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.served_models import ServedModel, ServedModels, load_models, model_place
from rnnsearch.serving.service import Service

LIMITS = Limits(
    characters=2_000, texts=20, sentences=40, beam=10, nbest=5, queue=100, deadline=30.0, batch=16
)
NO_PAGE = Options(page={})


@pytest.fixture(scope="session")
def served(tiny_run: Path, tiny_reverse_run: Path) -> list[ServedModel]:
    return load_models([model_place(str(tiny_run)), model_place(f"back={tiny_reverse_run}")])


@pytest.fixture(scope="session")
def make_service(served: list[ServedModel]) -> Callable[..., Service]:
    """make_service(queue=3, …): with other limits."""
    return lambda **limits: Service(ServedModels(served), replace(LIMITS, **limits), Metrics())


def client_for(service: Service, options: Options) -> TestClient:
    return TestClient(make_app(service, options), raise_server_exceptions=False)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def client(make_service: Callable[..., Service]) -> Iterator[TestClient]:
    with client_for(make_service(), NO_PAGE) as client:
        yield client


@pytest.fixture
def client_of(make_service: Callable[..., Service]) -> Iterator[Callable[..., TestClient]]:
    """client_of(keys=…): of a service with these options."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(client_for(make_service(), replace(NO_PAGE, **options)))


@pytest.fixture
def loopback_of(make_service: Callable[..., Service]) -> Iterator[Callable[..., Loopback]]:
    """loopback_of(service, options): one of the test's own."""
    with ExitStack() as stack:

        def make(service: Service | None = None, options: Options = NO_PAGE) -> Loopback:
            server = Loopback(make_app(service or make_service(), options))
            stack.callback(server.end)
            return server

        yield make


@pytest.fixture(scope="session")
def loopback(make_service: Callable[..., Service]) -> Iterator[Loopback]:
    """A service with two models, shared by all tests."""
    server = Loopback(make_app(make_service(), NO_PAGE))
    yield server
    server.end()


class Held:
    """A service whose batches wait until `go` is set. server: it, behind a socket. batches: those that have
    begun."""

    def __init__(self, service: Service, server: Loopback) -> None:
        self.service, self.server = service, server
        self.go, self.batches = threading.Event(), []
        work = service.queue._work

        def held(group: Any, tasks: Sequence[Any]) -> Any:
            self.batches.append([" ".join(task.item.words) for task in tasks])
            assert self.go.wait(30)
            return work(group, tasks)

        service.queue._work = held

    def wait_for_batch(self) -> None:
        wait_until(lambda: len(self.batches) >= 1)

    def wait_for_queue(self, length: int) -> None:
        wait_until(lambda: len(self.service.queue) == length)


@pytest.fixture
def held_of(
    make_service: Callable[..., Service], loopback_of: Callable[..., Loopback]
) -> Callable[..., Held]:
    """held_of(queue=3, …): with other limits."""

    def make(**limits: Any) -> Held:
        service = make_service(**limits)
        return Held(service, loopback_of(service))

    return make


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    latest = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < latest
        time.sleep(0.01)
