"""A service with two small models, without a socket (`client`) and behind real ones (`server`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from starlette.testclient import TestClient

from rnnsearch.serving.app import AppOptions, make_app
from rnnsearch.serving.limits import Limits
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.served_models import Models, ServedModel, load_models, model_place
from rnnsearch.serving.service import Service

LIMITS = Limits(characters=2_000, texts=20, sentences=40, beam=10, nbest=5, queue=100, deadline=30.0, batch=16)


@pytest.fixture(scope="session")
def served(tiny_run: Path, tiny_reverse_run: Path) -> list[ServedModel]:
    return load_models([model_place(str(tiny_run)), model_place(f"back={tiny_reverse_run}")])


@pytest.fixture(scope="session")
def make_service(served: list[ServedModel]) -> Callable[..., Service]:
    """make_service(queue=3, …): with other limits."""
    return lambda **limits: Service(Models(served), replace(LIMITS, **limits), Metrics())


@pytest.fixture(scope="session")
def client(make_service: Callable[..., Service]) -> Iterator[TestClient]:
    with TestClient(make_app(make_service(), AppOptions(page=None)), raise_server_exceptions=False) as client:  # type: ignore[arg-type]
        yield client


@pytest.fixture
def client_of(make_service: Callable[..., Service]) -> Iterator[Callable[..., TestClient]]:
    """client_of(options, queue=3, …): of a service of its own."""
    opened: list[TestClient] = []

    def make(options: AppOptions | None = None, **limits: Any) -> TestClient:
        app = make_app(make_service(**limits), options or AppOptions(page=None))
        opened.append(TestClient(app, raise_server_exceptions=False))  # type: ignore[arg-type]
        return opened[-1].__enter__()

    yield make
    for each in opened:
        each.__exit__(None, None, None)
