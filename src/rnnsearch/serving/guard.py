"""The guard around the application: it limits every request, notices disconnected clients, and logs each
request in one line.

The log holds paths; texts only if `log_text` is set.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
import traceback
from collections.abc import Awaitable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rnnsearch.errors import InputError, escaped
from rnnsearch.serving.limits import HEAD_BYTES, REQUEST_SECONDS, RefusalError
from rnnsearch.serving.metrics import Metrics
from rnnsearch.system.parsing import read_text

LOG = logging.getLogger("rnnsearch.serving")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Default headers of every answer."""
WITH_KEY = ("/v1/", "/metrics")
"""Paths that need a key in a header, if keys are needed. At LibreTranslate's paths the key may be a field."""
SHORTEST_KEY = 16
"""Characters that a key has at least."""
SLOW_SECONDS = 0.1
"""Seconds of work after which a client is watched: watching costs as much as a small task."""
LINGER_SECONDS = 1.0
"""Seconds without data after which a refused client has read its answer."""
_PORT = re.compile(r":\d*$")


class ApiKeys:
    """The valid API keys, kept as digests. Without any, everybody may use the service."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = frozenset(map(_digest, keys))

    @property
    def needed(self) -> bool:
        return bool(self._digests)

    def allows(self, key: str | None) -> bool:
        """Tells whether the key is valid. Comparing digests leaks nothing about keys through its time."""
        return not self.needed or _digest(key or "") in self._digests

    @classmethod
    def read(cls, path: Path) -> ApiKeys:
        """Reads one key per line; empty lines and lines that begin with # are skipped. Raises InputError for
        a file that cannot be read or holds no key, and for a key that is too short."""
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
        return cls(keys.values())


def key_of(headers: Headers) -> str | None:
    """Returns the key of `Authorization: Bearer KEY` or of `X-API-Key: KEY`."""
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("X-API-Key")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class Guard:
    """An application with limits around it.

    app: answers requests. body: largest number of bytes in a body. hosts: accepted names in the Host header;
    empty for any. log_text: whether the log may hold the bodies of requests.
    """

    def __init__(
        self, app: ASGIApp, body: int, keys: ApiKeys, metrics: Metrics, hosts: Collection[str], log_text: bool
    ) -> None:
        self._app, self._body, self._keys, self._metrics = app, body, keys, metrics
        self._hosts, self._log_text = hosts, log_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request, answer = Request(scope, receive), _Answer(send, scope["path"])
        body, begun = None, time.monotonic()
        try:
            self._check_head(request)
            body = await self._read(request)
            await _while_connected(self._app(scope, _replay(body), answer.send), receive)
        except ClientDisconnect:
            self._metrics.abandoned.inc()
            answer.status = answer.status or "gone"
        except RefusalError as refusal:
            # A client with `Expect` has not sent its body.
            unread = body is None and "Expect" not in request.headers and refusal.status != 408
            await answer.refuse(refusal, request if unread else None)
        except Exception as error:
            frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
            LOG.error("internal error: %s\n%s", type(error).__name__, frames)
            await answer.refuse(RefusalError(500, "internal error: the service's log has more"))
        self._log(request, answer.status, body or b"", time.monotonic() - begun)

    def _check_head(self, request: Request) -> None:
        """Raises RefusalError for a head that is too large, an unknown host, or a missing or wrong key."""
        scope, headers = request.scope, request.headers
        size = len(scope["raw_path"]) + len(scope["query_string"])
        if size + sum(len(name) + len(value) for name, value in headers.raw) > HEAD_BYTES:
            raise RefusalError(431, f"the head of the request has more than {HEAD_BYTES:,} bytes")
        host = _PORT.sub("", headers.get("Host", "")).lower()
        if self._hosts and host not in self._hosts:
            raise RefusalError(400, f"the host {host[:80]!r} is not served here; --allowed-host allows it")
        if request.method != "OPTIONS" and scope["path"].startswith(WITH_KEY):
            key = key_of(headers)
            if not self._keys.allows(key):
                what = "an API key is needed" if key is None else "the API key is not valid"
                raise RefusalError(401, f"{what}: send it as Authorization: Bearer KEY")

    async def _read(self, request: Request) -> bytes:
        """Returns the whole body. Raises RefusalError as soon as it is known to be too large or too slow."""
        too_large = RefusalError(413, f"the body of the request has more than {self._body:,} bytes")
        length = request.headers.get("Content-Length", "")
        if length.isdecimal() and int(length[:20]) > self._body:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > self._body:
                        raise too_large
        except TimeoutError:
            raise RefusalError(408, "the request did not arrive in time") from None
        return bytes(body)

    def _log(self, request: Request, status: int | str, body: bytes, seconds: float) -> None:
        route = getattr(request.scope.get("route"), "path", "other")
        self._metrics.request(route, status, seconds)
        client = request.client.host if request.client else "-"
        line = f"{client} {request.method} {escaped(request.scope['path'][:200])} {status}"
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
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def refuse(self, refusal: RefusalError, unread: Request | None = None) -> None:
        """Answers in place of the application. If its answer has begun, does nothing; the server then closes
        the connection.

        unread: the request whose body is still being sent. It is read, within limits, before the connection
        ends: a client that is cut off while sending would lose the answer.
        """
        if self.status:
            return
        response = refusal.response(self._path)
        if unread is not None or refusal.status in (408, 413):
            response.headers["Connection"] = "close"
        start = {"status": refusal.status, "headers": response.raw_headers}
        await self.send({"type": "http.response.start", **start})
        body = {"type": "http.response.body", "body": response.body}
        await self.send(body | {"more_body": unread is not None})
        if unread is not None:
            with suppress(ClientDisconnect, TimeoutError):
                async with asyncio.timeout(REQUEST_SECONDS), asyncio.timeout(LINGER_SECONDS) as quiet:
                    async for _ in unread.stream():
                        quiet.reschedule(asyncio.get_running_loop().time() + LINGER_SECONDS)
            await self.send(body | {"body": b""})


def _replay(body: bytes) -> Receive:
    """Returns a `receive` that gives the application a body that was already read, and nothing after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.Event().wait()  # for ever: the guard cancels the work for a disconnected client
        return messages.pop()

    return receive


async def _while_connected(answering: Awaitable[None], receive: Receive) -> None:
    """Waits for the application's answer. If the client disconnects first, cancels the work and raises
    ClientDisconnect."""
    work = asyncio.ensure_future(answering)
    watched: set[asyncio.Future[Any]] = {work}
    try:
        done, _ = await asyncio.wait(watched, timeout=SLOW_SECONDS)
        if not done:
            watched.add(asyncio.ensure_future(receive()))
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        work.result()
    finally:
        for future in watched:
            future.cancel()
        if not work.done():
            await asyncio.wait({work})
