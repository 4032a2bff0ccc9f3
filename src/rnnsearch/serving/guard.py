"""The guard around the application: it checks keys and limits of every request, ends the work for a client
that is gone, and logs one line per request."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rnnsearch.errors import escaped
from rnnsearch.serving.limits import OWNER, REQUESTS, Limits, busy, check_limit, refused

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
INTERNAL = "internal error: the service's log has more"
_PORT = re.compile(r":\d*$")


def digest(key: str) -> str:
    """Returns what is kept of a key. Comparing digests leaks nothing about keys through its time."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def key_of(headers: Headers) -> str:
    """Returns the key of `Authorization: Bearer KEY` or of `X-API-Key: KEY`; empty without one."""
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("X-API-Key", "")


def check_key(key: object, keys: Collection[str], status: int) -> None:
    """Raises HTTPException if keys are needed and this is none."""
    if keys and not (isinstance(key, str) and digest(key) in keys):
        what = "the API key is not valid" if key else "an API key is needed"
        header = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        raise HTTPException(status, f"{what}: send it as Authorization: Bearer KEY", header)


class Guard:
    """An application with limits around it.

    keys: digests of the API keys; without any, everybody may use the service. hosts: accepted names in the
    Host header; empty for any. log_text: whether the log may hold the bodies of requests.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, keys: Collection[str], hosts: Collection[str], log_text: bool
    ) -> None:
        self._app, self._limits, self._keys = app, limits, keys
        self._hosts, self._log_text = hosts, log_text
        self._running = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request, begun = Request(scope, receive), time.monotonic()
        client = request.client.host if request.client else ""
        body, status, refusal = bytearray(), 0, None

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        OWNER.set(digest(key) if self._keys and (key := key_of(request.headers)) else client)
        self._running[OWNER.get()] += 1
        try:
            self._check_head(request)
            async with asyncio.timeout(self._limits.deadline):
                async for part in request.stream():
                    body += part
                    check_limit("the body of the request", len(body), "bytes", self._limits.body)
            work = asyncio.ensure_future(self._app(scope, _replay(bytes(body)), answer))
            await self._while_connected(work, receive, lambda: status)
        except HTTPException as error:
            refusal = error
        except TimeoutError:
            refusal = HTTPException(408, "the request did not arrive in time")
        except ClientDisconnect:
            status = 0
        except Exception as error:
            frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
            LOG.error("internal error: %s\n%s", type(error).__name__, frames)
            refusal = HTTPException(500, INTERNAL)
        if refusal and not status:
            response = refused(scope["path"], refusal.status_code, refusal.detail, refusal.headers)
            response.headers["Connection"] = "close"  # the body may not have been read
            await response(scope, receive, answer)
        self._running -= Counter([OWNER.get()])
        route = getattr(scope.get("route"), "path", "other")
        with suppress(OSError):  # the disk of the shared counters is full
            REQUESTS.labels(route, status).observe(time.monotonic() - begun)
        line = f"{client} {request.method} {escaped(scope['path'][:200])} {status}"
        text = f" body={body[:2_000].decode('utf-8', 'replace')!r}" if self._log_text and body else ""
        LOG.info("%s %.0f ms %d bytes%s", line, 1000 * (time.monotonic() - begun), len(body), text)

    def _check_head(self, request: Request) -> None:
        """Raises HTTPException for a request that proxies may read otherwise, an unknown host, a missing or
        wrong key, and a client with too many requests."""
        scope, headers = request.scope, request.headers
        chunked = "Transfer-Encoding" in headers
        if scope["http_version"] not in ("1.0", "1.1") or (
            chunked and ("Content-Length" in headers or scope["http_version"] == "1.0")
        ):
            raise HTTPException(400, "the version or the framing of the request is not valid HTTP/1.1")
        host = _PORT.sub("", headers.get("Host", "")).lower()
        if self._hosts and host not in self._hosts:
            raise HTTPException(400, f"the host {host[:80]!r} is not served here; --allowed-host allows it")
        if request.method != "OPTIONS" and scope["path"].startswith(WITH_KEY):
            check_key(key_of(headers), self._keys, 401)
        if self._running[OWNER.get()] > self._limits.requests:
            raise busy(f"{self._limits.requests} requests of this client are being answered", 429)

    async def _while_connected(
        self, work: asyncio.Future[Any], receive: Receive, begun: Callable[[], int]
    ) -> None:
        """Waits for the application's answer; cancels the work when the client disconnects. Raises
        HTTPException if the answer has not begun at the deadline; the stream of events has its own."""
        gone: asyncio.Future[Any] = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({work, gone}, timeout=self._limits.deadline, return_when="FIRST_COMPLETED")
            if begun():
                await asyncio.wait({work, gone}, return_when="FIRST_COMPLETED")
            if not work.done() and not gone.done():
                raise busy(f"the request was not answered within {self._limits.deadline:g} s")
            if work.done():
                work.result()
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.wait({work})


def _replay(body: bytes) -> Receive:
    """Returns a `receive` that gives the application a body that was already read, and nothing after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.Event().wait()  # for ever: the guard cancels the work for a disconnected client
        return messages.pop()

    return receive
