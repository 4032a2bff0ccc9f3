"""POST /v1/translate?stream=true: words as greedy search writes them, sentences as they are done, the whole
at the end."""

from __future__ import annotations

import json
from typing import Any

from starlette.testclient import TestClient

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


def test_words_grow_into_sentences_and_sentences_into_the_answer(client: TestClient) -> None:
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
