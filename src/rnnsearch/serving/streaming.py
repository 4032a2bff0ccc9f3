"""Server-sent events of a translation: words as greedy search writes them, sentences as they are done, and the whole at the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from rnnsearch.records import Translation
from rnnsearch.serving import answers
from rnnsearch.serving.refusal import RefusalError
from rnnsearch.serving.schema import TranslateRequest
from rnnsearch.serving.served_models import ServedModel
from rnnsearch.serving.service import Begun, Place, Service

QUIET_SECONDS = 10.0
"""After so long without an event a comment is sent, so that nobody on the way takes the connection for dead."""


class Words:
    """The latest that each growing sentence has become. A client that reads slowly misses words in between, and nothing piles up."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._latest: dict[Place, Translation] = {}
        self._loop = asyncio.get_running_loop()

    def __call__(self, place: Place, so_far: Translation) -> None:
        """By the thread of the models."""
        self._loop.call_soon_threadsafe(self._keep, place, so_far)

    def _keep(self, place: Place, so_far: Translation) -> None:
        self._latest[place] = so_far
        self.changed.set()

    def take(self, done: set[Place]) -> list[tuple[Place, Translation]]:
        """What is new of the sentences that are not done."""
        taken, self._latest = self._latest, {}
        self.changed.clear()
        return [(place, so_far) for place, so_far in taken.items() if place not in done]


def begin_stream(service: Service, model: ServedModel, request: TranslateRequest) -> AsyncIterator[bytes]:
    """The events. The sentences are in the queue before the first is asked for: raises RefusalError if they cannot be."""
    words = Words()
    begun = service.begin_translation(model, request.texts, request.beam, request.nbest, words)
    return _events(service, model, request, begun, words)


async def _events(service: Service, model: ServedModel, request: TranslateRequest, begun: Begun, words: Words) -> AsyncIterator[bytes]:
    try:
        with service.places_of(begun.futures):
            async for event in _translated(model, request, begun, words, asyncio.get_running_loop().time() + service.limits.deadline):
                yield event
    except RefusalError as refusal:
        yield event_of("error", {"message": refusal.message, "status": refusal.status})


async def _translated(model: ServedModel, request: TranslateRequest, begun: Begun, words: Words, deadline: float) -> AsyncIterator[bytes]:
    for future in begun.futures:
        future.add_done_callback(lambda _: words.changed.set())
    made: dict[Place, dict[str, Any]] = {}
    open_places = dict(zip(begun.places, begun.futures, strict=True))
    while open_places:
        left = deadline - asyncio.get_running_loop().time()
        try:
            await asyncio.wait_for(words.changed.wait(), min(left, QUIET_SECONDS))
        except TimeoutError:
            if left <= QUIET_SECONDS:
                raise
            yield b": still at work\n\n"
            continue
        ready = [place for place, future in open_places.items() if future.done()]
        for place, so_far in words.take(set(ready).union(made)):
            yield event_of("words", place._asdict() | answers.words_so_far(so_far))
        for place in ready:
            result = open_places.pop(place).result()
            source = begun.paragraphs[place.text].sentences[place.sentence]
            made[place] = answers.sentence(source, result, alignment=request.alignment, links=request.links)
            yield event_of("sentence", place._asdict() | made[place])
    results = begun.by_text([future.result() for future in begun.futures])
    sentences = begun.by_text([made[place] for place in begun.places])
    texts = [answers.text(*one) for one in zip(begun.paragraphs, results, sentences, strict=True)]
    yield event_of("done", {"model": model.name, "translations": texts})


def event_of(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
