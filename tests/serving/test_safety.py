"""Keys, origins, headers, logs, the page, and code that is not run."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rnnsearch.errors import InputError
from rnnsearch.serving.app import AppOptions
from rnnsearch.serving.keys import Keys
from rnnsearch.serving.served_models import load_models, model_place

KEY = "a-key-of-some-length"
ASK = {"text": "A cat .", "model": "en-fr"}


def test_without_a_valid_key_nothing_is_translated(client_of: Callable[..., TestClient]) -> None:
    client = client_of(AppOptions(Keys([KEY, "another-key-of-some-length"]), page=None))
    wrong: list[dict[str, str]] = [{}, {"Authorization": f"Bearer {KEY}x"}, {"Authorization": f"Basic {KEY}"}, {"X-API-Key": "é" * 20}]
    for headers in wrong:
        for path in ("/v1/translate", "/v1/align", "/v1/score"):
            answer = client.post(path, json=ASK, headers={name: value.encode() for name, value in headers.items()})
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "API key" in answer.json()["error"]["message"]
        assert client.get("/metrics", headers={name: value.encode() for name, value in headers.items()}).status_code == 401
    for right in ({"Authorization": f"Bearer {KEY}"}, {"X-API-Key": "another-key-of-some-length"}):
        assert client.post("/v1/translate", json=ASK, headers=right).status_code == 200
    for path in ("/health", "/ready", "/languages", "/docs", "/openapi.json"):
        assert client.get(path).status_code == 200


def test_libretranslates_clients_give_their_key_among_the_fields(client_of: Callable[..., TestClient]) -> None:
    client = client_of(AppOptions(Keys([KEY]), page=None))
    fields = {"q": "A cat .", "source": "en", "target": "fr"}
    for path in ("/translate", "/detect"):
        assert client.post(path, json=fields).status_code == 403
        assert client.post(path, json=fields | {"api_key": "wrong"}).json() == {"error": "the API key is not valid"}
        assert client.post(path, json=fields | {"api_key": KEY}).status_code == 200
        assert client.post(path, data=fields | {"api_key": KEY}).status_code == 200
        assert client.post(path, params=fields | {"api_key": KEY}).status_code == 200
    assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_keys_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# of the team\n\n{KEY}\n")
    keys = Keys.read(file)
    assert keys.allows(KEY)
    assert not keys.allows(KEY[:-1])
    assert not keys.allows(None)
    file.write_text("# none\n")
    with pytest.raises(InputError, match="holds no key"):
        Keys.read(file)
    file.write_text(f"{KEY}\nshort\n")
    with pytest.raises(InputError, match=r"keys:2: a key has at least 16 characters"):
        Keys.read(file)
    with pytest.raises(InputError, match="cannot be read"):
        Keys.read(tmp_path / "absent")


def test_every_answer_has_safe_headers(client: TestClient) -> None:
    answers = [
        client.get("/"),
        client.get("/docs"),
        client.get("/nothing"),
        client.post("/v1/translate", json=ASK),
        client.post("/v1/translate", content=b"{"),
        client.post("/v1/translate", content=b"x" * 200_000),
        client.post("/translate", json={}),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "unsafe-inline" not in policy
        assert "unsafe-eval" not in policy.replace("wasm-unsafe-eval", "")
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_other_origins_may_ask_only_if_they_are_named(client: TestClient, client_of: Callable[..., TestClient]) -> None:
    theirs = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in client.options("/v1/translate", headers=theirs).headers
    open_one = client_of(AppOptions(Keys([KEY]), ("https://example.org",), page=None))
    allowed = open_one.options("/v1/translate", headers=theirs)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "https://example.org"
    other = open_one.options("/v1/translate", headers=theirs | {"Origin": "https://other.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("rnnsearch.serving"), "propagate", True)
    caplog.set_level(logging.INFO, "rnnsearch.serving")
    return caplog


def test_logs_hold_no_text_of_users_unless_asked(client_of: Callable[..., TestClient], log: pytest.LogCaptureFixture) -> None:
    def ask(client: TestClient) -> str:
        log.clear()
        secret = "xylophone"
        for path, body in (
            ("/v1/translate", {"text": secret, "model": "en-fr"}),
            ("/v1/translate", {"text": secret, "model": secret}),
            ("/v1/translate", {"text": secret, secret: 1}),
            ("/translate", {"q": secret, "source": "en", "target": "fr"}),
            (f"/{secret}", {}),
            (f"/translate?q={secret}&source=en&target=fr", {}),
        ):
            client.post(path, json=body)
        return log.text

    silent = ask(client_of())
    assert silent.count("POST /v1/translate 200") == 1
    assert silent.count("POST /v1/translate 404") == 1
    assert silent.count("POST /translate 200") == 2
    assert "xylophone" not in silent
    assert "xylophone" in ask(client_of(AppOptions(log_text=True, page=None)))


def test_metrics_count_requests_batches_and_words(client_of: Callable[..., TestClient]) -> None:
    client = client_of()
    client.post("/v1/translate", json={"text": "A cat .\nA dog .", "model": "en-fr"})
    client.post("/v1/translate", json={"text": "A cat .", "model": "none"})
    text = client.get("/metrics").text
    values = dict(re.findall(r"^(\S+?) (\S+)$", text, re.MULTILINE))
    assert values['rnnsearch_requests_total{route="/v1/translate",status="200"}'] == "1.0"
    assert values['rnnsearch_requests_total{route="/v1/translate",status="404"}'] == "1.0"
    assert values["rnnsearch_batch_sentences_sum"] == "2.0"
    assert values["rnnsearch_queue_seconds_count"] == "2.0"
    assert values["rnnsearch_queue_sentences"] == "0.0"
    assert float(values['rnnsearch_words_total{model="en-fr"}']) >= 0
    assert 'rnnsearch_request_seconds_bucket{le="+Inf",route="/v1/translate"}' in values


def test_the_page_of_the_api_shows_every_route_and_loads_nothing(client: TestClient) -> None:
    page = client.get("/docs")
    described = client.get("/openapi.json").json()
    assert set(described["paths"]) >= {"/v1/translate", "/v1/align", "/v1/score", "/translate", "/detect", "/languages", "/health"}
    for path in described["paths"]:
        assert f"{path}</code></h2>" in page.text
    assert "The agreement on the European Economic Area" in page.text
    assert "<script" not in page.text
    assert re.findall(r'(?:src|href)="(?!#|openapi\.json)[^"]*"', page.text) == []
    assert "sha256-" in page.headers["content-security-policy"]
    examples = described["components"]["schemas"]["TranslateRequest"]["examples"]
    assert client.post("/v1/translate", json=examples[0]).status_code == 200


def test_a_page_is_served_from_its_folder_and_nothing_else(client_of: Callable[..., TestClient], tmp_path: Path) -> None:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "assets" / "page.js").write_text("'use strict';")
    (folder / "engine.wasm").write_bytes(b"\0asm")
    (folder / "config.json").write_text('{"engine": "wasm"}')
    (tmp_path / "secret").write_text("secret")
    client = client_of(AppOptions(page=folder))
    assert "<title>page</title>" in client.get("/").text
    assert client.get("/assets/page.js").headers["content-type"] == "text/javascript; charset=utf-8"
    assert client.get("/engine.wasm").headers["content-type"] == "application/wasm"
    config = client.get("/config.json").json()
    assert config["engine"] == "http"
    assert [model["name"] for model in config["models"]] == ["en-fr", "back"]
    for path in ("/../secret", "/%2e%2e/secret", "/assets/../../secret", "/assets", "/assets/", "//etc/passwd"):
        assert client.get(path).status_code == 404


def test_code_that_a_run_names_is_not_executed(tiny_run: Path, tmp_path: Path) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    config = run / "config.toml"
    config.write_text(re.sub(r'alignment = "\w+"', 'alignment = "os:getcwd"', config.read_text()))
    with pytest.raises(InputError, match=r"trust|code"):
        load_models([model_place(str(run))])


@pytest.mark.parametrize(
    ("word", "name", "runs"),
    [
        ("run", "", ("run",)),
        ("en-fr=some/run", "en-fr", ("some/run",)),
        ("news=one+two", "news", ("one", "two")),
    ],
)
def test_a_model_is_named_on_the_command_line(word: str, name: str, runs: tuple[str, ...]) -> None:
    assert model_place(word) == (name, runs)


def test_models_that_cannot_be_named_so(tiny_run: Path) -> None:
    for word in ("a b=run", "=run", "x=", "x=a++b"):
        with pytest.raises(InputError):
            model_place(word)
    with pytest.raises(InputError, match="two models would be called 'en-fr'"):
        load_models([model_place(str(tiny_run)), model_place(str(tiny_run))])
    (both,) = load_models([model_place(f"de-nl={tiny_run}+{tiny_run}")])
    assert (both.source, both.target, len(both.translator.networks)) == ("de", "nl", 2)


def test_a_run_without_language_codes_is_called_as_its_folder(tiny_run: Path, tmp_path: Path) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "my-run")
    config = run / "config.toml"
    config.write_text(re.sub(r'(source|target)_language = "\w+"', r'\1_language = ""', config.read_text()))
    (model,) = load_models([model_place(str(run))])
    assert (model.name, model.source, model.target) == ("my-run", "", "")


def test_fields_of_libretranslate_that_cannot_be(client: TestClient) -> None:
    good: dict[str, Any] = {"q": "A cat .", "source": "en", "target": "fr"}
    for change, says in (
        ({"q": None}, "q is missing"),
        ({"q": 4}, "q is not a text"),
        ({"q": ["a", 4]}, "q is not a text"),
        ({"q": "a\0"}, "NUL"),
        ({"q": "\ud800"}, "surrogate"),
        ({"source": "xx"}, "'xx' is not supported"),
        ({"target": ""}, "target is missing"),
        ({"format": "html"}, "only text"),
        ({"alternatives": -1}, "alternatives"),
        ({"alternatives": "many"}, "alternatives"),
    ):
        answer = client.post("/translate", content=json.dumps(good | change), headers={"Content-Type": "application/json"})
        assert answer.status_code == 400, change
        assert says in answer.json()["error"]
    assert client.post("/translate", content=b"[", headers={"Content-Type": "application/json"}).status_code == 400
    assert client.post("/translate", json=good | {"q": "a" * 2_001}).status_code == 413
    assert client.post("/translate", json=good | {"source": "fr"}).json() == {"translatedText": "A cat ."}
    assert client.post("/detect", json={"q": ""}).json() == []
    two = client.post("/translate", json=good | {"q": ["A cat .", "A dog ."], "alternatives": 1, "source": "auto"}).json()
    assert [len(two[key]) for key in ("translatedText", "alternatives", "detectedLanguage")] == [2, 2, 2]
