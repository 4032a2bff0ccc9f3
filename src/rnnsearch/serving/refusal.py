"""What a client is told when its request cannot be answered: a status and one clear line."""

from __future__ import annotations

import math

LIBRETRANSLATE = ("/translate", "/detect", "/languages", "/frontend/settings", "/translate_file", "/suggest")
"""The paths of LibreTranslate's API."""


class RefusalError(Exception):
    """status: of HTTP. retry_after: seconds, if the same request may succeed later."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    def to_dict(self, path: str = "") -> dict[str, object]:
        """The body of the answer. path: of the request; LibreTranslate's clients expect the message alone."""
        if path in LIBRETRANSLATE:
            return {"error": self.message}
        more = {} if self.retry_after is None else {"retry_after": self.retry_after}
        return {"error": {"message": self.message, "status": self.status, **more}}


def busy(what: str, retry_after: float) -> RefusalError:
    return RefusalError(503, f"{what}; try again in {max(1, math.ceil(retry_after))} s", retry_after)
