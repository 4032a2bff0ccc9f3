"""The application: the routes, what they refuse in one voice, and the guard around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException

from rnnsearch.serving.guard import App, Guard
from rnnsearch.serving.keys import Keys
from rnnsearch.serving.libretranslate import libretranslate
from rnnsearch.serving.operations import operations
from rnnsearch.serving.page import page, page_folder
from rnnsearch.serving.refusal import RefusalError
from rnnsearch.serving.routes import json_response, v1
from rnnsearch.serving.service import Service
from rnnsearch.system.version import package_version


@dataclass(frozen=True)
class AppOptions:
    """keys: without any, everybody may ask. origins: of other sites whose pages may ask (CORS). log_text: whether the log holds texts."""

    keys: Keys = field(default_factory=lambda: Keys([]))
    origins: Sequence[str] = ()
    log_text: bool = False
    page: Traversable | None = field(default_factory=page_folder)


def make_app(service: Service, options: AppOptions | None = None) -> App:
    """The ASGI application. Its queue begins with it and ends with it."""
    options = options or AppOptions()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.queue.begin()
        yield
        await service.queue.end()

    app = FastAPI(
        title="rnnsearch",
        version=package_version(),
        description="Translation, word alignment and scores of RNNsearch models.",
        lifespan=lifespan,
        docs_url=None,  # they load scripts from elsewhere; /docs is a page of our own
        redoc_url=None,
        redirect_slashes=False,
    )
    app.include_router(v1(service))
    app.include_router(libretranslate(service, options.keys))
    app.include_router(operations(service))
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
    return Guard(app, body=service.limits.body, keys=options.keys, metrics=service.metrics, log_text=options.log_text)


async def _refused(request: Request, error: Any) -> Response:
    response = json_response(error.to_dict(request.url.path))
    response.status_code = error.status
    response.headers.update(error.headers)
    return response


async def _invalid(request: Request, error: Any) -> Response:
    """The first thing that is wrong; what was sent is not repeated."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return await _refused(request, RefusalError(400, f"the body is not JSON: {first.get('ctx', {}).get('error', '')}"))
    if tuple(first["loc"]) == ("body",) and "json" not in request.headers.get("content-type", ""):
        return await _refused(request, RefusalError(415, "send JSON, with the header Content-Type: application/json"))
    if first["type"] in _PLAINER:
        first = first | {"msg": _PLAINER[first["type"]]}
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "str", "list[nullable[str]]")]
    where = ".".join(part for part in place if not part.startswith(("list[", "function-", "constrained-")))
    what = str(first["msg"]).removeprefix("Value error, ")
    return await _refused(request, RefusalError(422, f"{where}: {what}" if where else what))


_PLAINER = {
    "missing": "it is missing",
    "greater_than_equal": "it is too small",
    "extra_forbidden": "there is no such field",
    "string_type": "it is not a text",
    "int_type": "it is not a whole number",
    "bool_type": "it is not true or false",
    "bool_parsing": "it is not true or false",
    "model_attributes_type": "the body is not a JSON object",
}
"""What a person understands in place of the validator's words, by the kind of error."""
_UNREADABLE = "the body is not JSON in UTF-8, is nested too deeply, or holds a number of too many digits"


async def _internal(request: Request, error: Any) -> Response:
    return await _refused(request, RefusalError(500, "internal error: the service's log has more"))


async def _http(request: Request, error: Any) -> Response:
    if error.detail == "There was an error parsing the body":
        return await _refused(request, RefusalError(400, _UNREADABLE))
    messages = {404: "there is nothing at this path; / and /docs show what there is", 405: "this path does not take this method"}
    return await _refused(request, RefusalError(error.status_code, messages.get(error.status_code, str(error.detail))))
