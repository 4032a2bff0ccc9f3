"""The API as a page for people, made from the OpenAPI description: no script, nothing from elsewhere."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from rnnsearch.drawing.page import render
from rnnsearch.serving.served_models import Models

_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)


class Field(NamedTuple):
    name: str
    type: str
    needed: bool
    meaning: str


class Route(NamedTuple):
    """example: a command that asks. answer: what it may get, as JSON."""

    method: str
    path: str
    summary: str
    description: str
    fields: list[Field]
    example: str
    answer: str

    @property
    def anchor(self) -> str:
        return f"{self.method}-{self.path.strip('/').replace('/', '-') or 'page'}".lower()


def api_page(app: FastAPI, models: Models, base: str) -> HTMLResponse:
    """base: where the service is, for the examples.

    The page's style sheet is in it; the policy names it by its hash, and allows nothing else.
    """
    described = app.openapi()
    listed = ", ".join(f"{model.name} ({model.source} to {model.target})" for model in models)
    html = render("api.html", routes=list(_routes(described, base.rstrip("/"))), models=listed)
    style = _STYLE.search(html)
    allowed = b64encode(sha256(style[1].encode()).digest()).decode() if style else ""
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return HTMLResponse(html, headers={"Content-Security-Policy": policy})


def _routes(described: dict[str, Any], base: str) -> Iterator[Route]:
    schemas = described.get("components", {}).get("schemas", {})
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            kinds: dict[str, Any] = route.get("requestBody", {}).get("content", {})
            schema = _resolved(next(iter(kinds.values()))["schema"], schemas) if kinds else {}
            fields = [_field(each["name"], each.get("schema", {}), each) for each in route.get("parameters", [])]
            needed = schema.get("required", [])
            fields += [_field(name, one, {"required": name in needed}) for name, one in schema.get("properties", {}).items()]
            given = route.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {}).get("example")
            answer = "" if given is None else json.dumps(given, ensure_ascii=False, indent=1)
            description = route.get("description", "").replace("`", "")
            yield Route(method.upper(), path, route.get("summary", ""), description, fields, _example(method, base + path, schema), answer)


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    return schemas.get(schema["$ref"].rpartition("/")[2], {}) if "$ref" in schema else schema


def _field(name: str, schema: dict[str, Any], about: dict[str, Any]) -> Field:
    return Field(name, _type(schema), bool(about.get("required")), schema.get("description") or about.get("description") or "")


def _type(schema: dict[str, Any]) -> str:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return " or ".join(_type(choice) for choice in choices if choice.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", ""))


def _example(method: str, url: str, schema: dict[str, Any]) -> str:
    examples = schema.get("examples") or [{name: one["example"] for name, one in schema.get("properties", {}).items() if "example" in one}]
    if not examples[0]:
        return f"curl {url}" if method == "get" else ""
    body = json.dumps(examples[0], ensure_ascii=False)
    return f"curl {url} -H 'Content-Type: application/json' -d '{body}'"
