"""The limits of requests, and the error answers beyond them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from fastapi import Response

LIBRETRANSLATE = ("/translate", "/detect", "/languages", "/frontend/settings", "/translate_file", "/suggest")
"""The paths of LibreTranslate's API."""
HEAD_BYTES = 128 * 1024
"""Limit of the request line and the headers together. It is large because a text may be in the query."""
REQUEST_SECONDS = 20.0
"""Seconds in which a request's head must arrive; its body has as many again."""
IDLE_SECONDS = 15
"""Seconds after which a connection without a further request is closed."""
WRITE_SECONDS = 30.0
"""Seconds after which a client that reads nothing of its answer counts as gone."""
SHUTDOWN_SECONDS = 30
"""Seconds in which running requests may finish when the service is told to end."""
GIVE_UP_SECONDS = 5.0
"""Seconds that the models' thread then has to stop, before the process ends without it."""


@dataclass(frozen=True)
class Limits:
    """Upper bounds of a request and of the queue.

    characters, texts, sentences: of one request in all. words: of one sentence, or of one side of a pair.
    beam, nbest: of a request. queue: sentences that may wait. deadline: seconds after which a request is
    given up. batch: sentences that are translated together.
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
        """Bytes of a request's body. A character takes at most 12, escaped in JSON or a form; score and align
        have two texts."""
        return 64 * 1024 + 2 * 12 * self.characters


def json_response(content: object, status: int = 200) -> Response:
    """Returns plain data as a JSON response, faster than FastAPI's own."""
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, status, media_type="application/json")


class RefusalError(Exception):
    """The refusal of a request. retry_after: seconds, if the same request may succeed later."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))

    def response(self, path: str) -> Response:
        """Returns the error answer. At LibreTranslate's paths its clients expect the message alone."""
        later = {} if self.retry_after is None else {"retry_after": self.retry_after}
        about = {"message": self.message, "status": self.status, **later}
        response = json_response({"error": self.message if path in LIBRETRANSLATE else about}, self.status)
        if later:
            response.headers["Retry-After"] = str(self.retry_after)
        if self.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def check_limit(owner: str, number: int, things: str, most: int, *, remedy: str = "") -> None:
    """Raises RefusalError if `owner` has more than `most` things."""
    if number > most:
        message = f"{owner} has {number:,} {things}, but the limit is {most:,}"
        raise RefusalError(413, message + (f": {remedy}" if remedy else ""))


def busy(what: str, retry_after: float) -> RefusalError:
    """Returns a RefusalError (503) of a request that may succeed later."""
    return RefusalError(503, f"{what}; try again in {max(1, math.ceil(retry_after))} s", retry_after)
