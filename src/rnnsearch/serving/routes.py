"""The routes of `/v1`: translation (as a whole or as a stream of events), alignment and scores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, Field, StrictInt, StrictStr, model_validator

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.serving.limits import json_response
from rnnsearch.serving.served_models import ServedModel
from rnnsearch.serving.service import Service, Translated
from rnnsearch.word_links import format_links


def _encoded(text: str) -> str:
    """Returns the text. Raises ValueError for one that no Unicode encoding has."""
    text.encode()
    return text


Text = Annotated[StrictStr, AfterValidator(_encoded)]
OneOrMore = Text | list[Text]
HYPOTHESIS = ["text", "tokens", "score", "log_probabilities", "confidence", "finished"]


def as_list(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else text


class _Request(BaseModel, extra="forbid", frozen=True):
    """The choice of a model: its name, or languages that fit one pair only."""

    model: StrictStr | None = None
    source: StrictStr | None = None
    target: StrictStr | None = None

    def chosen(self, service: Service) -> ServedModel:
        return service.models.choose(self.model, self.source, self.target)


class TranslateRequest(_Request):
    """One text or several. Texts are split into sentences; their white space is kept.

    alignment, links: whether the answer has attention weights (target × source), and word links in Pharaoh
    format. glossary: terms and their translations.
    """

    text: OneOrMore
    beam: StrictInt | None = Field(None, ge=1)
    nbest: StrictInt = Field(1, ge=1)
    alignment: bool = False
    links: bool = False
    glossary: dict[Text, Text] = {}

    def sentence(self, source: str, result: Translation) -> dict[str, Any]:
        """Returns a sentence and its translations, best first, with the fields that the request asks for."""
        keys = [*HYPOTHESIS, *["alignment"] * self.alignment, *["links"] * self.links]
        hypotheses = [parts_of(one, keys) for one in (result, *result.alternatives)]
        return {"source": source, "source_tokens": result.source_tokens, "hypotheses": hypotheses}

    def answer(self, model: ServedModel, translated: Sequence[Translated]) -> dict[str, Any]:
        """Returns the answer: each text's translation, and its sentences."""
        texts = []
        for paragraph, results in translated:
            sentences = list(map(self.sentence, paragraph.sentences, results))
            texts.append({"text": paragraph.joined([one.text for one in results]), "sentences": sentences})
        return {"model": model.name, "translations": texts}


class ScoreRequest(_Request):
    """Sentences with their translations, sentence by sentence."""

    source_text: OneOrMore
    target_text: OneOrMore

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        sides = self.source_text, self.target_text
        if isinstance(sides[0], str) != isinstance(sides[1], str):
            raise ValueError("source_text and target_text must be two texts, or two lists")
        sources, targets = map(len, map(as_list, sides))
        if sources != targets:
            raise ValueError(f"source_text has {sources} sentences, but target_text has {targets}")
        return self


class AlignRequest(ScoreRequest):
    """Sentences with their translations. posterior: the alignment posterior, which knows the aligned word,
    instead of attention weights. alignment: whether the answer has the matrices besides the links."""

    posterior: bool = False
    alignment: bool = True


def parts_of(result: Translation, keys: Sequence[str]) -> dict[str, Any]:
    """Returns these fields of a translation as plain data for JSON; numbers have five decimals."""
    parts = replace(result, alternatives=[], alignment=result.alignment[:0]).to_dict()
    if "alignment" in keys:
        parts["alignment"] = np.round(result.alignment.astype(np.float64), 5).tolist()
    parts["links"] = format_links(result.links()) if "links" in keys else ""
    return {key: parts[key] for key in keys}


def first_fault(errors: Sequence[Mapping[str, Any]]) -> str:
    """Describes the most specific of a validator's errors in a line: the field, and the fault."""
    error = max(errors, key=lambda one: len(one["loc"]))
    fields = [str(part) for part in error["loc"] if part not in ("body", "query")]
    what = str(error["msg"]).removeprefix("Value error, ")
    return (
        f"{fields[0]}: {what}"
        if fields
        else f"{what}; send JSON, with the header Content-Type: application/json"
    )


async def rendered(make: Callable[[], object]) -> Response:
    """Returns plain data as a JSON response, made in another thread: a large answer keeps nobody waiting."""
    return await asyncio.to_thread(lambda: json_response(make()))


def v1(service: Service) -> APIRouter:
    """Returns the routes of `/v1`."""
    router = APIRouter(prefix="/v1")

    @router.get("/models")
    async def models() -> Response:
        return json_response({"models": [model.to_dict() for model in service.models]})

    @router.post("/translate")
    async def translate(request: TranslateRequest, stream: bool = False) -> Response:
        """Answers with the translations, or with a stream of events: `words` (the words of a sentence that
        greedy search, `beam` 1, has found so far), `sentence` (a finished sentence), `done` (the whole
        answer) or `error`."""
        model, texts = request.chosen(service), as_list(request.text)
        if stream:
            events = _events(service, request, model, texts)
            first = await anext(events)
            return StreamingResponse(_chained(first, events), media_type="text/event-stream")
        translated = await service.translate(
            model, texts, request.beam, request.nbest, glossary=request.glossary
        )
        return await rendered(lambda: request.answer(model, translated))

    async def forced(request: ScoreRequest, keys: Sequence[str], posterior: bool = False) -> Response:
        model = request.chosen(service)
        pairs = list(zip(as_list(request.source_text), as_list(request.target_text), strict=True))
        results = await service.force(model, pairs, posterior)
        return await rendered(
            lambda: {"model": model.name, "pairs": [parts_of(one, keys) for one in results]}
        )

    @router.post("/align")
    async def align(request: AlignRequest) -> Response:
        """Answers with the links of forced decoding in Pharaoh format (source-target, counted from 0), and
        the matrix, target × source."""
        keys = ["source_tokens", "tokens", "links", *["alignment"] * request.alignment]
        return await forced(request, keys, request.posterior)

    @router.post("/score")
    async def score(request: ScoreRequest) -> Response:
        """Answers with log p(translation | source) in nats, and that of each word; the last is the end of
        sentence."""
        return await forced(request, ["score", "log_probabilities", "tokens"])

    return router


async def _events(
    service: Service, request: TranslateRequest, model: ServedModel, texts: Sequence[str]
) -> AsyncIterator[bytes]:
    """Yields the events of a translation. Raises what prevents the first; a later error is an event, too."""
    loop, told = asyncio.get_running_loop(), asyncio.Queue[tuple[str, Callable[[], object]] | None]()

    def listen(text: int, number: int, source: str, result: Translation, done: bool = False) -> None:
        def data() -> dict[str, Any]:
            words = ["source_tokens", "tokens", "alignment"]
            parts = request.sentence(source, result) if done else parts_of(result, words)
            return {"text": text, "sentence": number} | parts

        loop.call_soon_threadsafe(told.put_nowait, ("sentence" if done else "words", data))

    translating = service.translate(model, texts, request.beam, request.nbest, listen, request.glossary)
    work = asyncio.ensure_future(asyncio.wait_for(translating, service.limits.deadline))
    work.add_done_callback(lambda _: told.put_nowait(None))
    begun = False
    try:
        while event := await told.get():
            yield await _event(*event)
            begun = True
        translated = await work
        yield await _event("done", lambda: request.answer(model, translated))
    except (HTTPException, InputError, TimeoutError) as error:
        if not begun:
            raise
        message = getattr(error, "detail", str(error)) or "the request took too long"
        yield await _event("error", lambda: {"message": message})
    finally:
        work.cancel()


async def _event(name: str, make: Callable[[], object]) -> bytes:
    data = await asyncio.to_thread(lambda: json.dumps(make(), ensure_ascii=False))
    return f"event: {name}\ndata: {data}\n\n".encode()


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for event in rest:
        yield event
