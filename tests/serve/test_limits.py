"""What the service refuses, and how it behaves while its models are busy: a full queue, deadlines, clients
that go, the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from loopback import Loopback

from rnnsearch.serve.routes import digest
from rnnsearch.serve.service import LONGEST_PART, Options, ServedModel, Service
from rnnsearch.serve.work_queue import QueuedTask, WorkQueue
from rnnsearch.text.codec import EncodedSentence
from rnnsearch.translation.scorer import Scorer
from rnnsearch.translation.translator import Translator

from .conftest import Held, wait_until
from .test_connections import request

CAT: dict[str, Any] = {"text": "A cat .", "model": "en-fr"}
THREE = {"text": ["One .", "Two .", "Three ."], "model": "en-fr"}
WORDS = "the old man sees a dog and "


def test_a_full_queue_is_answered_at_once_with_503_and_retry_after(
    held_of: Callable[..., Held],
) -> None:
    held = held_of(queue=3)
    with ThreadPoolExecutor(4) as pool:
        running = pool.submit(held.post, **CAT)
        held.wait_for_batch()
        waiting = pool.submit(held.post, **THREE)
        held.wait_for_queue(3)
        status, headers, answer = held.post(**CAT)
        assert (status, headers["retry-after"]) == (503, "5")
        assert "the queue is full" in answer["error"]["message"]
        theirs = held.post("/translate", q="Four .", source="en", target="fr")[2]
        assert theirs == {"error": answer["error"]["message"]}
        assert held.post("/health")[2]["status"] == "ok"
        held.go.set()
        assert running.result()[0] == waiting.result()[0] == 200


def test_one_key_cannot_take_everything(
    make_service: Callable[..., Service], loopback_of: Callable[..., Loopback]
) -> None:
    """Half of the queue waits for one key; its next request is refused, and another key's is answered. A header
    that is no key changes nothing."""
    keys = ["a-key-of-some-length", "another-key-of-some-length"]
    service = make_service(queue=4, keys=frozenset(map(digest, keys)))
    held = Held(service, loopback_of(service))
    with ThreadPoolExecutor(4) as pool:
        running = pool.submit(held.post, key=keys[0], **CAT)
        held.wait_for_batch()
        waiting = pool.submit(held.post, key=keys[0], **THREE)
        wait_until(lambda: len(service.queue.waiting) > 0)
        assert held.post(key=keys[0], **CAT)[0] == 429
        fields = {"q": "A cat .", "source": "en", "target": "fr", "api_key": keys[0]}
        assert held.post("/translate", key="no-key", **fields)[0] == 429
        other = pool.submit(held.post, key=keys[1], **CAT)
        wait_until(lambda: any(task.owner == digest(keys[1]) for task in service.queue.waiting))
        held.go.set()
        assert [one.result()[0] for one in (running, waiting, other)] == [200] * 3


def test_a_client_that_goes_away_frees_its_place(held_of: Callable[..., Held]) -> None:
    held = held_of(queue=8)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(held.post, **CAT)
        held.wait_for_batch()
        goes = held.server.connect()
        goes.sendall(request(**THREE))
        held.wait_for_queue(3)
        goes.close()
        held.wait_for_queue(0)
        held.go.set()
        assert running.result()[0] == 200
    assert held.batches == [["A cat ."]]


@pytest.mark.parametrize(
    ("path", "fields"), [("/v1/translate", {"text": "A cat ."}), ("/translate", {"q": "A cat ."})]
)
def test_the_deadline_includes_writing_the_answer_which_does_not_stop_others(
    make_service: Callable[..., Service],
    loopback_of: Callable[..., Loopback],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    fields: dict[str, Any],
) -> None:
    go, begun = threading.Event(), threading.Event()

    def slow(*_: Any) -> Any:
        begun.set()
        go.wait(300)
        return {}

    monkeypatch.setattr("rnnsearch.serve.paragraphs.Paragraphs.joined", slow)
    server = loopback_of(make_service(deadline=600))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.post, path, source="en", target="fr", **fields)
        assert begun.wait(300)
        assert server.post("/health")[0] == 200
        server.skip(600)
        assert asked.result()[0] == 503
    go.set()


PAIRS = {"source_text": [WORDS * 20] * 2, "target_text": [WORDS * 20] * 2}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/translate", {"text": WORDS * 20, "beam": 10, "nbest": 5, "alignment": True}),
        ("/v1/align", PAIRS),
        ("/translate", {"q": [WORDS * 20] * 2, "source": "en", "target": "fr"}),
    ],
)
def test_an_answer_too_large_is_refused_before_the_work(
    held_of: Callable[..., Held], monkeypatch: pytest.MonkeyPatch, path: str, fields: dict[str, Any]
) -> None:
    """140 words have 19,600 weights; five translations, or two pairs of 140 words, have more than 30,000."""
    monkeypatch.setattr(Options, "numbers", 30_000)
    held = held_of(characters=20_000)
    if "q" not in fields:
        fields = fields | {"model": "en-fr"}
    status, _, answer = held.post(path, **fields)
    assert (status, held.batches) == (413, [])
    assert "alignment weights" in str(answer["error"])


def test_short_requests_pass_long_ones_and_long_sentences_are_translated_in_parts(
    held_of: Callable[..., Held], served: list[ServedModel]
) -> None:
    held = held_of(characters=20_000, deadline=300)
    held.service.queue._batch = 1
    long = (WORDS * 25).strip()
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(held.post, text=f"One .\n{long} .\nTwo .", model="en-fr")
        held.wait_for_batch()
        neighbour = pool.submit(held.post, **CAT)
        held.wait_for_queue(3)
        held.go.set()
        status, _, answer = running.result()
        assert neighbour.result()[0] == 200
    assert held.batches[1] == ["A cat ."]
    sentence = answer["translations"][0]["sentences"][1]
    translator = served[0].translator
    most = min(LONGEST_PART, translator.settings.translation.max_source_length)
    (expected,) = translator.translate(
        [f"{long} ."], settings={"translation.max_source_length": most}
    )
    assert (status, sentence["source_tokens"]) == (200, expected.source_tokens)
    assert sentence["hypotheses"][0]["text"] == expected.text


def test_short_tasks_overtake_a_long_one_that_is_worked_on() -> None:
    begun: list[str] = []

    def work(group: str, tasks: Sequence[QueuedTask]) -> list[str]:
        begun.append(group)
        while group == "long" and "short" not in begun:
            queue.let_overtake(tasks)
        return [group] * len(tasks)

    queue = WorkQueue(work, 1, 10)

    async def answers() -> list[str]:
        running = asyncio.create_task(queue.run())
        futures = queue.submit([QueuedTask("long", None, 100)])
        while not begun:
            await asyncio.sleep(0)
        futures += queue.submit([QueuedTask("similar", None, 26), QueuedTask("short", None, 25)])
        made = await asyncio.gather(*futures)
        running.cancel()
        return made

    assert asyncio.run(answers()) == ["long", "similar", "short"]
    assert begun == ["long", "short", "similar"]


def test_every_step_of_a_translation_lets_short_tasks_overtake(
    make_service: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence with a wide beam, or with choices, counts as one that takes as long."""
    service = make_service(beam=50)
    (model, *_), steps, sizes = service.models, list[int](), list[int]()
    usual = model.translator.settings.search.beam

    def step(tasks: Sequence[QueuedTask]) -> None:
        steps.append(len(tasks))
        sizes.append(tasks[0].size)

    monkeypatch.setattr(service.queue, "let_overtake", step)

    async def translate() -> None:
        running = asyncio.create_task(service.queue.run())
        for beam in (None, 3 * usual):
            await service.translate(model, ["A cat ."], beam)
        await service.choices(model, "A cat .", "", 2 * usual)
        running.cancel()

    asyncio.run(translate())
    assert len(steps) > 2
    assert set(steps) == {1}
    assert list(dict.fromkeys(sizes)) == [sizes[0], 3 * sizes[0], 4 * sizes[0]]


def test_what_is_too_long_does_not_get_into_the_queue(
    held_of: Callable[..., Held], served: list[ServedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_of(characters=20_000)
    pairs: dict[str, Any] = {"source_text": ["a", WORDS * 150], "target_text": ["a", "a"]}
    for path, body, says in (
        (
            "/v1/translate",
            {"text": ["A cat .", "A dog .\n" + WORDS * 150]},
            "sentence 2 of text 2 has 1,05",
        ),
        ("/v1/translate", {"text": "a " * 5_500}, "sentence 1"),  # more than is ever translated
        ("/v1/align", pairs, "pair 2 has 1,05"),
    ):
        status, _, answer = held.post(path, model="en-fr", **body)
        assert (status, held.batches) == (413, [])
        assert says in answer["error"]["message"]
    many = EncodedSentence(["a"], [5] * 1_001, [0] * 1_001)
    monkeypatch.setattr(type(served[0].translator), "parts", lambda *_, **__: [many])
    assert (
        "1,001 words or subwords, but the limit is 1,000" in held.post(**CAT)[2]["error"]["message"]
    )


@pytest.mark.parametrize(
    ("owner", "method", "path", "fields"),
    [
        (Translator, "translate_parts", "/v1/translate", {"text": "A cat .\nA dog ."}),
        (
            Scorer,
            "force_encoded",
            "/v1/align",
            {"source_text": "A cat .", "target_text": "Un chat ."},
        ),
    ],
)
def test_work_that_nobody_waits_for_stops(
    make_service: Callable[..., Service],
    served: list[ServedModel],
    loopback_of: Callable[..., Loopback],
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    method: str,
    path: str,
    fields: dict[str, str],
) -> None:
    calls = []
    server = loopback_of(make_service(deadline=600))

    def search(*parts: Any, each_step: Callable[[], object], **_: Any) -> Any:
        calls.append(parts)
        server.skip(600)
        while True:
            each_step()

    monkeypatch.setattr(owner, method, search)
    assert server.post(path, model="en-fr", **fields)[0] == 503
    monkeypatch.undo()
    assert server.post(**CAT)[0] == 200
    assert len(calls) == 1  # nor is it tried again sentence by sentence


def test_the_end_finishes_what_is_running(held_of: Callable[..., Held]) -> None:
    held = held_of()
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(held.post, **CAT) for _ in range(2)]
        wait_until(lambda: sum(map(len, held.batches)) + len(held.service.queue.waiting) == 2)
        ending = threading.Thread(target=held.server.end)
        ending.start()
        wait_until(lambda: not any(one.is_serving() for one in held.server.server.servers))
        assert ending.is_alive()
        held.go.set()
        assert [one.result()[0] for one in running] == [200, 200]
        ending.join(60)
        assert not ending.is_alive()


def test_an_error_inside_is_one_line_for_the_client_and_the_next_request_is_answered(
    make_service: Callable[..., Service], loopback_of: Callable[..., Loopback]
) -> None:
    """Of two sentences in a batch, one that fails alone is an error, and the other is translated."""
    service = make_service()
    work, faults = service.queue.work, [RuntimeError("secret text")] * 3

    def fails(group: Any, tasks: Any) -> Any:
        if faults:
            raise faults.pop()
        return work(group, tasks)

    service.queue.work = fails
    post = loopback_of(service).post
    message = "internal error: the service's log has more"
    assert post(text="A cat .\nA dog .", model="en-fr")[::2] == (
        500,
        {"error": {"message": message, "status": 500}},
    )
    assert post(**CAT)[0] == 200


def test_many_clients_at_once_get_their_own_answers(
    make_service: Callable[..., Service], loopback_of: Callable[..., Loopback]
) -> None:
    post = loopback_of(make_service()).post
    lines = [f"{'The old man sees ' * (n % 5)}a dog number {n} ." for n in range(60)]
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda line: post(text=line, model="en-fr"), lines))
    for line, (status, _, answer) in zip(lines, answers, strict=True):
        assert status == 200
        assert [one["source"] for one in answer["translations"][0]["sentences"]] == [line]
