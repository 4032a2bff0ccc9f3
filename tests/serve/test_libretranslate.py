"""LibreTranslate's API: clients that were written for it, its fields, HTML, and texts of unknown languages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

GOOD: dict[str, Any] = {"q": "A cat .", "source": "en", "target": "fr"}
ENGLISH = "The committee will meet on Monday to discuss the budget."
FRENCH = "Le comité se réunira lundi pour discuter du budget."
GERMAN = "Der Ausschuss wird am Montag zusammentreten, um den Haushalt zu beraten."


def test_libretranslatepy(loopback: Any) -> None:
    client = pytest.importorskip("libretranslatepy").LibreTranslateAPI(loopback.address)
    one, two = (
        client.translate(text, "en", "fr") for text in ("The man sees a dog .", "The girls read .")
    )
    assert (
        client.translate("The man sees a dog .  The girls read .\n", "en", "fr")
        == f"{one}  {two}\n"
    )
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["fr"]},
        {"code": "fr", "name": "French", "targets": ["en"]},
    ]
    found = client.detect("Le chien est dans la maison de mon ami.")
    assert found[0]["language"] == "fr"
    assert found[0]["confidence"] > 90


def test_deep_translator(loopback: Any) -> None:
    translator = pytest.importorskip("deep_translator").LibreTranslator
    address = f"{loopback.address}/"
    client = translator(source="en", target="fr", api_key="any", custom_url=address)
    lines = ["the man sees a dog .", "the girls read ."]
    expected = [
        loopback.post("/translate", **GOOD | {"q": line})[2]["translatedText"] for line in lines
    ]
    assert client.translate_batch(lines) == expected
    back = translator(source="French", target="English", api_key="any", custom_url=address)
    answer = loopback.post("/translate", q="le chien .", source="fr", target="en")[2]
    assert back.translate("le chien .") == answer["translatedText"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"q": None}, "q: "),
        ({"q": 4}, "q: "),
        ({"q": ["a", 4]}, "q: "),
        ({"q": "\ud800"}, "surrogate"),
        ({"source": "xx"}, "no model from 'xx' to 'fr'"),
        ({"target": "xx"}, "no model from 'en' to 'xx'"),
        ({"source": "xx", "target": "xx"}, "no model from 'xx' to 'xx'"),
        ({"q": GERMAN, "source": "auto", "target": "de-AT"}, "no model from 'any' to 'de-AT'"),
        ({"target": ""}, "target: "),
        ({"format": "markdown"}, "format: "),
    ],
    ids=str,
)
def test_fields_that_cannot_be(client: TestClient, change: dict[str, Any], says: str) -> None:
    content, kind = json.dumps(GOOD | change), {"Content-Type": "application/json"}
    answer = client.post("/translate", content=content, headers=kind)
    assert answer.status_code == 400
    assert says in answer.json()["error"]


def test_fields(client: TestClient) -> None:
    def post(path: str = "/translate", **change: Any) -> Any:
        return client.post(path, json=GOOD | change)

    kind = {"Content-Type": "application/json"}
    for content, says in (
        (b"[", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'["ab"]', "not a JSON object"),
    ):
        answer = client.post("/translate", content=content, headers=kind)
        assert (answer.status_code, says in answer.json()["error"]) == (400, True)
    assert post(q="a" * 2_001).status_code == 413
    assert post(q=["a"] * 41).status_code == 413
    assert post(source="fr").json() == {"translatedText": "A cat ."}
    assert post("/detect", q="").json() == []
    one = post(q=["A cat .", "A dog ."], alternatives=1, more="ignored").json()["translatedText"]
    assert len(one) == 2
    several = GOOD | {"q": ["A cat .", "A dog ."]}
    for way in ("json", "data", "params"):
        assert client.post("/translate", **{way: several}).json() == {"translatedText": one}  # type: ignore[arg-type]
        assert client.post("/translate", **{way: GOOD}).json() == {"translatedText": one[0]}  # type: ignore[arg-type]


def test_what_is_off_is_answered_as_libretranslate_does(client: TestClient) -> None:
    """The status and the words are those of its app.py."""
    for path, what in (("/suggest", "Suggestions"), ("/translate_file", "Files translation")):
        answer = client.post(path, data={"q": "a"})
        assert (answer.status_code, answer.json()) == (
            403,
            {"error": f"{what} are disabled on this server."},
        )


def test_each_text_of_an_unknown_language_is_judged_by_itself(client: TestClient) -> None:
    def ask(q: Any) -> Any:
        return client.post("/translate", json={"q": q, "source": "auto", "target": "en"})

    there = ask(ENGLISH).json()
    assert there["translatedText"] == ENGLISH  # it is already in the target language
    assert there["detectedLanguage"]["language"] == "en"
    assert 90 < there["detectedLanguage"]["confidence"] < 100
    known = client.post("/translate", json={"q": FRENCH, "source": "fr", "target": "en"}).json()
    both = ask([FRENCH, ENGLISH, GERMAN, ""]).json()
    assert both["translatedText"] == [known["translatedText"], ENGLISH, GERMAN, ""]
    assert [one["language"] for one in both["detectedLanguage"]][:3] == ["fr", "en", "de"]
    refused = ask(GERMAN)
    assert (refused.status_code, "from 'de' to 'en'" in refused.json()["error"]) == (400, True)
    assert "auto" not in refused.json()["error"]


@pytest.mark.parametrize(
    ("text", "target", "language"),
    [
        ("Save", "fr", "en"),
        ("Options", "fr", "en"),
        ("Question", "fr", "en"),
        ("Annuler", "en", "fr"),
        ("Non", "en-GB", "fr"),
    ],
)
def test_a_text_of_an_uncertain_language_is_in_one_that_is_served(
    client: TestClient, text: str, target: str, language: str
) -> None:
    answer = client.post("/translate", json={"q": text, "source": "AUTO", "target": target}).json()
    named = client.post("/translate", json={"q": text, "source": language, "target": target}).json()
    assert answer["detectedLanguage"]["language"] == language
    assert answer["translatedText"] == named["translatedText"]


@pytest.mark.parametrize(
    "codes", [("en-US", "fr"), ("EN", "FR"), ("en", "fr-CA"), ("en_gb", "fr_fr")]
)
def test_a_language_counts_without_its_region(client: TestClient, codes: tuple[str, str]) -> None:
    source, target = codes
    expected = client.post("/translate", json=GOOD).json()
    asked = {"q": GOOD["q"], "source": source, "target": target}
    assert client.post("/translate", json=asked).json() == expected
    asked = {"text": GOOD["q"], "source": source, "target": target}
    answer = client.post("/v1/translate", json=asked).json()
    assert answer["translations"][0]["text"] == expected["translatedText"]


def test_html_keeps_its_tags_and_text_stays_text(client: TestClient) -> None:
    given = {"q": ["<i>A cat</i> &lt;b&gt; .", "A dog ."], "format": "html", "source": "auto"}
    answer = client.post("/translate", json=GOOD | given)
    assert answer.status_code == 200
    assert re.findall("<[^>]*>", str(answer.json()["translatedText"])) == ["<i>", "</i>"]


def test_html_is_that_of_the_translator(
    client: TestClient, served: list[Any], make_service: Callable[..., Any]
) -> None:
    (expected,) = served[0].translator.translate(["The man sees a dog ."])
    asked = GOOD | {"q": "<p>The man sees a dog .</p>\n<hr>", "format": "html"}
    assert client.post("/translate", json=asked).json() == {
        "translatedText": f"<p>{expected.text}</p>\n<hr>"
    }
