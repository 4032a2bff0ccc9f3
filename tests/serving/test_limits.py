"""What the service refuses, and how it behaves while its models are busy: a full queue, deadlines, clients that go, the end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from rnnsearch.serving.service import Service

from .conftest import HeldModel, Loopback, wait_until


def lowered(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def post(server: Loopback, path: str = "/v1/translate", **body: Any) -> tuple[int, dict[str, str], Any]:
    request = Request(server.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=30) as answer:
            return answer.status, lowered(answer.headers), json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, lowered(error.headers), json.load(error)


def test_a_full_queue_is_answered_at_once_with_503_and_retry_after(make_service: Callable[..., Service], loopback_of: Any) -> None:
    service = make_service(queue=3)
    held = HeldModel(service)
    server = loopback_of(service)
    with ThreadPoolExecutor(4) as pool:
        running = pool.submit(post, server, text="A cat .", model="en-fr")
        held.wait_for_batches(1)
        waiting = pool.submit(post, server, text=["One .", "Two .", "Three ."], model="en-fr")
        wait_until(lambda: len(service.queue) == 3)
        status, headers, answer = post(server, text="Four .", model="en-fr")
        assert status == 503
        assert int(headers["retry-after"]) >= 1
        assert "the queue is full" in answer["error"]["message"]
        assert post(server, "/translate", q="Four .", source="en", target="fr")[2] == {"error": answer["error"]["message"]}
        with urlopen(f"{server.address}/health", timeout=30) as healthy:
            assert json.load(healthy)["status"] == "ok"
        with pytest.raises(HTTPError, match="503") as refused:
            urlopen(f"{server.address}/ready", timeout=30)
        refused.value.close()
        held.go.set()
        assert running.result()[0] == waiting.result()[0] == 200


def test_a_client_that_goes_away_frees_its_place(make_service: Callable[..., Service], loopback_of: Any) -> None:
    service = make_service(queue=5)
    held = HeldModel(service)
    server = loopback_of(service)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(post, server, text="A cat .", model="en-fr")
        held.wait_for_batches(1)
        body = json.dumps({"text": "One .\nTwo .\nThree .", "model": "en-fr"}).encode()
        for stream in (b"", b"?stream=true"):
            goes = server.connect()
            head = b"POST /v1/translate%s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            goes.sendall(head % (stream, len(body)) + body)
            wait_until(lambda: len(service.queue) == 3)
            goes.close()
            wait_until(lambda: len(service.queue) == 0)
        held.go.set()
        assert running.result()[0] == 200
    assert held.batches == [["A cat ."]]


def test_after_the_deadline_the_request_is_given_up(make_service: Callable[..., Service], loopback_of: Any) -> None:
    service = make_service(deadline=0.2)
    held = HeldModel(service)
    server = loopback_of(service)
    status, headers, answer = post(server, text="A cat .", model="en-fr")
    assert (status, "retry-after" in headers) == (503, True)
    assert "not answered within 0.2 s" in answer["error"]["message"]
    request = Request(
        f"{server.address}/v1/translate?stream=true", b'{"text": "A", "model": "en-fr"}', {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=30) as events:
        assert b"event: error" in events.read()
    wait_until(lambda: len(service.queue) == 0)
    held.go.set()


def test_the_end_finishes_what_is_running(make_service: Callable[..., Service], loopback_of: Any) -> None:
    service = make_service()
    held = HeldModel(service)
    server = loopback_of(service)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(post, server, text=text, model="en-fr") for text in ("A cat .", "A dog .")]
        held.wait_for_batches(1)
        ending = threading.Thread(target=server.end)
        ending.start()
        time.sleep(0.3)
        assert ending.is_alive()
        held.go.set()
        assert [one.result()[0] for one in running] == [200, 200]
        ending.join(30)
        assert not ending.is_alive()


def test_an_error_inside_is_one_line_for_the_client_and_the_next_request_is_answered(
    make_service: Callable[..., Service], loopback_of: Any
) -> None:
    service = make_service()
    work, broken = service.queue._work, [True]

    def fails(group: Any, tasks: Any) -> Any:
        if broken[0]:
            raise RuntimeError("secret text")
        return work(group, tasks)

    service.queue._work = fails
    server = loopback_of(service)
    status, _, answer = post(server, text="A cat .", model="en-fr")
    assert status == 500
    assert answer == {"error": {"message": "internal error: the service's log has more", "status": 500}}
    broken[0] = False
    assert post(server, text="A cat .", model="en-fr")[0] == 200


def test_many_clients_at_once_get_their_own_answers(loopback: Loopback) -> None:
    lines = [f"{'The old man sees ' * (n % 5)}a dog number {n} ." for n in range(60)]
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda line: post(loopback, text=line, model="en-fr"), lines))
    for line, (status, _, answer) in zip(lines, answers, strict=True):
        assert status == 200
        assert [one["source"] for one in answer["translations"][0]["sentences"]] == [line]
