"""POST /v1/translate?stream=true: words as greedy search writes them, sentences as they are done, the whole
at the end."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from rnnsearch.records import Translation
from rnnsearch.serving.routes import Growing
from rnnsearch.serving.served_models import ServedModel
from rnnsearch.serving.service import SentencePlace

TEXTS = ["The man sees a dog .  The girls read .", "A cat sleeps ."]


def events(client: TestClient, **body: Any) -> list[tuple[str, Any]]:
    answer = client.post("/v1/translate?stream=true", json=body)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = []
    for block in answer.text.split("\n\n")[:-1]:
        event, data = block.split("\n")
        found.append((event.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_words_grow_into_sentences_and_sentences_into_the_answer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search waits after each word: on a busy machine all words could come with the sentence."""
    tell = Growing.__call__

    def slowly(self: Growing, place: SentencePlace, so_far: Translation) -> None:
        tell(self, place, so_far)
        time.sleep(0.03)

    monkeypatch.setattr(Growing, "__call__", slowly)
    found = events(client, text=TEXTS, model="en-fr", beam=1, alignment=True, links=True)
    whole = client.post(
        "/v1/translate", json={"text": TEXTS, "model": "en-fr", "beam": 1, "alignment": True, "links": True}
    ).json()
    assert found[-1] == ("done", whole)
    done: dict[tuple[int, int], Any] = {}
    grown: dict[tuple[int, int], list[str]] = {}
    for name, data in found[:-1]:
        place = data["text"], data["sentence"]
        assert place not in done
        if name == "words":
            before = grown.get(place, [])
            assert data["tokens"][: len(before)] == before
            assert len(data["tokens"]) > len(before)
            assert len(data["alignment"]) == len(data["tokens"])
            assert all(len(row) == len(data["source_tokens"]) for row in data["alignment"])
            grown[place] = data["tokens"]
        else:
            assert name == "sentence"
            done[place] = {key: value for key, value in data.items() if key not in ("text", "sentence")}
    for number, text in enumerate(whole["translations"]):
        assert [done[number, n] for n in range(len(text["sentences"]))] == text["sentences"]
    assert len(grown) == 3
    for (number, n), tokens in grown.items():
        best = done[number, n]["hypotheses"][0]["tokens"]
        assert tokens == best[: len(tokens)]


def test_a_larger_beam_sends_whole_sentences_only(client: TestClient) -> None:
    found = events(client, text=TEXTS[0], model="en-fr", beam=3, nbest=2)
    assert [name for name, _ in found] == ["sentence", "sentence", "done"]
    assert all(len(data["hypotheses"]) == 2 for name, data in found if name == "sentence")


def test_a_text_without_sentences_is_done_at_once(client: TestClient) -> None:
    assert events(client, text=" ", model="en-fr") == [
        ("done", {"model": "en-fr", "translations": [{"text": " ", "sentences": []}]})
    ]


def test_what_cannot_be_begun_is_refused_before_the_stream(client: TestClient) -> None:
    assert (
        client.post("/v1/translate?stream=true", json={"text": "a" * 3_000, "model": "en-fr"}).status_code
        == 413
    )
    assert (
        client.post("/v1/translate?stream=perhaps", json={"text": "a", "model": "en-fr"}).status_code == 422
    )


def test_a_slow_reader_gets_the_latest_words_and_nothing_piles_up(served: list[ServedModel]) -> None:
    results = served[0].translator.translate(["A cat ."], beam=1)

    async def run() -> None:
        words = Growing()
        for _ in range(100):
            words(SentencePlace(0, 0), results[0])
            words(SentencePlace(0, 1), results[0])
        await asyncio.sleep(0)
        assert [place for place, _ in words.take({SentencePlace(0, 1)})] == [SentencePlace(0, 0)]
        assert words.take(set()) == []

    asyncio.run(run())
