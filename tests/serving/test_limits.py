"""What the service refuses, and how it behaves while its models are busy: a full queue, deadlines, clients
that go, the end."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from rnnsearch.errors import SearchStoppedError
from rnnsearch.serving import app, server
from rnnsearch.serving.limits import RefusalError
from rnnsearch.serving.served_models import ServedModel
from rnnsearch.serving.service import LONGEST_PART, Service
from rnnsearch.text.codec import EncodedSentence

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


def test_a_full_queue_is_answered_at_once_with_503_and_retry_after(
    make_service: Callable[..., Service], loopback_of: Any
) -> None:
    service = make_service(queue=3)
    held = HeldModel(service)
    server = loopback_of(service)
    with ThreadPoolExecutor(4) as pool:
        running = pool.submit(post, server, text="A cat .", model="en-fr")
        held.wait_for_batches(1)
        waiting = pool.submit(post, server, text=["One .", "Two .", "Three ."], model="en-fr")
        wait_until(lambda: len(service.queue) == 3)
        status, headers, answer = post(server, text="Four .", model="en-fr")
        assert (status, len(service.queue)) == (503, 3)
        assert int(headers["retry-after"]) >= 1
        assert "the queue is full" in answer["error"]["message"]
        assert post(server, "/translate", q="Four .", source="en", target="fr")[2] == {
            "error": answer["error"]["message"]
        }
        with urlopen(f"{server.address}/health", timeout=30) as healthy:
            assert json.load(healthy)["status"] == "ok"
        with pytest.raises(HTTPError, match="503") as refused:
            urlopen(f"{server.address}/ready", timeout=30)
        refused.value.close()
        held.go.set()
        assert running.result()[0] == waiting.result()[0] == 200


def test_a_client_that_goes_away_frees_its_place(
    make_service: Callable[..., Service], loopback_of: Any
) -> None:
    service = make_service(queue=5)
    held = HeldModel(service)
    server = loopback_of(service)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(post, server, text="A cat .", model="en-fr")
        held.wait_for_batches(1)
        body = json.dumps({"text": "One .\nTwo .\nThree .", "model": "en-fr"}).encode()
        for stream in (b"", b"?stream=true"):
            goes = server.connect()
            head = (
                b"POST /v1/translate%s HTTP/1.1\r\nHost: a\r\nContent-Type: "
                b"application/json\r\nContent-Length: %d\r\n\r\n"
            )
            goes.sendall(head % (stream, len(body)) + body)
            wait_until(lambda: len(service.queue) == 3)
            goes.close()
            wait_until(lambda: len(service.queue) == 0)
        held.go.set()
        assert running.result()[0] == 200
    assert held.batches == [["A cat ."]]


def test_after_the_deadline_the_request_is_given_up(
    make_service: Callable[..., Service], loopback_of: Any
) -> None:
    service = make_service(deadline=0.2)
    held = HeldModel(service)
    server = loopback_of(service)
    status, headers, answer = post(server, text="A cat .", model="en-fr")
    assert (status, "retry-after" in headers) == (503, True)
    assert "not answered within 0.2 s" in answer["error"]["message"]
    request = Request(
        f"{server.address}/v1/translate?stream=true",
        b'{"text": "A", "model": "en-fr"}',
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=30) as events:
        assert b"event: error" in events.read()
    wait_until(lambda: len(service.queue) == 0)
    held.go.set()


WORDS = "the old man sees a dog and "


def test_parts_of_a_long_sentence_let_others_pass_and_make_one_translation(
    make_service: Callable[..., Service],
    served: list[ServedModel],
    loopback_of: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rnnsearch.serving.work_queue.FAIR_SECONDS", 10)
    monkeypatch.setattr("rnnsearch.serving.service.LONGEST_PART", 400)
    service = make_service(characters=20_000)
    held = HeldModel(service)
    server = loopback_of(service)
    long = (WORDS * 130).strip()
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(post, server, text=long, model="en-fr")
        held.wait_for_batches(1)
        neighbour = pool.submit(post, server, text="A cat .", model="en-fr")
        wait_until(lambda: len(service.queue) == 3)
        held.go.set()
        status, _, answer = running.result()
        assert neighbour.result()[0] == 200
    assert held.batches[1][0] == "A cat ."
    assert [len(batch) for batch in held.batches] == [1, 2, 1]  # the last part is short
    (sentence,) = answer["translations"][0]["sentences"]
    (expected,) = served[0].translator.translate([long])
    assert (status, sentence["source_tokens"]) == (200, expected.source_tokens)
    assert sentence["hypotheses"][0]["text"] == expected.text


def test_no_part_keeps_others_waiting_for_long(
    make_service: Callable[..., Service], served: list[ServedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch takes as many steps as its longest part, and nothing interrupts it."""
    service = make_service(characters=20_000)
    begun = []
    monkeypatch.setattr(service.queue, "submit", lambda tasks: begun.extend(tasks) or [None] * len(tasks))
    service.begin_translation(served[0], [WORDS * 60], None, None)
    assert len(begun) > 3
    assert max(task.size for task in begun) <= LONGEST_PART + 1


def test_a_word_of_many_subwords_is_refused(
    make_service: Callable[..., Service], served: list[ServedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = EncodedSentence(["a" * 2_001], [5] * 2_001, [0] * 2_001)
    monkeypatch.setattr(type(served[0].translator), "parts", lambda *_, **__: [many])
    service = make_service(characters=20_000)
    with pytest.raises(RefusalError, match="sentence 1 has 2,001 subwords, and 2,000 are the most"):
        service.begin_translation(served[0], ["a" * 2_001], None, None)


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/translate", {"text": ["A cat .", "A dog . " + WORDS * 150]}, "sentence 2 of text 2 has 1,05"),
        ("/v1/translate", {"text": "a " * 5_500}, "sentence 1"),
        ("/v1/score", {"source_text": ["a", WORDS * 150], "target_text": ["a", "a"]}, "pair 2 has 1,05"),
    ],
    ids=["a long sentence", "more words than are ever translated", "a long pair"],
)
def test_what_is_too_long_does_not_get_into_the_queue(
    make_service: Callable[..., Service], loopback_of: Any, path: str, body: dict[str, Any], says: str
) -> None:
    service = make_service(characters=20_000)
    held = HeldModel(service)
    status, _, answer = post(loopback_of(service), path, model="en-fr", **body)
    assert (status, held.batches) == (413, [])
    assert says in answer["error"]["message"]


def test_work_that_nobody_waits_for_stops(
    make_service: Callable[..., Service],
    served: list[ServedModel],
    loopback_of: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    def search(parts: Any, cancelled: Callable[[], bool], **_: Any) -> Any:
        calls.append(parts)
        while not cancelled():
            time.sleep(0.01)
        raise SearchStoppedError

    server = loopback_of(make_service(deadline=0.3))
    monkeypatch.setattr(served[0].translator, "translate_parts", search)
    assert post(server, text="A cat .\nA dog .", model="en-fr")[0] == 503
    monkeypatch.undo()
    wait_until(lambda: post(server, text="A cat .", model="en-fr")[0] == 200)
    assert len(calls) == 1  # nor is it tried again sentence by sentence


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


@pytest.mark.parametrize("stream", ["", "?stream=true"])
def test_the_end_waits_for_no_batch_longer_than_its_limits(
    make_service: Callable[..., Service],
    loopback_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    stream: str,
) -> None:
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 0.2)
    monkeypatch.setattr(app, "GIVE_UP_SECONDS", 0.2)
    service = make_service()
    held = HeldModel(service)
    loopback = loopback_of(service)
    body = b'{"text": "A cat .", "model": "en-fr"}'
    head = f"POST /v1/translate{stream} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    with loopback.connect() as client:
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        held.wait_for_batches(1)
        loopback.end()
    assert service.queue.alive
    held.go.set()
    wait_until(lambda: not service.queue.alive)


def test_no_test_sets_the_clock_of_every_thread() -> None:
    """The event loop of a service that another test left open would sleep until the real clock has caught
    up."""
    patched = re.compile(r"setattr\(\s*(time|[\w.]+\.time|\"time\.\w+\"),")
    assert patched.search('patch.setattr(time, "monotonic", lambda: 0.0)')
    texts = {file: file.read_text(encoding="utf-8") for file in Path(__file__).parents[1].rglob("*.py")}
    assert [file.name for file, text in texts.items() if patched.search(text)] == [Path(__file__).name]


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
