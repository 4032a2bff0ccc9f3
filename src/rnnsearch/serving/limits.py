"""How much one request may ask for, and how much may wait: the service refuses the rest at once, in one clear line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """characters, texts, sentences: of one request, all of its texts together. beam, nbest: at most. queue: sentences that may wait.

    deadline: seconds after which a request is given up. batch: sentences that are translated together.
    """

    characters: int = 20_000
    texts: int = 500
    sentences: int = 500
    beam: int = 50
    nbest: int = 20
    queue: int = 4_000
    deadline: float = 60.0
    batch: int = 64

    @property
    def body(self) -> int:
        """Bytes of a request's body. A character takes 12 at most, as JSON escapes it and as a form does; two texts in score and align."""
        return 64 * 1024 + 2 * 12 * self.characters


HEAD_BYTES = 128 * 1024
"""Of the request line and the headers; a text may be in the query."""
REQUEST_SECONDS = 20.0
"""A request must have arrived by then, since its first byte."""
IDLE_SECONDS = 15
"""A connection on which no further request comes is closed."""
WRITE_SECONDS = 30.0
"""A client that reads nothing of its answer for so long has gone."""
SHUTDOWN_SECONDS = 30
"""What is running may finish in this time when the service is told to end."""
