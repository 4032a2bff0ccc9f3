"""Real sockets: clients that are slow, half closed, never read or speak something else cost one connection for a bounded time."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from rnnsearch.serving import connection
from rnnsearch.serving.service import Service

from .conftest import HeldModel, Loopback, wait_until

BODY = json.dumps({"text": "A cat .", "model": "en-fr"}).encode()


def request(body: bytes = BODY, path: str = "/v1/translate", length: int | None = None) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body) if length is None else length}"
    return head.encode() + b"\r\n\r\n" + body


def read_to_end(client: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    try:
        while part := client.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks that tests can wait for."""
    monkeypatch.setattr(connection.Connection, "request_seconds", 0.4)
    monkeypatch.setattr(connection.Connection, "write_seconds", 0.4)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ", request(b"{", length=100), b"\r\n"],
    ids=["nothing", "half a line", "half a head", "half a body", "an empty line"],
)
def test_a_request_that_does_not_arrive_is_given_up(loopback: Loopback, sent: bytes) -> None:
    with loopback.connect() as slow:
        slow.sendall(sent)
        answer = read_to_end(slow)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")
    wait_until(lambda: loopback.connections == 0)


@pytest.mark.usefixtures("quick")
def test_a_drop_now_and_then_does_not_keep_a_connection(loopback: Loopback) -> None:
    with loopback.connect() as slow:
        slow.settimeout(0.05)
        answer = None
        for byte in request():
            try:
                slow.sendall(bytes([byte]))
                answer = slow.recv(100)
                break
            except TimeoutError:
                continue
            except OSError:
                answer = b""
                break
    assert answer is not None, "the whole request went through"
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")
    wait_until(lambda: loopback.connections == 0)


@pytest.mark.usefixtures("quick")
def test_slow_clients_do_not_keep_others_waiting(loopback: Loopback) -> None:
    slow = [loopback.connect() for _ in range(50)]
    for each in slow:
        each.sendall(b"POST /v1/translate HTTP/1.1\r\n")
    with loopback.connect() as good:
        good.sendall(request())
        assert good.recv(100).startswith(b"HTTP/1.1 200 ")
    for each in slow:
        each.close()
    wait_until(lambda: loopback.connections == 0)


def test_a_half_closed_connection_is_taken_for_gone(make_service: Callable[..., Service], loopback_of: Any) -> None:
    service = make_service()
    held = HeldModel(service)
    server = loopback_of(service)
    with server.connect() as first:
        first.sendall(request())
        held.wait_for_batches(1)
        with server.connect() as half:
            half.sendall(request())
            wait_until(lambda: len(service.queue) == 1)
            half.shutdown(socket.SHUT_WR)
            wait_until(lambda: len(service.queue) == 0)
        held.go.set()
        assert first.recv(100).startswith(b"HTTP/1.1 200 ")
    wait_until(lambda: server.connections == 0)


@pytest.mark.usefixtures("quick")
def test_a_client_that_reads_nothing_is_cut_off(loopback: Loopback) -> None:
    """It asks for far more than the buffers of both sides hold."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.connect(("127.0.0.1", loopback.port))
    with deaf:
        wait_until(lambda: loopback.connections == 1)
        deaf.settimeout(0.2)
        try:
            for _ in range(5_000):
                deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
        except OSError:
            pass
        wait_until(lambda: loopback.connections == 0, 60)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50, b"400"),
        (b"NONSENSE\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 200_000, b"431"),
        (b"GET /" + b"a" * 200_000, b"431"),
        (request(length=50_000_000), b"413"),
        (b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"a" * 65_536 + b"\r\n", None),
    ],
    ids=["TLS", "nonsense", "no length", "large head", "large path", "large body", "endless chunks"],
)
def test_what_is_no_request_is_refused(loopback: Loopback, sent: bytes, status: bytes | None) -> None:
    with loopback.connect() as client:
        try:
            client.sendall(sent)
            while status is None:
                client.sendall(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
        except OSError:
            pass
        answer = read_to_end(client)
    if status is not None:
        assert answer.split()[1] == status
        assert b'{"error": {"message": ' in answer
    wait_until(lambda: loopback.connections == 0)


def test_requests_that_are_sent_at_once_are_answered_in_their_order(loopback: Loopback) -> None:
    with loopback.connect() as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" + request() + b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = read_to_end(client)
    places = [answer.index(text) for text in (b'"status": "ok"', b'"translations"', b'"models"')]
    assert places == sorted(places)


def test_too_many_connections_are_told_to_come_later(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_until(lambda: loopback.connections == 0)
    monkeypatch.setattr(connection.Connection, "most", 2)
    held = [loopback.connect() for _ in range(2)]
    wait_until(lambda: loopback.connections == 2)
    with loopback.connect() as third:
        answer = read_to_end(third)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 2" in answer
    for each in held:
        each.close()
