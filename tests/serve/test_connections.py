"""Real sockets: clients that are slow, half closed, never read, or speak what proxies may read otherwise cost one
connection for a bounded time."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from loopback import Loopback, read_to_end

from rnnsearch.serve import commands as serve
from rnnsearch.serve import server
from rnnsearch.serve.routes import digest

from .conftest import Held, wait_until

CHUNKED = (
    b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
GET = b"GET /health HTTP/1.1\r\nHost: a\r\n"


def request(body: bytes | None = None, *, length: int = 0, **fields: Any) -> bytes:
    """Returns a request for a translation, of this body or of these fields."""
    if body is None:
        body = json.dumps(fields or {"text": "A cat .", "model": "en-fr"}).encode()
    head = "POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{length or len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        GET + b"X-Slow: ",
        GET + b"\r\n" + GET,
        request(b"{", length=100),
        CHUNKED + b"0\r\na: b\r\n",
    ],
    ids=[
        "nothing",
        "half a line",
        "half a head",
        "half a second head",
        "half a body",
        "half a trailer",
    ],
)
def test_a_request_that_does_not_arrive_is_given_up(loopback: Loopback, sent: bytes) -> None:
    with loopback.connect(timeout=300) as slow:
        slow.sendall(sent)
        assert loopback.post("/health")[0] == 200
        wait_until(lambda: loopback.skip(server.HEAD_SECONDS) or loopback.connections == 0)
        answer = read_to_end(slow)
    assert answer == b"" or answer.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 200 "))


@pytest.mark.parametrize(
    "sent",
    [
        request(b"{", length=10**6),
        request(b"{", length=10**19),
        CHUNKED + b"fffff\r\na",
        CHUNKED + b"1" + b"0" * 17 + b"\r\n",
    ],
)
def test_a_body_that_is_declared_too_long_is_refused_at_once(
    loopback: Loopback, sent: bytes
) -> None:
    assert loopback.answer(sent).startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))


def test_a_drop_now_and_then_does_not_keep_a_connection(loopback: Loopback) -> None:
    with loopback.connect(timeout=0.05) as slow, suppress(ConnectionError):
        for byte in b"GET / HTTP/1.1\r\nX: " + b"a" * 10_000:
            slow.sendall(bytes([byte]))
            loopback.skip(1)
            with suppress(TimeoutError):
                if slow.recv(100) == b"":
                    break
        else:
            pytest.fail("the whole request went through")
    wait_until(lambda: loopback.connections == 0)


def test_a_half_closed_connection_is_taken_for_gone(held_of: Callable[..., Held]) -> None:
    held = held_of()
    with held.server.connect(timeout=300) as first:
        first.sendall(request())
        held.wait_for_batch()
        with held.server.connect() as half:
            half.sendall(request())
            held.wait_for_queue(1)
            half.shutdown(socket.SHUT_WR)
            held.wait_for_queue(0)
        held.go.set()
        assert first.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_reads_nothing_is_cut_off(
    loopback_of: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks for far more than the buffers of both sides hold."""
    monkeypatch.setattr(serve, "WRITE_SECONDS", 0.4)
    service = loopback_of()
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.connect(("127.0.0.1", service.port))
    with deaf:
        wait_until(lambda: service.connections == 1)
        deaf.settimeout(0.2)
        with suppress(OSError):
            for _ in range(5_000):
                deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until(lambda: service.connections == 0)


def test_a_body_without_an_end_is_cut_off(loopback: Loopback) -> None:
    with loopback.connect() as client, suppress(OSError):
        client.sendall(CHUNKED)
        while True:
            client.sendall(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
    wait_until(lambda: loopback.connections == 0)


BOTH = CHUNKED.replace(b"Transfer", b"Content-Length: 4\r\nTransfer") + b"0\r\n\r\n"
FRAMING = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
    "nonsense": b"NONSENSE\r\n\r\n",
    "no length": GET + b"Content-Length: x\r\n\r\n",
    "a large head": GET + b"A: " + b"a" * 300_000,
    "a large path": b"GET /" + b"a" * 300_000,
    "length and chunks": BOTH,
    "chunks and length": CHUNKED[:-2] + b"Content-Length: 4\r\n\r\n0\r\n\r\n",
    "chunks of HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n",
    "two lengths": GET + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
    "HTTP/9.9": GET.replace(b"1.1", b"9.9") + b"\r\n",
    "HTTP/2.0": GET.replace(b"1.1", b"2.0") + b"\r\n",
    "a bare CR in a header": GET + b"A: a\rB: b\r\n\r\n",
    "a bare CR at a line's end": GET + b"A: a\r\r\n\r\n",
    "a bare CR in a path": b"GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n",
    "a bare CR in a chunk's extension": CHUNKED + b"2;a\rb\r\n{}\r\n0\r\n\r\n",
    "a bare CR after a chunk": CHUNKED + b"2\r\n{}\r\r0\r\n\r\n",
    "a broken chunk": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("keys", [frozenset(), frozenset([digest("a-key")])], ids=["open", "keys"])
def test_wrong_framing_is_one_400_and_the_connection_ends(
    make_service: Callable[..., Any],
    loopback_of: Callable[..., Loopback],
    caplog: pytest.LogCaptureFixture,
    keys: frozenset[str],
) -> None:
    """A second request is hidden behind each; an answer to it would be that of another client of a proxy."""
    service = loopback_of(make_service(keys=keys))
    caplog.set_level(logging.INFO)
    for name, sent in FRAMING.items():
        answer = service.answer(sent + GET + b"\r\n")
        assert answer.count(b"HTTP/1.1 ") == 1, (name, answer)
        assert answer.split()[1] == b"400", (name, answer)
        assert b"connection: close" in answer.lower(), name
    assert "Traceback" not in caplog.text
    wait_until(lambda: service.connections == 0)


def test_requests_that_are_sent_at_once_are_answered_in_their_order(loopback: Loopback) -> None:
    models = b"GET /config.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answer = loopback.answer(GET + b"\r\n" + request() + models)
    places = [answer.index(text) for text in (b'"status": "ok"', b'"translations"', b'"models"')]
    assert places == sorted(places)
