"""What stands around the application, for every request: its body is bounded, its client may go, its answer has safe headers, and an
error inside becomes one line. One line of the log says what happened, without the texts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from rnnsearch.serving.keys import Keys, key_of
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.refusal import RefusalError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOG = logging.getLogger("rnnsearch.serving")
POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin",
}
HEADERS = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
"""Of every answer that does not say otherwise."""
WITH_KEY = ("/v1/", "/metrics")
"""Paths that need a key, if keys are needed. LibreTranslate's have it among their fields."""
SLOW_SECONDS = 0.1
"""Asking whether the client has gone costs as much as a small task: an answer that takes less is not worth it."""


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


class Guard:
    """app: answers requests. body: bytes at most. log_text: whether the log may hold what was to be translated."""

    def __init__(self, app: App, *, body: int, keys: Keys, metrics: Metrics, log_text: bool = False) -> None:
        self._app, self._body, self._keys, self._metrics, self._log_text = app, body, keys, metrics, log_text

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(send, scope["path"])
        body = b""
        try:
            self._check_key(scope)
            body = await self._read(scope, receive)
            await _while_connected(self._app, scope, body, receive, exchange.send)
        except ClientGoneError:
            self._metrics.abandoned.inc()
            exchange.gone = True
        except RefusalError as refusal:
            await exchange.refuse(refusal)
        except Exception as error:
            LOG.error("internal error: %s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)).rstrip())
            await exchange.refuse(RefusalError(500, "internal error: the service's log has more"))
        self._tell(scope, exchange, body)

    def _check_key(self, scope: MutableMapping[str, Any]) -> None:
        if self._keys.needed and scope["method"] != "OPTIONS" and scope["path"].startswith(WITH_KEY):
            key = key_of(scope["headers"])
            if not self._keys.allows(key):
                what = "an API key is needed" if key is None else "the API key is not valid"
                raise RefusalError(401, f"{what}: send it as Authorization: Bearer KEY")

    async def _read(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        """The whole body. Raises RefusalError if it is too large, as soon as that is known."""
        too_large = RefusalError(413, f"the body of the request has more than {self._body:,} bytes")
        for name, value in scope["headers"]:
            if name.lower() == b"content-length" and value.isdigit() and int(value[:20]) > self._body:
                raise too_large
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._body:
                raise too_large
            if not message.get("more_body"):
                return b"".join(parts)

    def _tell(self, scope: MutableMapping[str, Any], exchange: _Exchange, body: bytes) -> None:
        seconds = time.monotonic() - exchange.begun
        route = getattr(scope.get("route"), "path", "other")
        with contextlib.suppress(Exception):  # numbers that cannot be written end no connection
            self._metrics.request(route, exchange.status, seconds)
        client = (scope.get("client") or ("-",))[0]
        outcome = "gone" if exchange.gone else exchange.status
        text = f" body={body[:2_000].decode('utf-8', 'replace')!r}" if self._log_text and body else ""
        LOG.info("%s %s %s %s %.0f ms %d bytes%s", client, scope["method"], route, outcome, 1000 * seconds, len(body), text)


class _Exchange:
    """One answer on its way."""

    def __init__(self, send: Send, path: str) -> None:
        self._send, self._path = send, path
        self.begun = time.monotonic()
        self.status = 0
        self.gone = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name.lower() for name, _ in message.get("headers", [])}
            message = {**message, "headers": [*message.get("headers", []), *(pair for pair in HEADERS if pair[0] not in present)]}
        await self._send(message)

    async def refuse(self, refusal: RefusalError) -> None:
        """In place of an answer that has not begun; of one that has, nothing can be said any more: the connection is closed."""
        if self.status:
            return
        content = json.dumps(refusal.to_dict(self._path)).encode()
        headers = {"content-type": "application/json", "content-length": str(len(content)), **refusal.headers}
        if refusal.status in (401, 413):  # what is left of the body is not read
            headers["connection"] = "close"
        if refusal.status == 401:
            headers["www-authenticate"] = "Bearer"
        encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": content})


async def _while_connected(app: App, scope: MutableMapping[str, Any], body: bytes, receive: Receive, send: Send) -> None:
    """Lets the application answer. If the client goes away first, the work is cancelled: raises ClientGoneError."""
    given = False
    gone = asyncio.get_running_loop().create_future()

    async def replay() -> Message:
        nonlocal given
        if given:
            await asyncio.shield(gone)
            return {"type": "http.disconnect"}
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def run() -> None:
        await app(scope, replay, send)

    work = asyncio.ensure_future(run())
    watch: asyncio.Future[Message] | None = None
    try:
        done, _ = await asyncio.wait({work}, timeout=SLOW_SECONDS)
        if not done:
            watch = asyncio.ensure_future(receive())
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientGoneError
        work.result()
    finally:
        if watch is not None:
            watch.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
        gone.cancel()
