"""LibreTranslate's API, so that its clients work unchanged. Fields are JSON, a form or in the
query; errors are `{"error": "…"}`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, Field, StrictStr

from rnnsearch.serve.html import Markup
from rnnsearch.serve.paragraphs import Translated
from rnnsearch.serve.routes import (
    OneOrMore,
    as_list,
    check_key,
    in_thread,
    json_response,
    key_of,
    rendered,
)
from rnnsearch.serve.service import Service
from rnnsearch.serve.work_queue import check_limit
from rnnsearch.system.files import parse_json
from rnnsearch.text.language_codes import LANGUAGES, base
from rnnsearch.text.languages import ranked_languages

PATHS = ("/translate", "/detect", "/languages", "/frontend/settings", "/suggest", "/translate_file")
Fields = TypeVar("Fields", bound="DetectFields")

Detected = dict[str, Any]
"""The `language` of a text, and the `confidence` in it, in percent."""
SURE = 60
"""Percent that a language has if it is clear."""


def detected(text: str) -> list[Detected]:
    """Returns all languages, most probable first; nothing for an empty text."""
    return [
        {"language": code, "confidence": round(100 * p, 1)} for code, p in ranked_languages(text)
    ]


def source_language(text: str, sources: Sequence[str]) -> Detected:
    """Returns the language of a text to be translated: one that is clear, or else, as of most
    single words, the most probable one of the sources."""
    ranked = detected(text)
    known = [one for one in ranked if one["language"] in map(base, sources)]
    clear = [one for one in ranked[:1] if one["confidence"] > SURE]
    return [*clear, *known, {"language": sources[0], "confidence": 0.0}][0]


class DetectFields(BaseModel):
    """A text, or several. Other fields of LibreTranslate's clients are ignored."""

    q: OneOrMore


class TranslateFields(DetectFields):
    """A text, or several, and its languages."""

    source: StrictStr = Field(min_length=1)
    target: StrictStr = Field(min_length=1)
    format: Literal["text", "html"] = "text"

    @property
    def auto(self) -> bool:
        """Tells whether the language of each text is to be identified."""
        return self.source.lower() == "auto"


def libretranslate(service: Service) -> APIRouter:
    """Returns the routes of LibreTranslate. Loads the model that identifies languages."""
    router, models, options = APIRouter(), service.models, service.options
    ranked_languages("a")

    @router.post("/translate")
    async def translate(request: Request) -> Response:
        """Translates `q`, one text or several: `source` (or auto), `target`, `format` (text or
        html)."""
        return await _translated(service, await _fields(request, TranslateFields, options.keys))

    @router.post("/detect")
    async def detect(request: Request) -> Response:
        """Identifies the language of `q`."""
        text = "\n".join(as_list((await _fields(request, DetectFields, options.keys)).q))
        check_limit("the text", len(text), "characters", options.characters)
        return json_response(detected(text)[:3])

    @router.get("/languages")
    async def languages() -> Response:
        """Lists the languages and those into which they are translated."""
        pairs = {(model.source, model.target) for model in models}
        codes = sorted({*chain(*pairs)} - {""})
        into = {code: sorted(to for of, to in pairs if of == code) for code in codes}
        return json_response([_named(code) | {"targets": into[code]} for code in codes])

    @router.get("/frontend/settings")
    async def settings() -> Response:
        """Answers with the settings that LibreTranslate's page reads."""
        shown = {
            "apiKeys": bool(options.keys),
            "keyRequired": bool(options.keys),
            "charLimit": options.characters,
            "filesTranslation": False,
            "suggestions": False,
            "frontendTimeout": 500,
            "supportedFilesFormat": [],
            "language": {"source": _named(models[0].source), "target": _named(models[0].target)},
        }
        return json_response(shown)

    @router.post("/suggest")
    @router.post("/translate_file")
    async def off(request: Request) -> Response:
        """Refuses what this service does not have."""
        what = "Suggestions" if request.scope["path"] == "/suggest" else "Files translation"
        raise HTTPException(403, f"{what} are disabled on this server.")

    return router


class _Text:
    """A text of a request, its language, and its translation once it is made. pieces: what is to be
    translated, in HTML the text between its tags. sources: languages that can be translated."""

    def __init__(self, text: str, fields: TranslateFields, sources: Sequence[str]) -> None:
        self.text, self.page = text, Markup(text) if fields.format == "html" else None
        self.pieces = self.page.texts if self.page else [text]
        self.detected = (
            source_language("\n".join(self.pieces), sources)
            if fields.auto
            else {"language": fields.source}
        )
        self.translated: list[Translated] = []

    def answer(self, each_step: Callable[[], object]) -> str:
        """Returns the translation; without one, the text itself."""
        if self.page and self.translated:
            return self.page.rendered(self.translated, each_step)
        made = (text.joined([one.text for one in results]) for text, results in self.translated)
        return "".join(made) or self.text


async def _translated(service: Service, fields: TranslateFields) -> Response:
    """Returns the answer of `/translate`. With source `auto`, each text is judged by itself; one
    that is in the target language, or among others in none that is served, stays as it is. Raises
    HTTPException."""
    given, target, options = as_list(fields.q), fields.target, service.options
    check_limit("the request", len(given), "texts", options.sentences)
    check_limit("the request", sum(map(len, given)), "characters", options.characters)
    sources = [model.source for model in service.models if base(model.target) == base(target)]
    if not sources:
        service.choose(None, None if fields.auto else fields.source, target)  # refuses it

    texts = await in_thread(lambda _: [_Text(text, fields, sources) for text in given])
    languages = {text.detected["language"] for text in texts}
    served = {one for one in languages if base(one) in map(base, sources)}
    if texts and not served and base(target) not in map(base, languages):
        service.choose(None, texts[0].detected["language"], target)  # refuses it
    for language in served:
        some = [text for text in texts if text.detected["language"] == language]
        pieces = [piece for text in some for piece in text.pieces]
        results = iter(await service.translate(service.choose(None, language, target), pieces))
        for text in some:
            text.translated = list(islice(results, len(text.pieces)))

    def answer(each_step: Callable[[], object]) -> dict[str, Any]:
        lists: dict[str, list[Any]] = {"translatedText": [one.answer(each_step) for one in texts]}
        if fields.auto:
            lists["detectedLanguage"] = [text.detected for text in texts]
        several = isinstance(fields.q, list)
        return {name: value if several else value[0] for name, value in lists.items()}

    return await rendered(answer)


def _named(code: str) -> dict[str, Any]:
    return {"code": code, "name": LANGUAGES.get(base(code), [code])[0]}


async def _fields(request: Request, kind: type[Fields], keys: Collection[str]) -> Fields:
    """Returns the fields of the query and of the body; the body's take precedence. Raises
    HTTPException for an invalid body, and for a missing or wrong key, and ValidationError for an
    invalid field."""
    form = await request.form(max_files=0, max_fields=1_000)
    fields: dict[str, Any] = {**request.query_params, **form}
    if len(several := form.getlist("q") or request.query_params.getlist("q")) > 1:
        fields["q"] = several
    if "json" in request.headers.get("content-type", ""):
        try:
            body = parse_json(await request.body())
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise HTTPException(400, 'the body is not a JSON object, as in {"q": "…", "source": …}')
        fields.update(body)
    check_key(fields.get("api_key") or key_of(request.headers), keys, 403)
    return kind.model_validate(fields)
