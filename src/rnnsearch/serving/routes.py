"""`/v1`: translation, alignment and scores."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from rnnsearch.serving import answers
from rnnsearch.serving.schema import EXAMPLE, AlignRequest, ScoreRequest, TranslateRequest
from rnnsearch.serving.service import Service
from rnnsearch.serving.streaming import begin_stream

_SENTENCE = {
    "source": EXAMPLE,
    "source_tokens": ["The", "agreement", "…", "</s>"],
    "hypotheses": [
        {"text": "L'accord …", "tokens": ["L'", "accord", "…"], "score": -4.2, "log_probabilities": [-0.1, -0.2], "finished": True}
    ],
}
_MODEL = {"name": "en-fr", "source": "en", "target": "fr", "sizes": {"parameters": 9_000_000}, "beam": 12, "words_as_they_come": True}


def json_response(content: object) -> Response:
    """Of plain data: the framework's own way would look at every number twice."""
    return Response(json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace"), media_type="application/json")


def shown(example: object, what: str = "The answer") -> dict[int | str, dict[str, Any]]:
    """What the description of a route says of its answer."""
    return {200: {"description": what, "content": {"application/json": {"example": example}}}}


def v1(service: Service) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["rnnsearch"])
    models = service.models

    @router.get("/models", summary="The models that are served", responses=shown({"models": [_MODEL]}))
    async def list_models() -> Response:
        return json_response({"models": [model.to_dict() for model in models]})

    @router.post(
        "/translate",
        summary="Translate texts",
        responses=shown({"model": "en-fr", "translations": [{"text": "L'accord …", "sentences": [_SENTENCE]}]}),
    )
    async def translate(
        request: TranslateRequest,
        stream: bool = Query(False, description="answer with server-sent events: words, sentence, done, error"),
    ) -> Response:
        """Each text is split into sentences and put together again with its white space.

        With `stream=true` the answer is a stream of events: `words` for what greedy search (`beam` 1) has written of a sentence so far,
        `sentence` for a sentence that is done, `done` with the whole answer, or `error`.
        """
        model = models.choose(request.model, request.source, request.target)
        if stream:
            return StreamingResponse(begin_stream(service, model, request), media_type="text/event-stream")
        begun = service.begin_translation(model, request.texts, request.beam, request.nbest)
        results = begun.by_text(await service.finished(begun.futures))
        texts = []
        for paragraphs, translated in zip(begun.paragraphs, results, strict=True):
            made = [
                answers.sentence(source, result, alignment=request.alignment, links=request.links)
                for source, result in zip(paragraphs.sentences, translated, strict=True)
            ]
            texts.append(answers.text(paragraphs, translated, made))
        return json_response({"model": model.name, "translations": texts})

    @router.post(
        "/align",
        summary="Align sentences with given translations",
        responses=shown({"model": "en-fr", "pairs": [{"source_tokens": [], "tokens": [], "links": "0-0 1-1", "alignment": []}]}),
    )
    async def align(request: AlignRequest) -> Response:
        """Forced decoding: links in Pharaoh format, source-target, counted from 0, and the matrix, target × source."""
        model = models.choose(request.model, request.source, request.target)
        futures = service.begin_forcing(model, request.sources, request.targets, posterior=request.posterior)
        pairs = [answers.aligned(result, alignment=request.alignment) for result in await service.finished(futures)]
        return json_response({"model": model.name, "pairs": pairs})

    @router.post(
        "/score",
        summary="Score given translations",
        responses=shown({"model": "en-fr", "pairs": [{"score": -1.2, "log_probabilities": [-0.4, -0.8], "tokens": ["maison"]}]}),
    )
    async def score(request: ScoreRequest) -> Response:
        """log p(translation | source) in nats, and that of each word, the end of sentence last."""
        model = models.choose(request.model, request.source, request.target)
        futures = service.begin_forcing(model, request.sources, request.targets, posterior=False)
        return json_response({"model": model.name, "pairs": [answers.scored(result) for result in await service.finished(futures)]})

    return router
