"""POST /v1/translate: what it answers is what the Translator answers, sentence by sentence, with the white
space of the text."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rnnsearch.serve.service import ServedModel
from rnnsearch.word_links import format_links

TEXT = "  The man sees a dog .  The girls read .\n\n\tA cat sleeps .\r\n"
SENTENCES = ["The man sees a dog .", "The girls read .", "A cat sleeps ."]


def ask(client: TestClient, path: str = "/v1/translate", status: int = 200, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_text_is_translated_sentence_by_sentence_and_keeps_its_white_space(
    client: TestClient, served: list[ServedModel]
) -> None:
    results = [served[0].translator.translate([line], beam=4)[0] for line in SENTENCES]
    answer = ask(client, text=TEXT, source="en", target="fr", beam=4)
    assert answer["model"] == "en-fr"
    (text,) = answer["translations"]
    assert text["text"] == f"  {results[0].text}  {results[1].text}\n\n\t{results[2].text}\r\n"
    assert [one["source"] for one in text["sentences"]] == SENTENCES
    for one, result in zip(text["sentences"], results, strict=True):
        assert one["source_tokens"] == result.source_tokens
        (best,) = one["hypotheses"]
        assert best["text"] == result.text
        assert best["tokens"] == result.tokens
        assert best["score"] == pytest.approx(result.score, abs=1e-4)
        assert best["log_probabilities"] == pytest.approx(result.log_probabilities, abs=1e-4)
        assert "alignment" not in best


def test_n_best_lists_alignments_and_links_on_demand(
    client: TestClient, served: list[ServedModel]
) -> None:
    (result,) = served[0].translator.translate([SENTENCES[0]], beam=4, nbest=3)
    answer = ask(client, text=SENTENCES[0], model="en-fr", nbest=3, alignment=True)
    hypotheses = answer["translations"][0]["sentences"][0]["hypotheses"]
    assert [one["text"] for one in hypotheses] == [
        one.text for one in [result, *result.alternatives]
    ]
    for one in hypotheses:
        assert len(one["alignment"]) == len(one["tokens"])
        assert all(len(row) == len(result.source_tokens) for row in one["alignment"])
        assert all(sum(row) == pytest.approx(1, abs=1e-3) for row in one["alignment"])


def test_a_glossary_binds_for_its_request_alone(
    client: TestClient, served: list[ServedModel]
) -> None:
    terms = {"man": "brave homme", "the": "cette", "a dog": "un toutou"}
    (bound,), (free,) = (
        served[0].translator.translate(SENTENCES[:1], glossary=each) for each in (terms, {})
    )
    assert bound.text != free.text
    for glossary, result in ((terms, bound), ({}, free)):
        answer = ask(client, text=SENTENCES[0], model="en-fr", glossary=glossary)
        assert answer["translations"][0]["text"] == result.text
    for wrong in ({"a": 3}, {"a": ""}, {"": "un"}, {"a": " "}, {"a": "\0"}, {"a": "\u00ad"}):
        ask(client, text="A .", model="en-fr", glossary=wrong, status=422)


def test_beginnings_are_kept_line_by_line(client: TestClient, served: list[ServedModel]) -> None:
    translator = served[0].translator
    (first,), (second,) = (
        translator.translate([SENTENCES[n]], prefix=[p]) for n, p in ((0, "La"), (2, "Un  ch"))
    )
    answer = ask(
        client, text=[SENTENCES[0], "", SENTENCES[2]], prefix=["La", "", "Un  ch"], model="en-fr"
    )
    assert [one["text"] for one in answer["translations"]] == [first.text, "", second.text]
    typed = "Elle  dort .\nUn  ch"
    answer = ask(client, text=f"{SENTENCES[0]}\n{SENTENCES[2]}", prefix=typed, model="en-fr")
    assert answer["translations"][0]["text"].startswith(typed)
    tokens = [one["hypotheses"][0]["tokens"] for one in answer["translations"][0]["sentences"]]
    assert tokens == [["Elle", "dort", "."], second.tokens]
    answer = ask(client, text=SENTENCES[0], prefix="La\0Жук", model="en-fr")["translations"][0]
    (best,) = answer["sentences"][0]["hypotheses"]
    assert (answer["text"], best["unknown_words"]) == (best["text"], ["Жук"])
    assert best["text"].startswith("La Жук")
    for typed in (unicodedata.normalize("NFD", "été "), "ﬁn "):
        (answer,) = ask(client, text=SENTENCES[0], prefix=typed, model="en-fr")["translations"]
        assert answer["text"] == answer["sentences"][0]["hypotheses"][0]["text"]


def test_the_words_to_choose_from(client: TestClient, served: list[ServedModel]) -> None:
    found = served[0].translator.choices(SENTENCES[0], "La ", 3)
    answer = ask(client, "/v1/choices", text=SENTENCES[0], prefix="La ", count=3, model="en-fr")
    assert [one["word"] for one in answer["choices"]] == [one.word for one in found]
    for one, choice in zip(answer["choices"], found, strict=True):
        assert one["probability"] == pytest.approx(choice.probability, rel=1e-3)


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        (
            "translate",
            {"text": "A .", "prefix": ["La"]},
            422,
            "text and prefix must be two texts, or two lists",
        ),
        (
            "translate",
            {"text": ["A ."], "prefix": ["La", "Le"]},
            422,
            "text has 1 texts, but prefix has 2",
        ),
        ("translate", {"text": "A .", "prefix": "La " * 99}, 413, "the beginning has 99 words"),
        (
            "align",
            {"source_text": ["a", "b"], "target_text": ["c"]},
            422,
            "2 texts, but target_text has 1",
        ),
        ("align", {"source_text": "a", "target_text": ["c"]}, 422, "two lists"),
        (
            "align",
            dict.fromkeys(["source_text", "target_text"], ["a"] * 41),
            413,
            "41 pairs, but the limit is 40",
        ),
        ("choices", {"text": "A .", "count": 11}, 422, "count may be 10 at most"),
        ("choices", {"text": "A .", "prefix": "La " * 99}, 413, "the beginning has 99 words"),
    ],
)
def test_bad_beginnings_and_pairs(
    client: TestClient, path: str, body: dict[str, Any], status: int, says: str
) -> None:
    said = ask(client, f"/v1/{path}", **body, model="en-fr", status=status)["error"]["message"]
    assert says in said
    assert "send JSON" not in said


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "name one of en-fr (en to fr), back (fr to en)"),
        (
            {"model": "none"},
            404,
            "there is no model 'none' from 'any' to 'any'; there are en-fr (en to fr), back (fr to en)",
        ),
        ({"source": "de", "target": "fr"}, 404, "there is no model from 'de' to 'fr'"),
        ({"model": "en-fr", "source": "fr"}, 404, "there is no model 'en-fr' from 'fr' to 'any'"),
        ({"model": "en-fr", "beam": 11}, 422, "beam may be 10 at most"),
        ({"model": "en-fr", "nbest": 11}, 422, "nbest at most the beam"),
        ({"model": "en-fr", "beam": 2, "nbest": 3}, 422, "nbest at most the beam"),
        ({"model": "en-fr", "bean": 4}, 422, "bean: Extra inputs are not permitted"),
        ({"model": "en-fr", "text": None}, 422, "text: Input should be a valid string"),
        ({"model": "en-fr", "text": "\ud800"}, 422, "surrogate"),
        ({"model": "en-fr", "text": "a" * 2_001}, 413, "2,001 characters, but the limit is 2,000"),
        ({"model": "en-fr", "text": "A b.\n" * 41}, 413, "sentences, but the limit is 40"),
        ({"model": "en-fr", "text": [""] * 41}, 413, "41 texts, but the limit is 40"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_clear_line(
    client: TestClient, body: dict[str, Any], status: int, says: str
) -> None:
    answer = client.post(
        "/v1/translate",
        content=json.dumps({"text": "a"} | body),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["status"] == status
    assert says in error["message"]
    assert "\n" not in error["message"]
    assert "Traceback" not in answer.text


NESTED = (400, "error parsing the body") if sys.version_info < (3, 14) else (422, "not JSON")


@pytest.mark.parametrize(
    ("content", "kind", "status", "says"),
    [
        (b"{", "application/json", 422, "the body is not JSON (character 1)"),
        # Python 3.14 limits the bytes of the stack, not the levels, and so finds that the end is missing.
        (b"[" * 30_000, "application/json", *NESTED),
        (b'{"text": ' + b"9" * 5_000 + b"}", "application/json", 400, "error parsing the body"),
        (b'{"text": "\xff"}', "application/json", 400, "the body is not UTF-8"),
        (b"[]", "application/json", 422, "valid dictionary"),
        (b"", "application/json", 422, "required"),
        (b'{"text": "a"}', "text/plain", 422, "Content-Type: application/json"),
        (b"text=a", "application/x-www-form-urlencoded", 422, "Content-Type: application/json"),
        (b"x" * 200_000, "application/json", 413, "bytes"),
    ],
)
def test_bodies_that_are_no_request_are_refused(
    client: TestClient, content: bytes, kind: str, status: int, says: str
) -> None:
    answer = client.post("/v1/translate", content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]


def test_alignments_are_those_of_forced_decoding_and_of_the_posterior(
    client: TestClient, served: list[ServedModel]
) -> None:
    pairs = [("The man sees a dog .", "Le chien ."), ("A cat sleeps .", "Un chat .")]
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    for posterior in (False, True):
        expected = served[0].translator.align(pairs, posterior=posterior)
        answer = ask(
            client,
            "/v1/align",
            source_text=sources,
            target_text=targets,
            model="en-fr",
            posterior=posterior,
        )
        for one, result in zip(answer["pairs"], expected, strict=True):
            assert one["links"] == format_links(result.links())
            assert one["tokens"] == result.tokens
            assert [value for row in one["alignment"] for value in row] == pytest.approx(
                result.alignment.flatten().tolist(), abs=1e-4
            )
    links_only = ask(
        client,
        "/v1/align",
        source_text=sources[0],
        target_text=targets[0],
        model="en-fr",
        alignment=False,
    )
    assert "alignment" not in links_only["pairs"][0]


def test_the_requests_of_the_how_to_page_are_answered_by_a_service_with_two_models(
    client: TestClient,
) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/serving.md").read_text("utf-8")
    requests = re.findall(r"/v1/translate -H [^\n]*\\\n +-d '([^']*)'", page)
    assert len(requests) >= 2
    for each in requests:
        ask(client, **json.loads(each))
