"""What the service refuses, and how it behaves while its models are busy: a full queue, deadlines, clients
that go, the end."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback

from rnnsearch.errors import SearchStoppedError
from rnnsearch.serving import app, server
from rnnsearch.serving.limits import RefusalError
from rnnsearch.serving.served_models import ServedModel
from rnnsearch.serving.service import LONGEST_PART, Service
from rnnsearch.text.codec import EncodedSentence

from .conftest import Held, wait_until
from .test_connections import request

CAT: dict[str, Any] = {"text": "A cat .", "model": "en-fr"}
THREE = {"text": ["One .", "Two .", "Three ."], "model": "en-fr"}
WORDS = "the old man sees a dog and "


def test_a_full_queue_is_answered_at_once_with_503_and_retry_after(held_of: Callable[..., Held]) -> None:
    held = held_of(queue=3)
    post = held.server.post
    with ThreadPoolExecutor(4) as pool:
        running = pool.submit(post, **CAT)
        held.wait_for_batch()
        waiting = pool.submit(post, **THREE)
        held.wait_for_queue(3)
        status, headers, answer = post(**CAT)
        assert (status, len(held.service.queue)) == (503, 3)
        assert int(headers["retry-after"]) >= 1
        assert "the queue is full" in answer["error"]["message"]
        theirs = post("/translate", q="Four .", source="en", target="fr")[2]
        assert theirs == {"error": answer["error"]["message"]}
        assert post("/health")[2]["status"] == "ok"
        assert post("/ready")[0] == 503
        held.go.set()
        assert running.result()[0] == waiting.result()[0] == 200


def test_a_client_that_goes_away_frees_its_place(held_of: Callable[..., Held]) -> None:
    held = held_of(queue=5)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(held.server.post, **CAT)
        held.wait_for_batch()
        for stream in ("", "?stream=true"):
            goes = held.server.connect()
            goes.sendall(request(path=f"/v1/translate{stream}", **THREE))
            held.wait_for_queue(3)
            goes.close()
            held.wait_for_queue(0)
        held.go.set()
        assert running.result()[0] == 200
    assert held.batches == [["A cat ."]]


def test_after_the_deadline_the_request_is_given_up(held_of: Callable[..., Held]) -> None:
    held = held_of(deadline=0.2)
    status, headers, answer = held.server.post(**CAT)
    assert (status, "retry-after" in headers) == (503, True)
    assert "not answered within 0.2 s" in answer["error"]["message"]
    assert "event: error" in held.server.post("/v1/translate?stream=true", **CAT)[2]
    held.wait_for_queue(0)
    held.go.set()


def test_parts_of_a_long_sentence_let_others_pass_and_make_one_translation(
    held_of: Callable[..., Held], served: list[ServedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rnnsearch.serving.work_queue.FAIR_SECONDS", 10)
    monkeypatch.setattr("rnnsearch.serving.service.LONGEST_PART", 400)
    held = held_of(characters=20_000)
    long = (WORDS * 130).strip()
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(held.server.post, text=long, model="en-fr")
        held.wait_for_batch()
        neighbour = pool.submit(held.server.post, **CAT)
        held.wait_for_queue(3)
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
    many = EncodedSentence(["a" * 2_001], [5] * 2_001, [0] * 2_001)
    monkeypatch.setattr(type(served[0].translator), "parts", lambda *_, **__: [many])
    with pytest.raises(RefusalError, match="sentence 1 has 2,001 subwords, but the limit is 2,000"):
        service.begin_translation(served[0], ["a" * 2_001], None, None)


def test_what_is_too_long_does_not_get_into_the_queue(held_of: Callable[..., Held]) -> None:
    held = held_of(characters=20_000)
    pairs: dict[str, Any] = {"source_text": ["a", WORDS * 150], "target_text": ["a", "a"]}
    for path, body, says in (
        ("/v1/translate", {"text": ["A cat .", "A dog . " + WORDS * 150]}, "sentence 2 of text 2 has 1,05"),
        ("/v1/translate", {"text": "a " * 5_500}, "sentence 1"),  # more than is ever translated
        ("/v1/score", pairs, "pair 2 has 1,05"),
    ):
        status, _, answer = held.server.post(path, model="en-fr", **body)
        assert (status, held.batches) == (413, [])
        assert says in answer["error"]["message"]


def test_work_that_nobody_waits_for_stops(
    make_service: Callable[..., Service],
    served: list[ServedModel],
    loopback_of: Callable[..., Loopback],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    def search(parts: Any, cancelled: Callable[[], bool], **_: Any) -> Any:
        calls.append(parts)
        while not cancelled():
            time.sleep(0.01)
        raise SearchStoppedError

    post = loopback_of(make_service(deadline=0.3)).post
    monkeypatch.setattr(served[0].translator, "translate_parts", search)
    assert post(text="A cat .\nA dog .", model="en-fr")[0] == 503
    monkeypatch.undo()
    wait_until(lambda: post(**CAT)[0] == 200)
    assert len(calls) == 1  # nor is it tried again sentence by sentence


def test_the_end_finishes_what_is_running(held_of: Callable[..., Held]) -> None:
    held = held_of()
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(held.server.post, **CAT) for _ in range(2)]
        held.wait_for_batch()
        ending = threading.Thread(target=held.server.end)
        ending.start()
        time.sleep(0.3)
        assert ending.is_alive()
        held.go.set()
        assert [one.result()[0] for one in running] == [200, 200]
        ending.join(30)
        assert not ending.is_alive()


@pytest.mark.parametrize("stream", ["", "?stream=true"])
def test_the_end_waits_for_no_batch_longer_than_its_limits(
    held_of: Callable[..., Held], monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 0.2)
    monkeypatch.setattr(app, "GIVE_UP_SECONDS", 0.2)
    held = held_of()
    with held.server.connect() as client:
        client.sendall(request(path=f"/v1/translate{stream}"))
        held.wait_for_batch()
        held.server.end()
    assert held.service.queue.alive
    held.go.set()
    wait_until(lambda: not held.service.queue.alive)


def test_no_test_sets_the_clock_of_every_thread() -> None:
    """The event loop of a service that another test left open would sleep until the real clock has caught
    up."""
    patched = re.compile(r"setattr\(\s*(time|[\w.]+\.time|\"time\.\w+\"),")
    assert patched.search('patch.setattr(time, "monotonic", lambda: 0.0)')
    texts = {file: file.read_text(encoding="utf-8") for file in Path(__file__).parents[1].rglob("*.py")}
    assert [file.name for file, text in texts.items() if patched.search(text)] == [Path(__file__).name]


def test_an_error_inside_is_one_line_for_the_client_and_the_next_request_is_answered(
    make_service: Callable[..., Service], loopback_of: Callable[..., Loopback]
) -> None:
    service = make_service()
    work, faults = service.queue._work, [RuntimeError("secret text")]

    def fails(group: Any, tasks: Any) -> Any:
        if faults:
            raise faults.pop()
        return work(group, tasks)

    service.queue._work = fails
    post = loopback_of(service).post
    message = "internal error: the service's log has more"
    assert post(**CAT)[::2] == (500, {"error": {"message": message, "status": 500}})
    assert post(**CAT)[0] == 200


def test_many_clients_at_once_get_their_own_answers(loopback: Loopback) -> None:
    lines = [f"{'The old man sees ' * (n % 5)}a dog number {n} ." for n in range(60)]
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda line: loopback.post(text=line, model="en-fr"), lines))
    for line, (status, _, answer) in zip(lines, answers, strict=True):
        assert status == 200
        assert [one["source"] for one in answer["translations"][0]["sentences"]] == [line]
