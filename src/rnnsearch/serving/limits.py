"""The limits of requests, and what a client gets beyond them: a status and one clear line."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from fastapi import Response

LIBRETRANSLATE = ("/translate", "/detect", "/languages", "/frontend/settings", "/translate_file", "/suggest")
"""The paths of LibreTranslate's API."""
HEAD_BYTES = 128 * 1024
"""Limit of the request line and the headers; a text may be in the query."""
REQUEST_SECONDS = 20.0
"""Limit of the time in which a head must arrive, and again of the time in which its body must."""
IDLE_SECONDS = 15
"""A connection on which no further request comes is closed after this time."""
WRITE_SECONDS = 30.0
"""A client that reads nothing of its answer for so long is taken for gone."""
SHUTDOWN_SECONDS = 30
"""Running requests may finish in this time when the service is told to end."""
GIVE_UP_SECONDS = 5.0
"""After that the models' thread has this time to stop; then the process ends without it."""


@dataclass(frozen=True)
class Limits:
    """Upper bounds of a request and of the queue.

    characters, texts, sentences: of one request, all of its texts together. words: of one sentence, and of
    one side of a pair. beam, nbest: of a request. queue: sentences that may wait. deadline: seconds after
    which a request is given up. batch: sentences that are translated together.
    """

    characters: int = 20_000
    texts: int = 500
    sentences: int = 500
    words: int = 1_000
    beam: int = 50
    nbest: int = 20
    queue: int = 4_000
    deadline: float = 60.0
    batch: int = 64

    @property
    def body(self) -> int:
        """Bytes of a request's body. A character takes 12 at most, in JSON's escapes and in a form's; score
        and align have two texts."""
        return 64 * 1024 + 2 * 12 * self.characters


def json_response(content: object, status: int = 200) -> Response:
    """Returns plain data as JSON: the framework's own way would look at every number twice."""
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, status, media_type="application/json")


class RefusalError(Exception):
    """A request that is not answered. retry_after: seconds, if the same request may succeed later."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))

    def response(self, path: str) -> Response:
        """Returns the answer. LibreTranslate's clients expect the message alone at its paths."""
        later = {} if self.retry_after is None else {"retry_after": self.retry_after}
        about = {"message": self.message, "status": self.status, **later}
        response = json_response({"error": self.message if path in LIBRETRANSLATE else about}, self.status)
        if later:
            response.headers["Retry-After"] = str(self.retry_after)
        if self.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def check_limit(owner: str, number: int, things: str, most: int, *, remedy: str = "") -> None:
    """Raises RefusalError if the owner has more such things than the most."""
    if number > most:
        message = f"{owner} has {number:,} {things}, and {most:,} are the most"
        raise RefusalError(413, message + (f": {remedy}" if remedy else ""))


def busy(what: str, retry_after: float) -> RefusalError:
    """Returns the error of a request that may succeed later."""
    return RefusalError(503, f"{what}; try again in {max(1, math.ceil(retry_after))} s", retry_after)
