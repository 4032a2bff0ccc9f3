"""LibreTranslate's API, so that its clients work unchanged. Fields are JSON, a form or in the query; errors
are `{"error": "…"}`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, Field, StrictStr, ValidationError

from rnnsearch.serving.guard import check_key, key_of
from rnnsearch.serving.limits import check_limit, json_response
from rnnsearch.serving.routes import OneOrMore, as_list, first_fault, rendered
from rnnsearch.serving.service import Service, Translated
from rnnsearch.system.files import parse_json
from rnnsearch.translation.languages import NAMES, Detected, Identifier
from rnnsearch.translation.markup import Markup

Fields = TypeVar("Fields", bound="DetectFields")


class DetectFields(BaseModel):
    """A text, or several. Other fields of LibreTranslate's clients are ignored."""

    q: OneOrMore


class TranslateFields(DetectFields):
    """A text, or several, and its languages. alternatives: further translations, of plain text only."""

    source: StrictStr = Field(min_length=1)
    target: StrictStr = Field(min_length=1)
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0)


def libretranslate(service: Service, keys: Collection[str]) -> APIRouter:
    """Returns the routes of LibreTranslate."""
    router, models, identifier = APIRouter(), service.models, Identifier()

    @router.post("/translate")
    async def translate(request: Request) -> Response:
        return await _translated(service, identifier, await _fields(request, TranslateFields, keys))

    @router.post("/detect")
    async def detect(request: Request) -> Response:
        text = "\n".join(as_list((await _fields(request, DetectFields, keys)).q))
        check_limit("the text", len(text), "characters", service.limits.characters)
        return json_response([one.to_dict() for one in identifier.rank(text)[:3]])

    @router.get("/languages")
    async def languages() -> Response:
        return json_response([_named(code) | {"targets": models.targets(code)} for code in models.languages])

    @router.post("/frontend/settings", include_in_schema=False)
    @router.get("/frontend/settings")
    async def settings() -> Response:
        pair = {"source": _named(models[0].source), "target": _named(models[0].target)}
        settings = {"charLimit": service.limits.characters, "frontendTimeout": 500, "language": pair}
        off: dict[str, Any] = dict.fromkeys(("filesTranslation", "suggestions"), False) | {
            "supportedFilesFormat": []
        }
        return json_response(settings | off | dict.fromkeys(("apiKeys", "keyRequired"), bool(keys)))

    @router.post("/suggest")
    async def suggest() -> Response:
        raise HTTPException(403, "Suggestions are disabled on this server.")

    @router.post("/translate_file")
    async def translate_file() -> Response:
        raise HTTPException(403, "Files translation are disabled on this server.")

    return router


async def _translated(service: Service, identifier: Identifier, fields: TranslateFields) -> Response:
    """Returns the answer of `/translate`. With source `auto`, each text is judged by itself; one that is in
    the target language, or among others in none that is served, stays as it is. Raises HTTPException."""
    models, texts, target, ranks = service.models, as_list(fields.q), fields.target, 1 + fields.alternatives
    check_limit("the request", len(texts), "texts", service.limits.sentences)
    check_limit("the request", sum(map(len, texts)), "characters", service.limits.characters)
    pages = [Markup(text) if fields.format == "html" else None for text in texts]
    plain = [page.texts if page else [text] for page, text in zip(pages, texts, strict=True)]
    found = [Detected(fields.source, 1.0)] * len(texts)
    sources = [model.source for model in models if model.target == target]
    if fields.source == "auto":
        found = await asyncio.to_thread(
            lambda: [identifier.served("\n".join(some), sources, target) for some in plain]
        )
    answered: list[list[Translated] | None] = [None] * len(texts)
    languages = {one.language for one in found}
    if target not in (*models.languages, *languages) or not languages.intersection([*sources, target]):
        models.choose(None, found[0].language, target)  # refuses it
    for language in languages.intersection(sources):
        numbers = [number for number, one in enumerate(found) if one.language == language]
        model = models.choose(None, language, target)
        some = [text for number in numbers for text in plain[number]]
        results = iter(await service.translate(model, some, nbest=ranks))
        for number in numbers:
            answered[number] = list(islice(results, len(plain[number])))

    def answer() -> dict[str, Any]:
        every = [_ranked(*one, ranks) for one in zip(texts, pages, answered, strict=True)]
        lists: dict[str, list[Any]] = {"translatedText": [best for best, *_ in every]}
        if fields.source == "auto":
            lists["detectedLanguage"] = [one.to_dict() for one in found]
        if fields.alternatives:
            lists["alternatives"] = [others for _, *others in every]
        return lists if isinstance(fields.q, list) else {name: value[0] for name, value in lists.items()}

    return await rendered(answer)


def _ranked(text: str, page: Markup | None, answered: Sequence[Translated] | None, ranks: int) -> list[str]:
    """Returns the translations of a text: for each rank, that of every sentence, or its last one."""
    if not answered:
        return [text]
    if page:
        return [page.rendered(answered)]
    ((paragraph, results),) = answered
    every = [[one.text, *(other.text for other in one.alternatives)] for one in results]
    return [paragraph.joined([some[: rank + 1][-1] for some in every]) for rank in range(ranks)]


def _named(code: str) -> dict[str, Any]:
    return {"code": code, "name": NAMES.get(code, code)}


async def _fields(request: Request, kind: type[Fields], keys: Collection[str]) -> Fields:
    """Returns the fields of the query and of the body; the body's take precedence. Raises HTTPException for
    an invalid body or field, and for a missing or wrong key."""
    fields: dict[str, Any] = {}
    for items in (request.query_params, await request.form(max_files=0, max_fields=1_000)):
        for name in items:
            values = items.getlist(name)
            fields[name] = values if len(values) > 1 else values[0]
    if "json" in request.headers.get("content-type", ""):
        try:
            fields.update(parse_json(await request.body()))
        except (ValueError, TypeError) as error:
            raise HTTPException(400, f"the body is not a JSON object: {error}") from None
    check_key(fields.get("api_key") or key_of(request.headers), keys, 403)
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise HTTPException(400, first_fault(error.errors())) from None
