"""The limits of requests, the errors beyond them, and the counters of the service."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from fastapi import HTTPException, Response
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

LIBRETRANSLATE = ("/translate", "/detect", "/languages", "/frontend/settings", "/translate_file", "/suggest")
"""The paths of LibreTranslate's API."""
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which several processes share counters. prometheus_client reads
it when imported."""
OWNER = ContextVar("owner", default="")
"""The API key or the address of the client whose request is being answered."""
REQUESTS = Histogram("rnnsearch_request_seconds", "Time of a request; status 0: gone", ["route", "status"])
BATCHES = Histogram("rnnsearch_batch_sentences", "Sentences in a batch", buckets=[1, 2, 4, 8, 16, 32, 64])
WAITED = Histogram("rnnsearch_queue_seconds", "Time that a sentence waited")
WORDS = Counter("rnnsearch_words", "Words of translations that were written", ["model"])


@dataclass(frozen=True)
class Limits:
    """Upper bounds of a request and of the queue.

    characters, sentences: of one request in all. words: of one sentence, or of one side of a pair. beam,
    nbest: of a request. queue: sentences that may wait. deadline: seconds after which a request is given up.
    batch: sentences that are translated together. requests: of one API key or address, at a time.
    """

    characters: int = 20_000
    sentences: int = 500
    words: int = 1_000
    beam: int = 50
    nbest: int = 20
    queue: int = 4_000
    deadline: float = 60.0
    batch: int = 64
    requests: int = 32

    @property
    def body(self) -> int:
        """Bytes of a request's body. A character takes at most 12, escaped in JSON or a form; align and score
        have two texts."""
        return 64 * 1024 + 2 * 12 * self.characters

    @property
    def numbers(self) -> int:
        """Numbers in the alignment matrices of an answer: as many as the longest sentence has."""
        return max(1_000_000, self.words**2)


def json_response(content: object, status: int = 200) -> Response:
    """Returns plain data as a JSON response, faster than FastAPI's own."""
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, status, media_type="application/json")


def refused(path: str, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Returns an error answer. LibreTranslate's clients expect 400 and the message alone."""
    error: object = message
    if path not in LIBRETRANSLATE:
        error = {"message": message, "status": status}
    elif status in (404, 422):
        status = 400
    response = json_response({"error": error}, status)
    response.headers.update(headers or {})
    return response


def check_limit(owner: str, number: int, things: str, most: int, remedy: str = "send less") -> None:
    """Raises HTTPException if `owner` has more than `most` things."""
    if number > most:
        raise HTTPException(413, f"{owner} has {number:,} {things}, but the limit is {most:,}: {remedy}")


def busy(what: str, status: int = 503) -> HTTPException:
    """Returns the refusal of a request that may succeed later."""
    return HTTPException(status, f"{what}; try again in 5 s", {"Retry-After": "5"})


def metrics_text() -> bytes:
    """Returns the counters of all processes, ended ones too, in Prometheus's text format."""
    registry = REGISTRY
    if SHARED in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return bytes(generate_latest(registry))
