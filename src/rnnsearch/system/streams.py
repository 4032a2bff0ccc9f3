"""Streams for what is nice to know: nothing that happens to them ends the work that they tell of."""

from __future__ import annotations

from typing import Any, TextIO


class LastingStream:
    """A text stream whose reader may go and whose disk may fill: what cannot be written is lost, and the writer never learns of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # the latter of a closed stream, or of letters that its encoding lacks
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
