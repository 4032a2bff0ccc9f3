"""The routes of `/v1`: translation (as a whole or as a stream of events), alignment and scores.

The request classes check types, sizes and invalid characters.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, Field, StrictInt, StrictStr, model_validator

from rnnsearch.records import Translation
from rnnsearch.serving.limits import RefusalError, json_response
from rnnsearch.serving.service import BegunTranslation, SentencePlace, Service
from rnnsearch.word_links import format_links

QUIET_SECONDS = 10.0
"""Seconds without an event after which a comment is sent, so that no proxy closes the connection."""
_HYPOTHESIS = ("text", "tokens", "score", "log_probabilities", "confidence", "finished")
_SCORED = ("score", "log_probabilities", "tokens")


def _checked_text(text: str) -> str:
    """Returns the text. Raises ValueError for invalid characters."""
    if "\0" in text:
        raise ValueError("the text holds a NUL byte")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text holds half of a surrogate pair")
    return text


Text = Annotated[StrictStr, AfterValidator(_checked_text)]
Name = Annotated[StrictStr, Field(max_length=100), AfterValidator(_checked_text)]


def as_list(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else text


class _Request(BaseModel, extra="forbid", frozen=True):
    model: Name | None = Field(
        None, description="name of the model; needed only if the languages fit several models"
    )
    source: Name | None = Field(None, description="language code of the text")
    target: Name | None = Field(None, description="language code of the translation")


_TEXT = {
    "text": "The agreement on the European Economic Area was signed in August 1992.",
    **{"source": "en", "target": "fr", "beam": 5, "nbest": 2, "alignment": True},
}


class TranslateRequest(_Request, json_schema_extra={"examples": [_TEXT]}):
    """One text or several. Texts are split into sentences; their white space is kept."""

    text: Text | list[Text] = Field(description="the text, or several")
    beam: StrictInt | None = Field(None, ge=1, description="beam size; default: that of the model")
    nbest: StrictInt | None = Field(
        None, ge=1, description="translations of each sentence, best first; default 1"
    )
    alignment: bool = Field(False, description="with the attention weights, target × source")
    links: bool = Field(False, description="with word links in Pharaoh format, source-target")

    def sentence(self, source: str, result: Translation) -> dict[str, Any]:
        """Returns a sentence and its translations, best first, with the fields that the request asks for."""
        keys = [*_HYPOTHESIS, *["alignment"] * self.alignment, *["links"] * self.links]
        hypotheses = [parts_of(one, keys) for one in (result, *result.alternatives)]
        return {"source": source, "source_tokens": result.source_tokens, "hypotheses": hypotheses}


class _Pairs(_Request):
    source_text: Text | list[Text] = Field(description="the sentence, or several")
    target_text: Text | list[Text] = Field(description="its translation, or one for each sentence")

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if isinstance(self.source_text, str) != isinstance(self.target_text, str):
            raise ValueError("source_text and target_text must be two texts, or two lists")
        sources, targets = map(len, self.sides)
        if sources != targets:
            raise ValueError(f"source_text has {sources} sentences, but target_text has {targets}")
        return self

    @property
    def sides(self) -> tuple[list[str], list[str]]:
        return as_list(self.source_text), as_list(self.target_text)


_PAIR = {"source_text": "the house", "target_text": "la maison", "source": "en", "target": "fr"}


class AlignRequest(_Pairs, json_schema_extra={"examples": [_PAIR | {"posterior": True}]}):
    """Sentences with their translations, sentence by sentence."""

    posterior: bool = Field(
        False,
        description="the alignment posterior, which knows the aligned word, instead of attention weights",
    )
    alignment: bool = Field(True, description="with the matrices, target × source; without, the links alone")


class ScoreRequest(_Pairs, json_schema_extra={"examples": [_PAIR]}):
    """Sentences with their translations, sentence by sentence."""


def parts_of(result: Translation, keys: Sequence[str]) -> dict[str, Any]:
    """Returns these fields of a translation as plain data for JSON; numbers have five decimals."""
    seen = result.alignment if "alignment" in keys else result.alignment[:0]  # rounding a matrix takes long
    parts = replace(result, alternatives=[], alignment=seen).to_dict()
    if "links" in keys:
        parts["links"] = format_links(result.links())
    return {key: parts[key] for key in keys}


_MESSAGES = {
    "missing": "it is missing",
    "greater_than_equal": "it is too small",
    "extra_forbidden": "there is no such field",
    "string_type": "it is not a text",
    "int_type": "it is not a whole number",
    "int_parsing": "it is not a whole number",
    "bool_type": "it is not true or false",
    "bool_parsing": "it is not true or false",
    "model_attributes_type": "the body is not a JSON object",
}
"""Type of a validator's error → a plain message."""


def first_fault(errors: Sequence[Mapping[str, Any]]) -> str:
    """Describes the first of a validator's errors in a line: the field, the position in its list, and the
    fault."""
    # A field that is one text or a list has errors of both; the error of a list's member says more.
    error = next((one for one in errors if any(isinstance(part, int) for part in one["loc"])), errors[0])
    fields = [str(part) for part in error["loc"] if part not in ("body", "query")]
    number = next((f" {part + 1}" for part in error["loc"] if isinstance(part, int)), "")
    what = _MESSAGES.get(error["type"], str(error["msg"]).removeprefix("Value error, "))
    return f"{fields[0]}{number}: {what}" if fields else what


def v1(service: Service) -> APIRouter:
    """Returns the routes of `/v1`."""
    router = APIRouter(prefix="/v1", tags=["rnnsearch"])
    models = service.models
    events = Query(False, description="answer with server-sent events: words, sentence, done, error")

    @router.get("/models", summary="The models that are served")
    async def list_models() -> Response:
        return json_response({"models": [model.to_dict() for model in models]})

    @router.post("/translate", summary="Translate texts")
    async def translate(request: TranslateRequest, stream: bool = events) -> Response:
        """Each text is split into sentences and put together again with its white space.

        With `stream=true` the answer is a stream of events: `words` (the words of a sentence that greedy
        search, `beam` 1, has found so far), `sentence` (a finished sentence), `done` (the whole answer) or
        `error`.
        """
        model = models.choose(request.model, request.source, request.target)
        growing = Growing() if stream else None
        texts = as_list(request.text)
        begun = service.begin_translation(model, texts, request.beam, request.nbest, growing)
        if growing is not None:
            events = _stream(service, request, begun, growing)
            return StreamingResponse(events, media_type="text/event-stream")
        results = await service.translated(begun)
        return json_response(
            _translation_answer(begun, results, list(map(request.sentence, begun.sources, results)))
        )

    @router.post("/align", summary="Align sentences with given translations")
    async def align(request: AlignRequest) -> Response:
        """The answer has the links of forced decoding in Pharaoh format (source-target, counted from 0), and
        the matrix, target × source."""
        keys = ["source_tokens", "tokens", "links", *["alignment"] * request.alignment]
        return await _forced(service, request, keys, request.posterior)

    @router.post("/score", summary="Score given translations")
    async def score(request: ScoreRequest) -> Response:
        """The answer has log p(translation | source) in nats, and that of each word; the last is the end of
        sentence."""
        return await _forced(service, request, _SCORED, posterior=False)

    return router


async def _forced(service: Service, request: _Pairs, keys: Sequence[str], posterior: bool) -> Response:
    """Returns these fields of the forced decoding of each pair. Raises RefusalError."""
    model = service.models.choose(request.model, request.source, request.target)
    futures = service.begin_forcing(model, *request.sides, posterior=posterior)
    pairs = [parts_of(result, keys) for result in await service.finished(futures)]
    return json_response({"model": model.name, "pairs": pairs})


def _translation_answer(
    begun: BegunTranslation, results: Sequence[Translation], sentences: Sequence[Any]
) -> dict[str, Any]:
    """Returns the answer to a translation request. sentences: the answers for single sentences."""
    each = zip(begun.joined([result.text for result in results]), begun.by_text(sentences), strict=True)
    texts = [{"text": text, "sentences": some} for text, some in each]
    return {"model": begun.model.name, "translations": texts}


class Growing:
    """The latest words of each unfinished sentence. A slow client misses intermediate words, and nothing
    piles up."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._latest: dict[SentencePlace, Translation] = {}
        self._loop = asyncio.get_running_loop()

    def __call__(self, place: SentencePlace, so_far: Translation) -> None:
        """Keeps the words; called in the models' thread."""
        self._loop.call_soon_threadsafe(self._keep, place, so_far)

    def _keep(self, place: SentencePlace, so_far: Translation) -> None:
        self._latest[place] = so_far
        self.changed.set()

    def take(self, done: set[SentencePlace]) -> list[tuple[SentencePlace, Translation]]:
        """Returns the new words of unfinished sentences. done: the finished ones."""
        taken, self._latest = self._latest, {}
        self.changed.clear()
        return [(place, so_far) for place, so_far in taken.items() if place not in done]


async def _stream(
    service: Service, request: TranslateRequest, begun: BegunTranslation, growing: Growing
) -> AsyncIterator[bytes]:
    """Yields the events of a translation. An error becomes an event, too."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + service.limits.deadline
    for future in begun.futures:
        future.add_done_callback(lambda _: growing.changed.set())
    results: dict[int, Translation] = {}
    sentences: dict[int, dict[str, Any]] = {}
    order = range(len(begun.places))
    try:
        with service.awaiting(begun.futures):
            while len(sentences) < len(order):
                left = deadline - clock()
                try:
                    async with asyncio.timeout(min(left, QUIET_SECONDS)):
                        await growing.changed.wait()
                except TimeoutError:
                    if left <= QUIET_SECONDS:
                        raise
                    yield b": still at work\n\n"
                    continue
                ready = [number for number in begun.done() if number not in sentences]
                for place, so_far in growing.take({begun.places[number] for number in (*ready, *sentences)}):
                    written = parts_of(so_far, ["source_tokens", "tokens", "alignment"])
                    yield _event("words", place._asdict() | written)
                for number in ready:
                    results[number] = begun.result(number)
                    sentences[number] = request.sentence(begun.sources[number], results[number])
                    yield _event("sentence", begun.places[number]._asdict() | sentences[number])
        yield _event(
            "done", _translation_answer(begun, [results[n] for n in order], [sentences[n] for n in order])
        )
    except RefusalError as refusal:
        yield _event("error", {"message": refusal.message, "status": refusal.status})


def _event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
