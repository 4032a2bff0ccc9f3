"""The ASGI application: all routes, their errors, and the guard around them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException

from rnnsearch.errors import InputError
from rnnsearch.installed import package_version
from rnnsearch.page import KINDS, page_files
from rnnsearch.serving.guard import INTERNAL, Guard
from rnnsearch.serving.libretranslate import libretranslate
from rnnsearch.serving.limits import Limits, busy, json_response, metrics_text, refused
from rnnsearch.serving.routes import first_fault, v1
from rnnsearch.serving.served_models import ModelPlace
from rnnsearch.serving.service import Service


@dataclass(frozen=True)
class Options:
    """The settings of the service; picklable.

    places: of the models. threads: CPU threads of each process; 0: all cores, divided by `workers`. keys:
    digests of valid API keys; without any, everybody may use the service. origins: other sites whose pages
    may use it (CORS). hosts: accepted names in the Host header; empty for any. log_text: whether the log
    holds texts. page: files of the page at `/`.
    """

    places: tuple[ModelPlace, ...] = ()
    limits: Limits = field(default_factory=Limits)
    device: str = "cpu"
    precision: str | None = None
    threads: int = 0
    workers: int = 1
    keys: frozenset[str] = frozenset()
    origins: Sequence[str] = ()
    hosts: Collection[str] = ()
    log_text: bool = False
    page: Mapping[str, bytes] = field(default_factory=page_files)


def make_app(service: Service, options: Options) -> Guard:
    """Returns the ASGI application. The service's queue begins and ends with it."""
    working: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        working.append(asyncio.create_task(service.queue.run()))
        yield
        working[0].cancel()

    app = FastAPI(
        title="rnnsearch",
        version=package_version(),
        description="Translation, word alignment and scores of RNNsearch models.",
        lifespan=lifespan,
        docs_url=None,  # its pages load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,
    )
    app.include_router(v1(service))
    app.include_router(libretranslate(service, options.keys))

    @app.get("/health", summary="Whether the service works; 503 if the models' thread has ended")
    async def health() -> Response:
        if not working or working[0].done():
            raise busy("the models do not work")
        return json_response(
            {"status": "ok", "version": package_version(), "queue": len(service.queue.waiting)}
        )

    @app.get("/metrics", summary="Counters and histograms, for Prometheus")
    async def metrics() -> Response:
        return Response(metrics_text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/config.json", include_in_schema=False)
    async def config() -> Response:
        models = [model.to_dict() for model in service.models]
        examples = {model.name: model.examples for model in service.models}
        keys = bool(options.keys)
        return json_response({"engine": "http", "keys": keys, "models": models, "examples": examples})

    for name, content in options.page.items():  # only these files can be read
        file = Response(
            content, media_type=KINDS[name[name.rindex(".") :]], headers={"Cache-Control": "no-cache"}
        )
        app.add_route("/" if name == "index.html" else f"/{name}", file, ["GET"])  # type: ignore[arg-type]
    for fault in (RequestValidationError, InputError, HTTPException, Exception):
        app.add_exception_handler(fault, _refused)
    if options.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Retry-After"],
        )
    return Guard(app, service.limits, options.keys, options.hosts, options.log_text)


async def _refused(request: Request, error: Exception) -> Response:
    """Returns the answer to an error of a route, without the client's text."""
    if isinstance(error, HTTPException):
        return refused(request.url.path, error.status_code, error.detail, error.headers)
    status, what = 500, INTERNAL
    if isinstance(error, InputError | RequestValidationError):
        status, what = 422, str(error) if isinstance(error, InputError) else first_fault(error.errors())
    return refused(request.url.path, status, what)
