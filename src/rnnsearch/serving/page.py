"""The page at `/`: static files of the package, and the `config.json` that tells them to ask this service."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter, FastAPI, Request, Response

from rnnsearch.serving.api_page import api_page
from rnnsearch.serving.refusal import RefusalError
from rnnsearch.serving.routes import json_response
from rnnsearch.serving.service import Service

TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml"}
TEXTS = ("text/", "application/json", "image/svg+xml")


def page_folder() -> Traversable | None:
    """The files of the page; None if this installation has none."""
    folder = resources.files("rnnsearch") / "page"
    return folder if (folder / "index.html").is_file() else None


def page(app: FastAPI, service: Service, folder: Traversable | None, *, keys: bool) -> APIRouter:
    """Without a folder, `/` describes the API. keys: whether the page must ask for one.

    The files are looked up among those that are there: no path leads out of the folder.
    """
    router = APIRouter(include_in_schema=False)
    files = {} if folder is None else _files(folder)

    @router.get("/")
    async def index(request: Request) -> Response:
        return _file(files["index.html"], "index.html", request) if files else api_page(app, service.models, str(request.base_url))

    @router.get("/docs")
    async def docs(request: Request) -> Response:
        return api_page(app, service.models, str(request.base_url))

    @router.get("/config.json")
    async def config() -> Response:
        return json_response({"engine": "http", "keys": keys, "models": [model.to_dict() for model in service.models]})

    @router.get("/{name:path}")
    async def file(name: str, request: Request) -> Response:
        if name not in files:
            if f"/{name}" in app.openapi()["paths"]:
                raise RefusalError(405, "this path takes POST")
            raise RefusalError(404, "there is nothing at this path; / and /docs show what there is")
        return _file(files[name], name, request)

    return router


def _files(folder: Traversable, inside: str = "") -> dict[str, Callable[[], bytes]]:
    """What reads each file, by its path in the folder."""
    found: dict[str, Callable[[], bytes]] = {}
    for entry in folder.iterdir():
        if entry.name.startswith((".", "__")):
            continue
        if entry.is_dir():
            found |= _files(entry, f"{inside}{entry.name}/")
        else:
            found[f"{inside}{entry.name}"] = entry.read_bytes
    return found


def _file(read: Callable[[], bytes], name: str, request: Request) -> Response:
    content = read()
    suffix = f".{name.rpartition('.')[2]}"
    kind = TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    kind += "; charset=utf-8" if kind.startswith(TEXTS) else ""
    # Small files that change with the program: asked for again each time.
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})
