"""The guard around the application: it bounds every request, notices clients that go, and logs one line.

The log holds paths, and no texts unless it is asked to.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import logging
import re
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, MutableMapping
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError, printed
from rnnsearch.serving.limits import HEAD_BYTES, REQUEST_SECONDS, RefusalError
from rnnsearch.serving.metrics import Metrics
from rnnsearch.system.parsing import read_text

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]

LOG = logging.getLogger("rnnsearch.serving")
POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"cross-origin-opener-policy": b"same-origin",
}
"""Headers of every answer that does not set them itself."""
WITH_KEY = ("/v1/", "/metrics")
"""Paths that need a key in a header, if keys are needed. LibreTranslate's have it among their fields."""
SHORTEST_KEY = 16
"""Characters of a key."""
SLOW_SECONDS = 0.1
"""A client is watched only if its answer takes longer, because watching costs as much as a small task."""
LINGER_SECONDS = 1.0
"""A refused client that sends nothing for so long has read its answer."""
_PORT = re.compile(r":\d*$")


class Keys:
    """The API keys that are valid, of which only digests are kept. Without any, everybody may ask."""

    def __init__(self, keys: list[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    @property
    def needed(self) -> bool:
        return bool(self._digests)

    def allows(self, key: str | None) -> bool:
        """Tells whether the key is valid, in the same time for every key."""
        given = _digest(key or "")
        return not self.needed or sum(hmac.compare_digest(given, digest) for digest in self._digests) > 0

    @classmethod
    def read(cls, path: Path) -> Keys:
        """Reads one key from each line, without empty lines and those that begin with #. Raises
        InputError."""
        try:
            lines = [line.strip() for line in read_text(path).splitlines()]
        except (OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or error
            raise InputError(f"cannot be read: {what}", file=path) from None
        keys = {number: line for number, line in enumerate(lines, 1) if line and not line.startswith("#")}
        if not keys:
            raise InputError("holds no key", file=path, remedy="write one key on each line")
        for number, key in keys.items():
            if len(key) < SHORTEST_KEY:
                what = f"a key has at least {SHORTEST_KEY} characters"
                remedy = "for example: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
                raise InputError(what, file=path, line=number, remedy=remedy)
        return cls(list(keys.values()))


def key_of(headers: list[tuple[bytes, bytes]]) -> str | None:
    """Returns the key of `Authorization: Bearer KEY` or of `X-API-Key: KEY`."""
    found = {name.lower(): value.decode("latin-1") for name, value in headers}
    scheme, _, token = found.get(b"authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else found.get(b"x-api-key")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


class Guard:
    """An application with limits around it.

    app: answers requests. body: bytes at most. hosts: the names in a Host header that are answered; empty for
    any. log_text: whether the log may hold the bodies of requests.
    """

    def __init__(
        self,
        app: App,
        *,
        body: int,
        keys: Keys,
        metrics: Metrics,
        hosts: Collection[str] = (),
        log_text: bool = False,
    ) -> None:
        self._app, self._body, self._keys, self._metrics = app, body, keys, metrics
        self._hosts, self._log_text = hosts, log_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        answer, body, begun = _Answer(send, scope["path"]), None, time.monotonic()
        try:
            self._check_head(scope)
            body = await self._read(scope, receive)
            await _while_connected(self._app(scope, _replay(body), answer.send), receive)
        except ClientGoneError:
            self._metrics.abandoned.inc()
            answer.status = answer.status or "gone"
        except RefusalError as refusal:
            expects = any(name == b"expect" for name, _ in scope["headers"])  # it sends no body unasked
            unread = body is None and not expects and refusal.status != 408
            await answer.refuse(refusal, receive if unread else None)
        except Exception as error:
            frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
            LOG.error("internal error: %s\n%s", type(error).__name__, frames)
            await answer.refuse(RefusalError(500, "internal error: the service's log has more"))
        self._log(scope, answer.status, body or b"", time.monotonic() - begun)

    def _check_head(self, scope: Scope) -> None:
        """Raises RefusalError for a head that is too large, a host that is not ours, or without a key."""
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if size + sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_BYTES:
            raise RefusalError(431, f"the head of the request has more than {HEAD_BYTES:,} bytes")
        host = _PORT.sub("", dict(scope["headers"]).get(b"host", b"").decode("latin-1")).lower()
        if self._hosts and host not in self._hosts:
            raise RefusalError(400, f"the host {host[:80]!r} is not served here; --allowed-host allows it")
        if self._keys.needed and scope["method"] != "OPTIONS" and scope["path"].startswith(WITH_KEY):
            key = key_of(scope["headers"])
            if not self._keys.allows(key):
                what = "an API key is needed" if key is None else "the API key is not valid"
                raise RefusalError(401, f"{what}: send it as Authorization: Bearer KEY")

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """Returns the whole body. Raises RefusalError if it is too large or too slow, as soon as that is
        known."""
        too_large = RefusalError(413, f"the body of the request has more than {self._body:,} bytes")
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > self._body:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                async for part in _parts(receive):
                    body += part
                    if len(body) > self._body:
                        raise too_large
        except TimeoutError:
            raise RefusalError(408, "the request did not arrive in time") from None
        return bytes(body)

    def _log(self, scope: Scope, status: int | str, body: bytes, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        with contextlib.suppress(Exception):  # metrics that cannot be written end no connection
            self._metrics.request(route, status, seconds)
        client = (scope.get("client") or ("-",))[0]
        line = f"{client} {scope['method']} {printed(scope['path'][:200])} {status}"
        text = f" body={body[:2_000].decode('utf-8', 'replace')!r}" if self._log_text and body else ""
        LOG.info("%s %.0f ms %d bytes%s", line, 1000 * seconds, len(body), text)


class _Answer:
    """The answer to a request. status: 0 until it begins."""

    def __init__(self, send: Send, path: str) -> None:
        self._send, self._path = send, path
        self.status: int | str = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = HEADERS | {name.lower(): value for name, value in message.get("headers", [])}
            message = {**message, "headers": list(headers.items())}
        await self._send(message)

    async def refuse(self, refusal: RefusalError, unread: Receive | None = None) -> None:
        """Answers in place of the application, unless its answer has begun: then the connection is closed.

        unread: brings the rest of the request's body. The connection ends once that has come, within bounds:
        a client that is cut off while it sends would lose the answer.
        """
        if self.status:
            return
        content = json.dumps(refusal.to_dict(self._path)).encode()
        headers = {"content-type": "application/json", "content-length": str(len(content)), **refusal.headers}
        if unread is not None or refusal.status in (408, 413):
            headers["connection"] = "close"
        if refusal.status == 401:
            headers["www-authenticate"] = "Bearer"
        encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": content, "more_body": unread is not None})
        if unread is not None:
            with contextlib.suppress(ClientGoneError, TimeoutError):
                async with asyncio.timeout(REQUEST_SECONDS), asyncio.timeout(LINGER_SECONDS) as quiet:
                    async for _ in _parts(unread):
                        quiet.reschedule(asyncio.get_running_loop().time() + LINGER_SECONDS)
            await self.send({"type": "http.response.body", "body": b""})


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    """Yields a body as it comes. Raises ClientGoneError."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _replay(body: bytes) -> Receive:
    """Returns what brings the application a body that has been read, and nothing after it."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.Event().wait()  # for ever: the guard cancels the work of a client that has gone
        return messages.pop()

    return receive


async def _while_connected(answering: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Lets the application answer. If the client goes away first, the work is cancelled: raises
    ClientGoneError."""
    work = asyncio.ensure_future(answering)
    watched: set[asyncio.Future[Any]] = {work}
    try:
        done, _ = await asyncio.wait(watched, timeout=SLOW_SECONDS)
        if not done:
            watched.add(asyncio.ensure_future(receive()))
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientGoneError
        work.result()
    finally:
        for future in watched:
            future.cancel()
        if not work.done():
            await asyncio.wait({work})
