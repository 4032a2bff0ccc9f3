"""The page at `/`, which asks this service, and the API as a page at `/docs`."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from rnnsearch.drawing.page import render
from rnnsearch.page import KINDS
from rnnsearch.serving.limits import RefusalError
from rnnsearch.serving.routes import json_response
from rnnsearch.serving.service import Service

_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)


def page(app: FastAPI, service: Service, files: Mapping[str, bytes], *, keys: bool) -> APIRouter:
    """Returns the routes of both pages.

    files: of the page at `/`, by name; without any, the API is described there. keys: whether the page must
    ask for one.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def docs(request: Request) -> Response:
        return _api_page(app, service, str(request.base_url))

    @router.get("/config.json")
    async def config() -> Response:
        models = [model.to_dict() for model in service.models]
        examples = {model.name: model.examples for model in service.models}
        return json_response({"engine": "http", "keys": keys, "models": models, "examples": examples})

    @router.get("/{name:path}")
    async def file(name: str, request: Request) -> Response:
        if not name and not files:
            return await docs(request)
        name = name or "index.html"
        if name in files:  # no path leads elsewhere
            kind = KINDS[name[name.rindex(".") :]]
            return Response(files[name], media_type=kind, headers={"Cache-Control": "no-cache"})
        if f"/{name}" in app.openapi()["paths"]:
            raise RefusalError(405, "this path takes POST")
        raise RefusalError(404, "there is nothing at this path; / and /docs show what there is")

    return router


def _api_page(app: FastAPI, service: Service, base: str) -> HTMLResponse:
    """Returns the OpenAPI description as a page without scripts, with examples for the address `base`.

    The page's style sheet is in it; the policy names it by its hash, and allows nothing else.
    """
    listed = ", ".join(f"{model.name} ({model.source} to {model.target})" for model in service.models)
    html = render("api.html", described=app.openapi(), models=listed, base=base.rstrip("/"), dumps=json.dumps)
    style = "".join(_STYLE.findall(html))
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    return HTMLResponse(html, headers={"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"})
