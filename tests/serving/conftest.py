"""A service with two small models, without a socket (`client`) and behind real ones (`server`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from loopback import Loopback
from starlette.testclient import TestClient

from rnnsearch.serving.app import AppOptions, make_app
from rnnsearch.serving.limits import Limits
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.served_models import Models, ServedModel, load_models, model_place
from rnnsearch.serving.service import Service

LIMITS = Limits(
    characters=2_000, texts=20, sentences=40, beam=10, nbest=5, queue=100, deadline=30.0, batch=16
)


@pytest.fixture(scope="session")
def served(tiny_run: Path, tiny_reverse_run: Path) -> list[ServedModel]:
    return load_models([model_place(str(tiny_run)), model_place(f"back={tiny_reverse_run}")])


@pytest.fixture(scope="session")
def make_service(served: list[ServedModel]) -> Callable[..., Service]:
    """make_service(queue=3, …): with other limits."""
    return lambda **limits: Service(Models(served), replace(LIMITS, **limits), Metrics())


@pytest.fixture(scope="session")
def client(make_service: Callable[..., Service]) -> Iterator[TestClient]:
    with TestClient(make_app(make_service(), AppOptions(page={})), raise_server_exceptions=False) as client:  # type: ignore[arg-type]
        yield client


@pytest.fixture
def client_of(make_service: Callable[..., Service]) -> Iterator[Callable[..., TestClient]]:
    """client_of(options, queue=3, …): of a service of its own."""
    opened: list[TestClient] = []

    def make(options: AppOptions | None = None, **limits: Any) -> TestClient:
        app = make_app(make_service(**limits), options or AppOptions(page={}))
        opened.append(TestClient(app, raise_server_exceptions=False))  # type: ignore[arg-type]
        return opened[-1].__enter__()

    yield make
    for each in opened:
        each.__exit__(None, None, None)


@pytest.fixture(scope="session")
def loopback(make_service: Callable[..., Service]) -> Iterator[Loopback]:
    """A service with two models, shared by all tests."""
    server = Loopback(make_app(make_service(), AppOptions(page={})))
    yield server
    server.end()


@pytest.fixture
def loopback_of(make_service: Callable[..., Service]) -> Iterator[Callable[..., Loopback]]:
    """loopback_of(service, options): one of the test's own."""
    opened: list[Loopback] = []

    def make(service: Service | None = None, options: AppOptions | None = None) -> Loopback:
        opened.append(Loopback(make_app(service or make_service(), options or AppOptions(page={}))))
        return opened[-1]

    yield make
    for each in opened:
        each.end()


class HeldModel:
    """In place of the work of a service: every batch waits until `go` is set. begun: how many batches have
    begun."""

    def __init__(self, service: Service) -> None:
        self.go, self.batches = threading.Event(), []
        work = service.queue._work

        def held(group: Any, tasks: Sequence[Any]) -> Any:
            self.batches.append([" ".join(task.item.words) for task in tasks])
            assert self.go.wait(30)
            return work(group, tasks)

        service.queue._work = held

    def wait_for_batches(self, count: int) -> None:
        wait_until(lambda: len(self.batches) >= count)


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    latest = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < latest
        time.sleep(0.01)
