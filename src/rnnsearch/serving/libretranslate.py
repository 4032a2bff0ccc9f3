"""LibreTranslate's API, so that its clients work unchanged. Fields are JSON, a form or in the query; errors
are `{"error": "…"}`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, Field, StrictStr, ValidationError

from rnnsearch.serving.routes import (
    OneOrMore,
    as_list,
    check_key,
    first_fault,
    json_response,
    key_of,
    rendered,
)
from rnnsearch.serving.service import Service, Translated
from rnnsearch.serving.work_queue import check_limit
from rnnsearch.system.files import parse_json
from rnnsearch.text.formats.readers import LANGUAGES
from rnnsearch.translation.markup import Markup

PATHS = ("/translate", "/detect", "/languages", "/frontend/settings", "/suggest", "/translate_file")
Fields = TypeVar("Fields", bound="DetectFields")

LONGEST_SAMPLE = 2_000
"""Characters of a text that are used to identify its language: more would not make it more certain."""


class Detected(NamedTuple):
    """The probable language of a text, and its probability."""

    language: str
    probability: float

    def to_dict(self) -> dict[str, Any]:
        return {"language": self.language, "confidence": round(100 * self.probability, 1)}


@cache
def _langid() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


class Identifier:
    """A model that identifies languages; it is loaded at once."""

    def __init__(self) -> None:
        self._model = _langid()
        self.rank("a")

    def rank(self, text: str) -> list[Detected]:
        """Returns all languages with their probabilities, most probable first; nothing for an empty text."""
        ranked = self._model.rank(text[:LONGEST_SAMPLE]) if text.strip() else []
        return [Detected(str(code), float(probability)) for code, probability in ranked]

    def served(self, text: str, sources: Sequence[str], target: str) -> Detected:
        """Returns the language of a text to be translated: one of the sources or the target, unless another
        one is more probable than all others together."""
        ranked = self.rank(text)
        known = [one for one in ranked if one.language in (*sources, target)]
        best = [one for one in ranked[:1] if one.probability > 0.5] or known
        return best[0] if best else Detected([*sources, target][0], 0.0)


class DetectFields(BaseModel):
    """A text, or several. Other fields of LibreTranslate's clients are ignored."""

    q: OneOrMore


class TranslateFields(DetectFields):
    """A text, or several, and its languages."""

    source: StrictStr = Field(min_length=1)
    target: StrictStr = Field(min_length=1)
    format: Literal["text", "html"] = "text"


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
        codes = sorted({code for model in models for code in (model.source, model.target) if code})
        targets = {code: [model.target for model in models if model.source == code] for code in codes}
        return json_response(
            [_named(code) | {"targets": list(dict.fromkeys(targets[code]))} for code in codes]
        )

    @router.get("/frontend/settings")
    async def settings() -> Response:
        pair = {"source": _named(models[0].source), "target": _named(models[0].target)}
        limits = {"charLimit": service.limits.characters, "frontendTimeout": 500, "language": pair}
        off: dict[str, Any] = {"filesTranslation": False, "suggestions": False, "supportedFilesFormat": []}
        return json_response(limits | off | dict.fromkeys(("apiKeys", "keyRequired"), bool(keys)))

    @router.post("/suggest")
    @router.post("/translate_file")
    async def off(request: Request) -> Response:
        what = "Suggestions" if request.url.path == "/suggest" else "Files translation"
        raise HTTPException(403, f"{what} are disabled on this server.")

    return router


async def _translated(service: Service, identifier: Identifier, fields: TranslateFields) -> Response:
    """Returns the answer of `/translate`. With source `auto`, each text is judged by itself; one that is in
    the target language, or among others in none that is served, stays as it is. Raises HTTPException."""
    texts, target, limits = as_list(fields.q), fields.target, service.limits
    check_limit("the request", len(texts), "texts", limits.sentences)
    check_limit("the request", sum(map(len, texts)), "characters", limits.characters)
    pages = [Markup(text) if fields.format == "html" else None for text in texts]
    plain = [page.texts if page else [text] for page, text in zip(pages, texts, strict=True)]
    found = [Detected(fields.source, 1.0)] * len(texts)
    sources = [model.source for model in service.models if model.target == target]
    if fields.source == "auto":
        found = await asyncio.to_thread(
            lambda: [identifier.served("\n".join(some), sources, target) for some in plain]
        )
    answered: list[list[Translated]] = [[] for _ in texts]
    languages = {one.language for one in found}
    if not languages.intersection([*sources, target]):
        service.choose(None, found[0].language if found else target, target)  # refuses it
    for language in languages.intersection(sources):
        numbers = [number for number, one in enumerate(found) if one.language == language]
        some = [text for number in numbers for text in plain[number]]
        results = iter(await service.translate(service.choose(None, language, target), some))
        for number in numbers:
            answered[number] = list(islice(results, len(plain[number])))

    def translation(text: str, page: Markup | None, translated: list[Translated]) -> str:
        if page and translated:
            return page.rendered(translated)
        return "".join(p.joined([one.text for one in results]) for p, results in translated) or text

    def answer() -> dict[str, Any]:
        lists: dict[str, list[Any]] = {"translatedText": list(map(translation, texts, pages, answered))}
        if fields.source == "auto":
            lists["detectedLanguage"] = [one.to_dict() for one in found]
        return lists if isinstance(fields.q, list) else {name: value[0] for name, value in lists.items()}

    return await rendered(answer)


def _named(code: str) -> dict[str, Any]:
    return {"code": code, "name": LANGUAGES[code][0] if code in LANGUAGES else code}


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
