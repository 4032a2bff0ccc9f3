"""The ASGI application: all routes, their errors, and the guard around them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from rnnsearch.drawing.page import csp_hash, render
from rnnsearch.page import KINDS, page_files
from rnnsearch.serving.guard import ApiKeys, Guard
from rnnsearch.serving.libretranslate import libretranslate
from rnnsearch.serving.limits import GIVE_UP_SECONDS, Limits, RefusalError, busy, json_response
from rnnsearch.serving.routes import first_fault, v1
from rnnsearch.serving.served_models import ModelPlace
from rnnsearch.serving.service import Service
from rnnsearch.system.extras import package_version

_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)


@dataclass(frozen=True)
class Options:
    """The settings of the service; picklable.

    places: of the models. threads: CPU threads of each process; 0: all cores, divided by `workers`. keys:
    valid API keys; without any, everybody may use the service. origins: other sites whose pages may use it
    (CORS). hosts: accepted names in the Host header; empty for any. log_text: whether the log holds texts.
    page: files of the page at `/`; without any, `/` shows the API's page.
    """

    places: tuple[ModelPlace, ...] = ()
    limits: Limits = field(default_factory=Limits)
    device: str = "cpu"
    precision: str | None = None
    threads: int = 0
    workers: int = 1
    keys: ApiKeys = field(default_factory=ApiKeys)
    origins: Sequence[str] = ()
    hosts: Collection[str] = ()
    log_text: bool = False
    page: Mapping[str, bytes] = field(default_factory=page_files)


def make_app(service: Service, options: Options) -> Guard:
    """Returns the ASGI application. The service's queue begins and ends with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.queue.begin()
        yield
        await service.queue.end(GIVE_UP_SECONDS)

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
    app.include_router(_operations(service))
    app.include_router(_pages(app, service, options))
    examples = resources.files("rnnsearch.serving").joinpath("examples.json").read_text(encoding="utf-8")
    for path, example in json.loads(examples).items():
        for operation in app.openapi()["paths"][path].values():  # the application keeps this object
            content = {"application/json": {"schema": {}, "example": example}}
            operation["responses"]["200"] = {"description": "The answer", "content": content}
    for kind in (RefusalError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _refused)
    if options.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Retry-After"],
        )
    body, metrics = service.limits.body, service.metrics
    return Guard(app, body, options.keys, metrics, options.hosts, options.log_text)


def _operations(service: Service) -> APIRouter:
    """Returns the routes for operating the service."""
    router = APIRouter(tags=["operation"])
    queue = service.queue

    @router.get("/health", summary="Whether the process answers")
    async def health() -> Response:
        return json_response({"status": "ok", "version": package_version()})

    @router.get("/ready", summary="Whether the service can take work now")
    async def ready() -> Response:
        """The status is 503 while the models are loaded, when the queue is full, and when the service is
        ending."""
        if not queue.alive:
            raise busy("the models are not ready", 5)
        if len(queue) >= queue.capacity:
            raise busy("the queue is full", 2)
        return json_response({"status": "ready", "queue": len(queue)})

    @router.get("/metrics", summary="Counters and histograms, for Prometheus")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _pages(app: FastAPI, service: Service, options: Options) -> APIRouter:
    """Returns the routes of the translation page at `/` and of the API's page at `/docs`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def docs(request: Request) -> Response:
        return _api_page(app, service, str(request.base_url))

    @router.get("/config.json")
    async def config() -> Response:
        models = [model.to_dict() for model in service.models]
        examples = {model.name: model.examples for model in service.models}
        keys = options.keys.needed
        return json_response({"engine": "http", "keys": keys, "models": models, "examples": examples})

    for name, content in options.page.items():  # only these files can be read
        router.get(f"/{name}")(_file(content, KINDS[name[name.rindex(".") :]]))
    index = options.page.get("index.html")
    router.get("/")(docs if index is None else _file(index, KINDS[".html"]))
    return router


def _file(content: bytes, kind: str) -> Callable[[], Coroutine[Any, Any, Response]]:
    async def file() -> Response:
        return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

    return file


def _api_page(app: FastAPI, service: Service, base: str) -> HTMLResponse:
    """Returns the OpenAPI description as a page without scripts, with examples for the address `base`.

    The Content-Security-Policy allows only its style sheet, by a hash.
    """
    listed = ", ".join(f"{model.name} ({model.source} to {model.target})" for model in service.models)
    html = render("api.html", described=app.openapi(), models=listed, base=base.rstrip("/"), dumps=json.dumps)
    style = "".join(_STYLE.findall(html))
    policy = f"default-src 'none'; style-src '{csp_hash(style)}'; base-uri 'none'; form-action 'none'"
    return HTMLResponse(html, headers={"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"})


async def _refused(request: Request, error: Exception) -> Response:
    """Returns the answer to an error of a route, without the client's text."""
    refusal = RefusalError(500, "internal error: the service's log has more")
    if isinstance(error, RefusalError):
        refusal = error
    elif isinstance(error, RequestValidationError):
        first, kind = error.errors()[0], request.headers.get("content-type", "")
        refusal = RefusalError(422, first_fault(error.errors()))
        if first["type"] == "json_invalid":
            refusal = RefusalError(400, f"the body is not JSON: {first.get('ctx', {}).get('error', '')}")
        elif tuple(first["loc"]) == ("body",) and "json" not in kind:
            refusal = RefusalError(415, "send JSON, with the header Content-Type: application/json")
    elif isinstance(error, HTTPException):
        what = str(error.detail)
        if what == "There was an error parsing the body":
            what = (
                "the body is not JSON in UTF-8, is nested too deeply, or holds a number with too many digits"
            )
        elif error.status_code == 404:
            what = "there is nothing at this path; see / and /docs"
        elif error.status_code == 405:
            what = "this path does not take this method"
        refusal = RefusalError(error.status_code, what)
    return refusal.response(request.url.path)
