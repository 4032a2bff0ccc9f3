"""One connection: what is too slow, too large or never read is closed, whatever its client intends."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rnnsearch.serving.limits import HEAD_BYTES, REQUEST_SECONDS, WRITE_SECONDS


class _InOnePiece:
    """A transport that sends together what is written in one turn of the event loop: head and body of an answer are one system call."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with three clocks more: for a request to arrive, for its head to end, for its answer to be read.

    A client that closes its side of the connection has gone: its request is given up. `server` fills in the number of connections.
    """

    most = 10_000
    request_seconds = REQUEST_SECONDS
    write_seconds = WRITE_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._arrival: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._head = 0  # bytes of the head that is arriving
        self._in_head = self._completed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _InOnePiece(transport, self.loop)))
        # Any unsent byte counts as pressure: else an answer of 64 KiB could wait for ever for a client that never reads.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.most:
            self._end(503, "the service has too many connections; try again in 2 s", "retry-after: 2\r\n")
            return
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        for clock in (self._arrival, self._reading):
            if clock is not None:
                clock.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._expect_request()
        self._completed = False
        super().data_received(data)
        if self._in_head and not self._completed:  # else most of the data belonged to the request before
            self._head += len(data)
        if self._in_head and self._head > HEAD_BYTES and not self.transport.is_closing():
            self._end(431, f"the head of the request has more than {HEAD_BYTES:,} bytes")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._in_head = 0, True

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None
        self._completed = True
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def send_400_response(self, msg: str) -> None:
        self._end(400, "this is not HTTP")

    def _expect_request(self) -> None:
        if self._arrival is None:
            self._arrival = self.loop.call_later(self.request_seconds, self._too_slow)

    def _too_slow(self) -> None:
        """The request has not arrived. If its head has, the application waits for the body: it is told that its client has gone."""
        if self._in_head:
            self._end(408, "the request did not arrive in time")
        self.transport.abort()

    def _end(self, status: int, message: str, header: str = "") -> None:
        body = json.dumps({"error": {"message": message, "status": status}})
        phrase = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}[status]
        head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{header}"
        self.transport.write(f"{head}connection: close\r\n\r\n{body}".encode())
        self.transport.close()
