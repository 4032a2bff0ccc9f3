"""LibreTranslate's API, so that its clients work unchanged. Fields are JSON, a form or in the query; errors
are `{"error": "…"}`."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, ValidationError

from rnnsearch.serving.guard import ApiKeys, key_of
from rnnsearch.serving.languages import language_name
from rnnsearch.serving.limits import RefusalError, json_response
from rnnsearch.serving.routes import Name, Text, as_list, first_fault
from rnnsearch.serving.service import Service
from rnnsearch.system.parsing import parse_json

AUTO = "auto"
Fields = TypeVar("Fields", bound="DetectFields")


class DetectFields(BaseModel):
    """A text, or several. Other fields of LibreTranslate's clients are ignored."""

    q: Text | list[Text] = Field(description="the text, or several", examples=["the house"])
    api_key: str | None = None


class TranslateFields(DetectFields):
    """A text, or several, and its languages."""

    source: Name = Field(min_length=1, description="language code, or auto", examples=["en"])
    target: Name = Field(min_length=1, description="language code", examples=["fr"])
    format: Literal["text"] = "text"
    alternatives: int = Field(0, ge=0, description="further translations", examples=[0])


def libretranslate(service: Service, keys: ApiKeys) -> APIRouter:
    """Returns the routes of LibreTranslate."""
    router = APIRouter(tags=["LibreTranslate"])
    models = service.models

    @router.post(
        "/translate", summary="Translate, as LibreTranslate does", openapi_extra=_body_of(TranslateFields)
    )
    async def translate(request: Request) -> Response:
        return json_response(await _translated(service, await _fields(request, TranslateFields, keys)))

    @router.post(
        "/detect",
        summary="Identify the language of a text",
        openapi_extra=_body_of(DetectFields),
    )
    async def detect_language(request: Request) -> Response:
        text = "\n".join(as_list((await _fields(request, DetectFields, keys)).q))
        if len(text) > service.limits.characters:
            raise RefusalError(400, f"the text has more than {service.limits.characters:,} characters")
        return json_response([_confidence(*each) for each in service.identifier.rank(text, models.languages)])

    @router.get("/languages", summary="The languages that are served")
    async def languages() -> Response:
        known = models.languages
        return json_response([_language(code) | {"targets": models.targets(code)} for code in known])

    @router.post("/frontend/settings", include_in_schema=False)
    @router.get("/frontend/settings", summary="Settings for LibreTranslate's own page")
    async def settings() -> Response:
        first = next(iter(models))
        settings = {
            "apiKeys": keys.needed,
            "charLimit": service.limits.characters,
            "filesTranslation": False,
            "frontendTimeout": 500,
            "keyRequired": keys.needed,
            "language": {"source": _language(first.source), "target": _language(first.target)},
            "suggestions": False,
            "supportedFilesFormat": [],
        }
        return json_response(settings)

    return router


async def _translated(service: Service, fields: TranslateFields) -> dict[str, Any]:
    """Returns the answer of `/translate`. Raises RefusalError."""
    models, texts, source = service.models, as_list(fields.q), fields.source
    answer: dict[str, Any] = {}
    if source == AUTO:
        sources = [code for code in models.languages if fields.target in models.targets(code)]
        found = [*service.identifier.rank("\n".join(texts), sources), *((code, 0.0) for code in sources)]
        source, probability = found[0] if found else (AUTO, 0.0)
        answer["detectedLanguage"] = [_confidence(source, probability)] * len(texts)
    for code in (source, fields.target):
        if code not in models.languages:
            known = ", ".join(models.languages)
            raise RefusalError(400, f"{code[:20]!r} is not supported; the languages are {known}")
    if source == fields.target:
        answer["translatedText"] = texts
    else:
        try:
            model = models.choose(None, source, fields.target)
        except RefusalError as refusal:
            raise RefusalError(400, refusal.message) from None
        ranks = range(1 + fields.alternatives)
        begun = service.begin_translation(model, texts, None, len(ranks))
        every = [[one, *one.alternatives] for one in await service.translated(begun)]
        # For each rank, texts made of the sentences' translations of that rank, or of their last one.
        best, *others = [begun.joined([some[: rank + 1][-1].text for some in every]) for rank in ranks]
        answer["translatedText"] = best
        if others:
            answer["alternatives"] = [list(some) for some in zip(*others, strict=True)]
    return answer if isinstance(fields.q, list) else {name: value[0] for name, value in answer.items()}


def _confidence(code: str, probability: float) -> dict[str, Any]:
    return {"language": code, "confidence": round(100 * probability, 1)}


def _language(code: str) -> dict[str, Any]:
    return {"code": code, "name": language_name(code)}


def _body_of(fields: type[BaseModel]) -> dict[str, Any]:
    """Returns the OpenAPI description of a route that takes its fields as JSON or as a form."""
    content = {"schema": fields.model_json_schema()}
    kinds = ("application/json", "application/x-www-form-urlencoded")
    return {"requestBody": {"content": dict.fromkeys(kinds, content)}}


async def _fields(request: Request, kind: type[Fields], keys: ApiKeys) -> Fields:
    """Returns the fields of the query and of the body; the body's take precedence. Raises RefusalError for an
    invalid body or field, and for a missing or wrong key."""
    fields = _by_name(request.query_params.multi_items())
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json":
        try:
            body = parse_json(await request.body())
        except ValueError as error:
            raise RefusalError(400, f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise RefusalError(400, "the body is not a JSON object")
        fields |= body
    elif media_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        async with request.form(max_files=0, max_fields=1_000) as form:
            fields |= _by_name(
                [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
            )
    key = fields.get("api_key") or key_of(request.headers)
    if not keys.allows(key if isinstance(key, str) else None):
        raise RefusalError(403, "an API key is needed" if not key else "the API key is not valid")
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise RefusalError(400, first_fault(error.errors())) from None


def _by_name(items: list[tuple[str, str]]) -> dict[str, Any]:
    """Returns name → value; the value of a repeated name is a list."""
    lists: dict[str, list[str]] = {}
    for name, value in items:
        lists.setdefault(name, []).append(value)
    return {name: every if len(every) > 1 else every[0] for name, every in lists.items()}
