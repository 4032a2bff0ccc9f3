"""Real sockets: clients that are slow, half closed, never read or speak something else cost one connection
for a bounded time."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from loopback import Loopback, read_to_end

from rnnsearch.serving import guard, server

from .conftest import Held, wait_until

CHUNKED = (
    b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def request(
    body: bytes | None = None, *, length: int | None = None, path: str = "/v1/translate", **fields: Any
) -> bytes:
    """Returns a request of this body, or of these fields."""
    if body is None:
        body = json.dumps(fields or {"text": "A cat .", "model": "en-fr"}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body) if length is None else length}\r\n\r\n".encode() + body


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks that tests can wait for."""
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.4)
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.4)
    monkeypatch.setattr(server, "WRITE_SECONDS", 0.4)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        b"GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ",
        request(b"{", length=100),
        CHUNKED + b"0\r\na: b\r\n",
    ],
    ids=["nothing", "half a line", "half a head", "half a body", "half a trailer"],
)
def test_a_request_that_does_not_arrive_is_given_up(loopback: Loopback, sent: bytes) -> None:
    with loopback.connect() as slow:
        slow.sendall(sent)
        answer = read_to_end(slow)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")
    wait_until(lambda: loopback.connections == 0)


@pytest.mark.usefixtures("quick")
def test_a_drop_now_and_then_does_not_keep_a_connection(loopback: Loopback) -> None:
    answer = None
    with loopback.connect(timeout=0.05) as slow:
        for byte in request():
            try:
                slow.sendall(bytes([byte]))
                answer = slow.recv(100)
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


def test_a_half_closed_connection_is_taken_for_gone(held_of: Callable[..., Held]) -> None:
    held = held_of()
    with held.server.connect() as first:
        first.sendall(request())
        held.wait_for_batch()
        with held.server.connect() as half:
            half.sendall(request())
            held.wait_for_queue(1)
            half.shutdown(socket.SHUT_WR)
            held.wait_for_queue(0)
        held.go.set()
        assert first.recv(100).startswith(b"HTTP/1.1 200 ")
    wait_until(lambda: held.server.connections == 0)


@pytest.mark.usefixtures("quick")
def test_a_client_that_reads_nothing_is_cut_off(loopback_of: Callable[..., Loopback]) -> None:
    """It asks for far more than the buffers of both sides hold."""
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


@pytest.mark.usefixtures("quick")
def test_a_body_without_an_end_is_cut_off(loopback: Loopback) -> None:
    with loopback.connect() as client, suppress(OSError):
        client.sendall(CHUNKED)
        while True:
            client.sendall(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
    wait_until(lambda: loopback.connections == 0)


GET = b"GET /health HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50, b"400", id="TLS"),
        pytest.param(b"NONSENSE\r\n\r\n", b"400", id="nonsense"),
        pytest.param(GET + b"Content-Length: x\r\n\r\n", b"400", id="no length"),
        pytest.param(GET + b"A: " + b"a" * 200_000, b"400", id="a large head"),
        pytest.param(b"GET /" + b"a" * 200_000, b"400", id="a large path"),
        pytest.param(GET + b"A: " + b"a" * 140_000 + b"\r\n\r\n", b"431", id="a large head in one piece"),
        pytest.param(request(length=50_000_000), b"413", id="a large length"),
        pytest.param(request(b"a" * 10_000_000), b"413", id="10 MB of body"),
    ],
)
def test_what_is_no_request_is_refused(loopback: Loopback, sent: bytes, status: bytes) -> None:
    answer = loopback.answer(sent)
    assert answer.split()[1] == status
    assert status == b"400" or b'{"error": {"message": ' in answer
    wait_until(lambda: loopback.connections == 0)


def test_requests_that_are_sent_at_once_are_answered_in_their_order(loopback: Loopback) -> None:
    with loopback.connect() as client:
        client.sendall(
            b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
            + request()
            + b"GET /v1/models HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        answer = read_to_end(client)
    places = [answer.index(text) for text in (b'"status": "ok"', b'"translations"', b'"models"')]
    assert places == sorted(places)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_the_address_of_all_is_reached_by_both_versions_of_ip() -> None:
    with server.bound_socket("::", 0) as bound:
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, bound.getsockname()[1]), timeout=5).close()


def test_too_many_connections_are_told_to_come_later(
    loopback_of: Callable[..., Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "allowed_connections", lambda: 3)
    service = loopback_of()
    held = [service.connect() for _ in range(2)]
    wait_until(lambda: service.connections == 2)
    assert service.answer(GET + b"\r\n").startswith(b"HTTP/1.1 503 ")
    for each in held:
        each.close()
