"""The application: all routes, refusals in one voice, and the guard around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException

from rnnsearch.page import page_files
from rnnsearch.serving.guard import Guard, Keys
from rnnsearch.serving.libretranslate import libretranslate
from rnnsearch.serving.limits import GIVE_UP_SECONDS, RefusalError, busy
from rnnsearch.serving.page import page
from rnnsearch.serving.routes import json_response, shown, v1
from rnnsearch.serving.schema import first_fault
from rnnsearch.serving.service import Service
from rnnsearch.system.extras import package_version

_MESSAGES = {
    404: "there is nothing at this path; / and /docs show what there is",
    405: "this path does not take this method",
}
_UNREADABLE = "the body is not JSON in UTF-8, is nested too deeply, or holds a number of too many digits"


@dataclass(frozen=True)
class AppOptions:
    """The settings of the application.

    keys: without any, everybody may ask. origins: of other sites whose pages may ask (CORS). hosts: names in
    the Host header that are answered; empty for any. log_text: whether the log holds texts. page: files of
    the page at `/`.
    """

    keys: Keys = field(default_factory=lambda: Keys([]))
    origins: Sequence[str] = ()
    hosts: Collection[str] = ()
    log_text: bool = False
    page: Mapping[str, bytes] = field(default_factory=page_files)


def make_app(service: Service, options: AppOptions | None = None) -> Guard:
    """Returns the ASGI application. Its queue begins with it and ends with it."""
    options = options or AppOptions()

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
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.include_router(v1(service))
    app.include_router(libretranslate(service, options.keys))
    app.include_router(_operations(service))
    app.include_router(page(app, service, options.page, keys=options.keys.needed))
    app.add_exception_handler(RefusalError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _internal)
    if options.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Retry-After"],
        )
    return Guard(
        app,
        body=service.limits.body,
        keys=options.keys,
        metrics=service.metrics,
        hosts=options.hosts,
        log_text=options.log_text,
    )


def _operations(service: Service) -> APIRouter:
    """Returns the routes for whoever runs the service."""
    router = APIRouter(tags=["operation"])

    @router.get("/health", summary="Whether the process answers", responses=shown({"status": "ok"}))
    async def health() -> Response:
        return json_response({"status": "ok", "version": package_version()})

    answer = shown({"status": "ready", "queue": 0})

    @router.get("/ready", summary="Whether it can take work now", responses=answer)
    async def ready() -> Response:
        """503 while the models are loaded, when the queue is full, and when the service is ending."""
        if not service.queue.alive:
            raise busy("the models are not at work", 5)
        if len(service.queue) >= service.queue.capacity:
            raise busy("the queue is full", 2)
        return json_response({"status": "ready", "queue": len(service.queue)})

    @router.get("/metrics", summary="Counters and histograms, for Prometheus")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


async def _refused(request: Request, error: Any) -> Response:
    response = json_response(error.to_dict(request.url.path))
    response.status_code = error.status
    response.headers.update(error.headers)
    return response


async def _invalid(request: Request, error: Any) -> Response:
    """Answers with the first thing that is wrong; what was sent is not repeated."""
    first = error.errors()[0]
    refusal = RefusalError(422, first_fault(error.errors()))
    if first["type"] == "json_invalid":
        refusal = RefusalError(400, f"the body is not JSON: {first.get('ctx', {}).get('error', '')}")
    elif tuple(first["loc"]) == ("body",) and "json" not in request.headers.get("content-type", ""):
        refusal = RefusalError(415, "send JSON, with the header Content-Type: application/json")
    return await _refused(request, refusal)


async def _http(request: Request, error: Any) -> Response:
    if error.detail == "There was an error parsing the body":
        return await _refused(request, RefusalError(400, _UNREADABLE))
    message = _MESSAGES.get(error.status_code, str(error.detail))
    return await _refused(request, RefusalError(error.status_code, message))


async def _internal(request: Request, error: Any) -> Response:
    return await _refused(request, RefusalError(500, "internal error: the service's log has more"))
