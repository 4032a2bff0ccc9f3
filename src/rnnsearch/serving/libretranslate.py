"""LibreTranslate's API, so that its clients work unchanged: fields come as JSON, as a form or in the query; errors are `{"error": "…"}`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from rnnsearch.serving.keys import Keys, key_of
from rnnsearch.serving.languages import detect, language_name
from rnnsearch.serving.refusal import RefusalError
from rnnsearch.serving.routes import json_response, shown
from rnnsearch.serving.schema import plain
from rnnsearch.serving.service import Service
from rnnsearch.system.parsing import parse_json

AUTO = "auto"
_FIELDS = {
    "q": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}], "example": "the house"},
    "source": {"type": "string", "description": "language code, or auto", "example": "en"},
    "target": {"type": "string", "example": "fr"},
    "format": {"type": "string", "enum": ["text"]},
    "alternatives": {"type": "integer", "example": 0},
    "api_key": {"type": "string"},
}


def _body(*names: str) -> dict[str, Any]:
    """The description of a route whose fields come in any of the usual ways."""
    schema = {"type": "object", "properties": {name: _FIELDS[name] for name in names}, "required": list(names[:1])}
    return {"requestBody": {"content": {kind: {"schema": schema} for kind in ("application/json", "application/x-www-form-urlencoded")}}}


def libretranslate(service: Service, keys: Keys) -> APIRouter:
    router = APIRouter(tags=["LibreTranslate"])
    models = service.models

    @router.post(
        "/translate",
        summary="Translate, as LibreTranslate does",
        openapi_extra=_body("q", "source", "target", "format", "alternatives", "api_key"),
        responses=shown({"translatedText": "la maison"}),
    )
    async def translate(request: Request) -> Response:
        fields = await _fields(request, keys)
        texts, several = _texts(fields)
        source, target = _text_field(fields, "source"), _text_field(fields, "target")
        if fields.get("format", "text") != "text":
            raise RefusalError(400, "format: only text is supported")
        alternatives = _count(fields.get("alternatives", 0))
        answer: dict[str, Any] = {}
        if source == AUTO:
            sources = [model.source for model in models if model.target == target]
            found = detect("\n".join(texts), sources)
            source = found[0][0] if found else (sources[0] if sources else AUTO)
            detected = {"language": source, "confidence": round(100 * found[0][1], 1) if found else 0}
            answer["detectedLanguage"] = [detected] * len(texts) if several else detected
        for code in (source, target):
            if code not in models.languages:
                raise RefusalError(400, f"{code[:20]!r} is not supported; the languages are {', '.join(models.languages)}")
        if source == target:
            return json_response(answer | {"translatedText": texts if several else texts[0]})
        try:
            model = models.choose(None, source, target)
        except RefusalError as refusal:
            raise RefusalError(400, refusal.message) from None
        begun = service.begin_translation(model, texts, None, 1 + alternatives)
        results = begun.by_text(await service.finished(begun.futures))

        def rank(number: int) -> list[str]:
            """The texts of which each sentence is its translation of this rank, or the last that it has."""
            chosen = [[[one, *one.alternatives][: number + 1][-1].text for one in translated] for translated in results]
            return [paragraphs.joined(lines) for paragraphs, lines in zip(begun.paragraphs, chosen, strict=True)]

        best, others = rank(0), [rank(number + 1) for number in range(alternatives)]
        answer["translatedText"] = best if several else best[0]
        if alternatives:
            each = [[other[number] for other in others] for number in range(len(texts))]
            answer["alternatives"] = each if several else each[0]
        return json_response(answer)

    @router.post(
        "/detect",
        summary="Which of the served languages a text is in",
        openapi_extra=_body("q", "api_key"),
        responses=shown([{"language": "en", "confidence": 99.8}]),
    )
    async def detect_language(request: Request) -> Response:
        fields = await _fields(request, keys)
        texts, _ = _texts(fields)
        if sum(map(len, texts)) > service.limits.characters:
            raise RefusalError(400, f"the text has more than {service.limits.characters:,} characters")
        found = detect("\n".join(texts), models.languages)
        return json_response([{"language": code, "confidence": round(100 * probability, 1)} for code, probability in found])

    @router.get(
        "/languages",
        summary="The languages that are served",
        responses=shown([{"code": "en", "name": "English", "targets": ["fr"]}]),
    )
    async def languages() -> Response:
        return json_response(
            [
                {"code": code, "name": language_name(code), "targets": [model.target for model in models if model.source == code]}
                for code in models.languages
            ]
        )

    @router.post("/frontend/settings", include_in_schema=False)
    @router.get("/frontend/settings", summary="What LibreTranslate's own page asks for")
    async def settings() -> Response:
        first = next(iter(models))
        return json_response(
            {
                "apiKeys": keys.needed,
                "charLimit": service.limits.characters,
                "filesTranslation": False,
                "frontendTimeout": 500,
                "keyRequired": keys.needed,
                "language": {
                    "source": {"code": first.source, "name": language_name(first.source)},
                    "target": {"code": first.target, "name": language_name(first.target)},
                },
                "suggestions": False,
                "supportedFilesFormat": [],
            }
        )

    return router


async def _fields(request: Request, keys: Keys) -> dict[str, Any]:
    """The fields of the query, and over them those of the body. Raises RefusalError for other bodies, and without a key."""
    fields: dict[str, Any] = {name: (every if len(every) > 1 else every[0]) for name, every in _lists(request.query_params.multi_items())}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        try:
            body = parse_json(await request.body())
        except ValueError as error:
            raise RefusalError(400, f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise RefusalError(400, "the body is not a JSON object")
        fields |= body
    elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        async with request.form(max_files=0, max_fields=1_000) as form:
            given = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
        fields |= {name: (every if len(every) > 1 else every[0]) for name, every in _lists(given)}
    key = fields.get("api_key") or key_of(request.scope["headers"])
    if not keys.allows(key if isinstance(key, str) else None):
        raise RefusalError(403, "an API key is needed" if not key else "the API key is not valid")
    return fields


def _lists(items: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """A form says a list by naming its field several times."""
    found: dict[str, list[str]] = {}
    for name, value in items:
        found.setdefault(name, []).append(value)
    return list(found.items())


def _texts(fields: dict[str, Any]) -> tuple[list[str], bool]:
    """The texts of q, and whether it is a list."""
    texts = fields.get("q")
    if texts is None:
        raise RefusalError(400, "q is missing: the text to translate")
    every = texts if isinstance(texts, list) else [texts]
    for text in every:
        if not isinstance(text, str):
            raise RefusalError(400, "q is not a text or a list of texts")
        _check_plain(text, "q")
    return every, isinstance(texts, list)


def _text_field(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise RefusalError(400, f"{name} is missing: a language code")
    _check_plain(value, name)
    return value


def _check_plain(text: str, name: str) -> None:
    try:
        plain(text)
    except ValueError as error:
        raise RefusalError(400, f"{name}: {error}") from None


def _count(value: object) -> int:
    try:
        number = int(value) if isinstance(value, (int, str)) and len(str(value)) < 10 else -1
    except ValueError:
        number = -1
    if number < 0:
        raise RefusalError(400, "alternatives is not a number of translations")
    return number
