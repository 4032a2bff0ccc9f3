"""The routes of `/v1`: translation, whole or as a stream of events, alignment and scores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from rnnsearch.records import Translation
from rnnsearch.serving.limits import RefusalError
from rnnsearch.serving.schema import EXAMPLE, AlignRequest, ScoreRequest, TranslateRequest, parts_of
from rnnsearch.serving.service import Begun, Place, Service

QUIET_SECONDS = 10.0
"""After so many seconds without an event a comment is sent, so that no proxy takes the connection for
dead."""
_HYPOTHESIS = {
    "text": "L'accord …",
    "tokens": ["L'", "accord", "…"],
    "score": -4.2,
    "log_probabilities": [-0.1, -0.2],
    "confidence": [0.93, 0.8, 0.6],
    "finished": True,
}
_SENTENCE = {"source": EXAMPLE, "source_tokens": ["The", "…", "</s>"], "hypotheses": [_HYPOTHESIS]}
_TEXT = {"text": "L'accord …", "sentences": [_SENTENCE]}
_ALIGNED = {"source_tokens": [], "tokens": [], "links": "0-0 1-1", "alignment": []}
_SCORED = {"score": -1.2, "log_probabilities": [-0.4, -0.8], "tokens": ["maison"]}
_MODEL = {
    "name": "en-fr",
    "source": "en",
    "target": "fr",
    "sizes": {"parameters": 9_000_000},
    "beam": 12,
    "words_as_they_come": True,
    "taught_links": True,
}


def json_response(content: object) -> Response:
    """Returns plain data as JSON: the framework's own way would look at every number twice."""
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, media_type="application/json")


def shown(example: object) -> dict[int | str, dict[str, Any]]:
    """Returns the description of a route's answer."""
    return {200: {"description": "The answer", "content": {"application/json": {"example": example}}}}


def v1(service: Service) -> APIRouter:
    """Returns the routes of `/v1`."""
    router = APIRouter(prefix="/v1", tags=["rnnsearch"])
    models = service.models
    events = Query(False, description="answer with server-sent events: words, sentence, done, error")

    @router.get("/models", summary="The models that are served", responses=shown({"models": [_MODEL]}))
    async def list_models() -> Response:
        return json_response({"models": [model.to_dict() for model in models]})

    answer = shown({"model": "en-fr", "translations": [_TEXT]})

    @router.post("/translate", summary="Translate texts", responses=answer)
    async def translate(request: TranslateRequest, stream: bool = events) -> Response:
        """Each text is split into sentences and put together again with its white space.

        With `stream=true` the answer is a stream of events: `words` for what greedy search (`beam` 1) has
        written of a sentence so far, `sentence` for a sentence that is done, `done` with the whole answer, or
        `error`.
        """
        model = models.choose(request.model, request.source, request.target)
        growing = Growing() if stream else None
        begun = service.begin_translation(model, request.texts, request.beam, request.nbest, growing)
        if growing is not None:
            return StreamingResponse(
                _stream(service, request, begun, growing), media_type="text/event-stream"
            )
        results = await service.translated(begun)
        return json_response(_whole(begun, results, list(map(request.sentence, begun.sources, results))))

    answer = shown({"model": "en-fr", "pairs": [_ALIGNED]})

    @router.post("/align", summary="Align sentences with given translations", responses=answer)
    async def align(request: AlignRequest) -> Response:
        """Forced decoding: links in Pharaoh format, source-target, counted from 0, and the matrix, target ×
        source."""
        model = models.choose(request.model, request.source, request.target)
        futures = service.begin_forcing(model, *request.sides, posterior=request.posterior)
        keys = ["source_tokens", "tokens", "links", *["alignment"] * request.alignment]
        pairs = [parts_of(result, keys) for result in await service.finished(futures)]
        return json_response({"model": model.name, "pairs": pairs})

    answer = shown({"model": "en-fr", "pairs": [_SCORED]})

    @router.post("/score", summary="Score given translations", responses=answer)
    async def score(request: ScoreRequest) -> Response:
        """log p(translation | source) in nats, and that of each word, the end of sentence last."""
        model = models.choose(request.model, request.source, request.target)
        futures = service.begin_forcing(model, *request.sides, posterior=False)
        pairs = [parts_of(result, list(_SCORED)) for result in await service.finished(futures)]
        return json_response({"model": model.name, "pairs": pairs})

    return router


def _whole(begun: Begun, results: Sequence[Translation], sentences: Sequence[Any]) -> dict[str, Any]:
    """Returns the answer to a request for translations, whose sentences are made already."""
    each = zip(begun.joined([result.text for result in results]), begun.by_text(sentences), strict=True)
    texts = [{"text": text, "sentences": some} for text, some in each]
    return {"model": begun.model.name, "translations": texts}


class Growing:
    """The latest words of each sentence that is being written. A client that reads slowly misses words in
    between, and nothing piles up."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._latest: dict[Place, Translation] = {}
        self._loop = asyncio.get_running_loop()

    def __call__(self, place: Place, so_far: Translation) -> None:
        """Keeps the words; called by the thread of the models."""
        self._loop.call_soon_threadsafe(self._keep, place, so_far)

    def _keep(self, place: Place, so_far: Translation) -> None:
        self._latest[place] = so_far
        self.changed.set()

    def take(self, done: set[Place]) -> list[tuple[Place, Translation]]:
        """Returns the news of the sentences that are not done."""
        taken, self._latest = self._latest, {}
        self.changed.clear()
        return [(place, so_far) for place, so_far in taken.items() if place not in done]


async def _stream(
    service: Service, request: TranslateRequest, begun: Begun, growing: Growing
) -> AsyncIterator[bytes]:
    deadline = asyncio.get_running_loop().time() + service.limits.deadline
    try:
        with service.places_of(begun.futures):
            async for event in _events(request, begun, growing, deadline):
                yield event
    except RefusalError as refusal:
        yield _event("error", {"message": refusal.message, "status": refusal.status})


async def _events(
    request: TranslateRequest, begun: Begun, growing: Growing, deadline: float
) -> AsyncIterator[bytes]:
    """Yields the events of a translation that goes well. Raises TimeoutError at the deadline."""
    for future in begun.futures:
        future.add_done_callback(lambda _: growing.changed.set())
    sentences: dict[int, dict[str, Any]] = {}
    results: dict[int, Translation] = {}
    while len(sentences) < len(begun.places):
        left = deadline - asyncio.get_running_loop().time()
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
    order = range(len(begun.places))
    yield _event("done", _whole(begun, [results[n] for n in order], [sentences[n] for n in order]))


def _event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
