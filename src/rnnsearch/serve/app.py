"""The ASGI application: all routes, their errors, and the guard around them, which checks keys and
limits of every request, ends the work for a client that is gone, and logs one line per request."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import ValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rnnsearch.errors import InputError, escaped
from rnnsearch.installed import package_version
from rnnsearch.serve.libretranslate import PATHS, libretranslate
from rnnsearch.serve.page import KINDS, page_files
from rnnsearch.serve.routes import check_key, json_response, key_of, most_specific_fault, v1
from rnnsearch.serve.service import Options, Service
from rnnsearch.serve.work_queue import OWNER, REQUESTS, busy, check_limit

LOG = logging.getLogger("rnnsearch.serve")
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which several processes share counters.
prometheus_client reads it when imported."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
        "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Default headers of every answer."""
WITH_KEY = ("/v1/", "/metrics")
"""Paths that need a key in a header, if keys are needed. At LibreTranslate's paths the key may be a
field."""


def make_app(service: Service) -> ASGIApp:
    """Returns the ASGI application. The service's queue begins and ends with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.queue = asyncio.create_task(service.queue.run())
        yield
        app.state.queue.cancel()

    options = service.options
    app = FastAPI(
        title="rnnsearch",
        version=package_version(),
        docs_url=None,  # FastAPI's own pages load scripts from other sites
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.include_router(v1(service))
    app.include_router(libretranslate(service))

    @app.get("/health", summary="Whether the service works; 503 if the models' thread has ended")
    async def health() -> Response:
        if app.state.queue.done():
            raise busy("the models do not work")
        return json_response({"status": "ok", "queue": len(service.queue.waiting)})

    @app.get("/metrics", summary="Counters and histograms of all processes, for Prometheus")
    async def metrics() -> Response:
        registry = REGISTRY
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return Response(
            generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    @app.get("/config.json", summary="The models, and whether keys are needed")
    async def config() -> Response:
        fields = ("name", "source", "target", "taught_links")
        shown = {
            "engine": "http",
            "keys": bool(options.keys),
            "models": [{name: getattr(one, name) for name in fields} for one in service.models],
            "examples": {model.name: model.examples for model in service.models},
        }
        return json_response(shown)

    add_docs(app)
    add_page(app)
    for fault in (RequestValidationError, ValidationError, InputError, HTTPException, Exception):
        app.add_exception_handler(fault, _refused)
    return readable_from(options.origins, guarded(app, options))


def readable_from(origins: Sequence[str], app: ASGIApp) -> ASGIApp:
    """Returns the application, whose answers and refusals pages of these origins may read."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "X-API-Key"],
        expose_headers=["Retry-After"],
    )


def add_page(app: FastAPI) -> None:
    """Adds the files of the page; no others can be read."""
    for name, content in page_files().items():
        kind, path = KINDS[Path(name).suffix], "/" if name == "index.html" else f"/{name}"
        file: Any = Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})
        app.add_route(path, file, ["GET"])


def add_docs(app: FastAPI) -> None:
    """Adds a page that lists the routes. It loads nothing."""

    @app.get("/docs", summary="This page: every route in a line")
    async def docs() -> Response:
        routes = [
            f"<dt><code>{method.upper()} {path}</code>"
            f"<dd>{escape(one.get('description', one['summary']))}"
            for path, methods in app.openapi()["paths"].items()
            for method, one in methods.items()
        ]
        page = (
            "<!doctype html><title>rnnsearch</title><h1>rnnsearch</h1><dl>"
            f"{''.join(routes)}</dl>"
            '<p>Fields and types: <a href="openapi.json">openapi.json</a>'
        )
        return Response(page, media_type="text/html; charset=utf-8")


async def _refused(request: Request, error: Exception) -> Response:
    """Returns the answer to an error, without the client's text. LibreTranslate's clients expect
    400 and the message alone."""
    if isinstance(error, InputError | RequestValidationError | ValidationError):
        what = str(error) if isinstance(error, InputError) else most_specific_fault(error.errors())
        error = HTTPException(422, what)
    elif isinstance(error, TimeoutError):
        error = HTTPException(408, "the request did not arrive in time")
    elif isinstance(error.__cause__, UnicodeDecodeError):
        error = HTTPException(400, "the body is not UTF-8")
    elif not isinstance(error, HTTPException):
        error = HTTPException(500, "internal error: the service's log has more")
    message: object = error.detail
    status = error.status_code
    if request.scope["path"] not in PATHS:
        message = {"message": message, "status": status}
    elif status in (404, 422):
        status = 400
    response = json_response({"error": message}, status)
    response.headers.update(error.headers or {})
    return response


def guarded(app: ASGIApp, options: Options) -> ASGIApp:
    """Returns the application with the limits of the options around it."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        request, begun = Request(scope, receive), time.monotonic()
        client = request.client.host[:45] if request.client else ""  # a proxy may name anything
        body, status = bytearray(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        OWNER.set(client)
        try:
            _check_head(request, options)
            async with asyncio.timeout(options.deadline):
                async for part in request.stream():
                    body += part
                    check_limit("the body of the request", len(body), "bytes", options.body)
            work = asyncio.ensure_future(app(scope, _replay(bytes(body)), answer))
            await _while_connected(work, receive, options.deadline)
        except ClientDisconnect:
            pass
        except Exception as error:
            if not isinstance(error, HTTPException | TimeoutError):
                frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
                LOG.error("internal error: %s\n%s", type(error).__name__, frames)
            if not status:
                response = await _refused(request, error)
                response.headers["Connection"] = "close"  # the body may not have been read
                await response(scope, receive, answer)
        route, seconds = getattr(scope.get("route"), "path", "other"), time.monotonic() - begun
        with suppress(OSError):  # the disk of the shared counters is full
            REQUESTS.labels(route, status).observe(seconds)
        line = escaped(f"{client} {request.method} {scope['path'][:200]} {status}")
        LOG.info("%s %.0f ms %d bytes", line, 1000 * seconds, len(body))

    return guard


def _check_head(request: Request, options: Options) -> None:
    """Raises HTTPException for a request that proxies may read otherwise, one that is too long, an
    unknown host, and a missing or wrong key."""
    version, path, headers = request.scope["http_version"], request.scope["path"], request.headers
    if version not in ("1.0", "1.1") or (
        "Transfer-Encoding" in headers and ("Content-Length" in headers or version == "1.0")
    ):
        raise HTTPException(400, "the version or the framing of the request is not valid HTTP/1.1")
    length = int(headers.get("Content-Length", 0))
    check_limit("the body of the request", length, "bytes", options.body)
    host = re.sub(r":\d*$", "", headers.get("Host", "")).lower()
    if options.hosts and host not in options.hosts:
        raise HTTPException(
            400, f"the host {host[:80]!r} is not served here; --allowed-host allows it"
        )
    if request.method != "OPTIONS" and path.startswith(WITH_KEY):
        check_key(key_of(headers), options.keys, 401)


async def _while_connected(work: asyncio.Future[None], receive: Receive, deadline: float) -> None:
    """Waits for the application's answer; cancels the work when the client disconnects. Raises
    HTTPException if it is not answered at the deadline."""
    gone: asyncio.Future[Any] = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({work, gone}, timeout=deadline, return_when="FIRST_COMPLETED")
        if work.done():
            work.result()
        elif not gone.done():
            raise busy(f"the request was not answered within {deadline:g} s")
    finally:
        gone.cancel()
        work.cancel()
        await asyncio.wait({work})


def _replay(body: bytes) -> Receive:
    """Returns a `receive` that gives the application a body that was already read, and nothing
    after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            # for ever: the guard cancels the work for a disconnected client
            await asyncio.Event().wait()
        return messages.pop()

    return receive
