"""Keys, origins, headers, logs, the page, and code that is not run."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rnnsearch.errors import InputError
from rnnsearch.serving.app import AppOptions, make_app
from rnnsearch.serving.guard import Keys
from rnnsearch.serving.limits import Limits
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.served_models import Models, load_models, model_place
from rnnsearch.serving.service import Service

KEY = "a-key-of-some-length"
ASK = {"text": "A cat .", "model": "en-fr"}


def test_without_a_valid_key_nothing_is_translated(client_of: Callable[..., TestClient]) -> None:
    client = client_of(AppOptions(Keys([KEY, "another-key-of-some-length"]), page={}))
    wrong: list[dict[str, str]] = [
        {},
        {"Authorization": f"Bearer {KEY}x"},
        {"Authorization": f"Basic {KEY}"},
        {"X-API-Key": "é" * 20},
    ]
    for headers in wrong:
        for path in ("/v1/translate", "/v1/align", "/v1/score"):
            answer = client.post(
                path, json=ASK, headers={name: value.encode() for name, value in headers.items()}
            )
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "API key" in answer.json()["error"]["message"]
        assert (
            client.get(
                "/metrics", headers={name: value.encode() for name, value in headers.items()}
            ).status_code
            == 401
        )
    for right in ({"Authorization": f"Bearer {KEY}"}, {"X-API-Key": "another-key-of-some-length"}):
        assert client.post("/v1/translate", json=ASK, headers=right).status_code == 200
    for path in ("/health", "/ready", "/languages", "/docs", "/openapi.json"):
        assert client.get(path).status_code == 200


def test_libretranslates_clients_give_their_key_among_the_fields(
    client_of: Callable[..., TestClient],
) -> None:
    client = client_of(AppOptions(Keys([KEY]), page={}))
    fields = {"q": "A cat .", "source": "en", "target": "fr"}
    for path in ("/translate", "/detect"):
        assert client.post(path, json=fields).status_code == 403
        assert client.post(path, json=fields | {"api_key": "wrong"}).json() == {
            "error": "the API key is not valid"
        }
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


def test_other_origins_may_ask_only_if_they_are_named(
    client: TestClient, client_of: Callable[..., TestClient]
) -> None:
    theirs = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in client.options("/v1/translate", headers=theirs).headers
    open_one = client_of(AppOptions(Keys([KEY]), ("https://example.org",), page={}))
    allowed = open_one.options("/v1/translate", headers=theirs)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "https://example.org"
    other = open_one.options("/v1/translate", headers=theirs | {"Origin": "https://other.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("LOCALHOST", 200),
        ("evil.example", 400),
    ],
)
def test_another_host_s_name_is_refused(client_of: Callable[..., TestClient], host: str, status: int) -> None:
    """A page elsewhere whose name is made to stand for this machine sends that name."""
    client = client_of(AppOptions(hosts=("localhost", "127.0.0.1", "[::1]"), page={}))
    answer = client.get("/health", headers={"Host": host})
    assert answer.status_code == status
    assert status == 200 or "--allowed-host" in answer.json()["error"]["message"]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("rnnsearch.serving"), "propagate", True)
    caplog.set_level(logging.INFO, "rnnsearch.serving")
    return caplog


def test_logs_hold_no_text_of_users_unless_asked(
    client_of: Callable[..., TestClient], log: pytest.LogCaptureFixture
) -> None:
    def ask(client: TestClient) -> str:
        log.clear()
        secret = "xylophone"
        for path, body in (
            ("/v1/translate", {"text": secret, "model": "en-fr"}),
            ("/v1/translate", {"text": secret, "model": secret}),
            ("/v1/translate", {"text": secret, secret: 1}),
            ("/translate", {"q": secret, "source": "en", "target": "fr"}),
            (f"/translate?q={secret}&source=en&target=fr", {}),
        ):
            client.post(path, json=body)
        client.get("/no/such/path?q=xylophone")
        return log.text

    silent = ask(client_of())
    assert "GET /no/such/path 404" in silent
    assert silent.count("POST /v1/translate 200") == 1
    assert silent.count("POST /v1/translate 404") == 1
    assert silent.count("POST /translate 200") == 2
    assert "xylophone" not in silent
    assert "xylophone" in ask(client_of(AppOptions(log_text=True, page={})))


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
    assert set(described["paths"]) >= {
        "/v1/translate",
        "/v1/align",
        "/v1/score",
        "/translate",
        "/detect",
        "/languages",
        "/health",
    }
    for path in described["paths"]:
        assert f"{path}</code></h2>" in page.text
    assert "The agreement on the European Economic Area" in page.text
    assert "L&#39;accord" in page.text  # an answer, as it is read
    assert "<script" not in page.text
    assert re.findall(r'(?:src|href)="(?!#|openapi\.json)[^"]*"', page.text) == []
    assert "sha256-" in page.headers["content-security-policy"]
    examples = described["components"]["schemas"]["TranslateRequest"]["examples"]
    assert client.post("/v1/translate", json=examples[0]).status_code == 200


def test_a_page_is_served_from_its_folder_and_nothing_else(
    client_of: Callable[..., TestClient], tmp_path: Path
) -> None:
    files = {"index.html": b"<title>page</title>", "assets/page.js": b"", "config.json": b"{}"}
    (tmp_path / "secret").write_text("secret")
    client = client_of(AppOptions(page=files))
    assert "<title>page</title>" in client.get("/").text
    assert client.get("/assets/page.js").headers["content-type"] == "text/javascript; charset=utf-8"
    config = client.get("/config.json").json()
    assert config["engine"] == "http"
    assert [model["name"] for model in config["models"]] == ["en-fr", "back"]
    for path in (
        "/../secret",
        "/%2e%2e/secret",
        "/assets/../../secret",
        "/assets",
        "/assets/",
        "//etc/passwd",
    ):
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
    assert model_place(word) == (name, runs, "")


@pytest.mark.parametrize("file", ["model.safetensors", "vocabulary.source.txt", "config.toml"])
def test_a_run_that_has_changed_is_not_loaded_again(tiny_run: Path, tmp_path: Path, file: str) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    place = model_place(str(run)).with_checksum()
    (run / "report.html").write_text("not a part of the model")
    load_models([place])
    (run / file).write_bytes((run / file).read_bytes() + b"\n")
    with pytest.raises(InputError, match="has changed since the service began"):
        load_models([place])


def test_models_that_cannot_be_named_so(tiny_run: Path) -> None:
    for word in ("a b=run", "=run", "x=", "x=a++b"):
        with pytest.raises(InputError):
            model_place(word)
    with pytest.raises(InputError, match="two models would be called 'news'"):
        load_models([model_place(f"news={tiny_run}"), model_place(f"news={tiny_run}")])
    (both,) = load_models([model_place(f"de-nl={tiny_run}+{tiny_run}")])
    assert (both.source, both.target, len(both.translator.networks)) == ("de", "nl", 2)


@pytest.fixture(scope="module")
def of_one_pair(
    tiny_run: Path, tiny_reverse_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    """What `serve en-fr=run en-fr news=run fr-en` serves, where en-fr and fr-en are installed models."""
    home = tmp_path_factory.mktemp("models")
    for name, run in (("en-fr", tiny_run), ("fr-en", tiny_reverse_run)):
        shutil.copytree(run, home / name)
        (home / name / "log").mkdir(exist_ok=True)
        (home / name / "log" / "examples.json").write_text(json.dumps([f"An example of {name}.", "x" * 999]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RNNSEARCH_MODELS", str(home))
        words = (f"en-fr={tiny_run}", "en-fr", f"news={tiny_run}", "fr-en")
        models = Models(load_models([model_place(word) for word in words]))
    app = make_app(Service(models, Limits(), Metrics()), AppOptions())
    with TestClient(app) as client:  # type: ignore[arg-type]
        yield client


def test_models_of_one_pair_have_names_and_a_default(of_one_pair: TestClient, tiny_run: Path) -> None:
    listed = of_one_pair.get("/v1/models").json()["models"]
    names = [tiny_run.name, "en-fr", "news", "fr-en"]
    assert [(one["name"], one["default"]) for one in listed] == list(
        zip(names, (True, False, False, True), strict=True)
    )
    languages = of_one_pair.get("/languages").json()
    assert [(one["code"], one["targets"]) for one in languages] == [("en", ["fr"]), ("fr", ["en"])]
    config = of_one_pair.get("/config.json").json()
    assert config["examples"]["en-fr"] == ["An example of en-fr."]


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ({"source": "en", "target": "fr"}, None),
        ({"source": "en"}, None),
        ({"model": "news"}, "news"),
        ({"model": "en-fr"}, "en-fr"),
        ({"model": "fr-en", "source": "fr"}, "fr-en"),
        ({}, 400),
        ({"model": "news", "source": "fr"}, 404),
        ({"model": "other"}, 404),
    ],
    ids=str,
)
def test_which_model_a_request_means(
    of_one_pair: TestClient, tiny_run: Path, asked: dict[str, str], model: str | int | None
) -> None:
    answer = of_one_pair.post("/v1/translate", json={"text": "A cat .", **asked})
    if isinstance(model, int):
        assert answer.status_code == model
    else:
        assert answer.json()["model"] == (model or tiny_run.name)


def test_a_run_without_language_codes_is_called_as_its_folder(tiny_run: Path, tmp_path: Path) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "my-run")
    config = run / "config.toml"
    config.write_text(re.sub(r'(source|target)_language = "\w+"', r'\1_language = ""', config.read_text()))
    (model,) = load_models([model_place(str(run))])
    assert (model.name, model.source, model.target) == ("my-run", "", "")


def test_fields_of_libretranslate_that_cannot_be(client: TestClient) -> None:
    good: dict[str, Any] = {"q": "A cat .", "source": "en", "target": "fr"}
    for change, says in (
        ({"q": None}, "q: it is not a text"),
        ({"q": 4}, "q: it is not a text"),
        ({"q": ["a", 4]}, "q 2: it is not a text"),
        ({"q": "a\0"}, "NUL"),
        ({"q": "\ud800"}, "surrogate"),
        ({"source": "xx"}, "'xx' is not supported"),
        ({"target": ""}, "target: "),
        ({"format": "html"}, "format: "),
        ({"alternatives": -1}, "alternatives"),
        ({"alternatives": "many"}, "alternatives"),
    ):
        answer = client.post(
            "/translate", content=json.dumps(good | change), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400, change
        assert says in answer.json()["error"]
    assert (
        client.post("/translate", content=b"[", headers={"Content-Type": "application/json"}).status_code
        == 400
    )
    assert client.post("/translate", json=good | {"q": "a" * 2_001}).status_code == 413
    assert client.post("/translate", json=good | {"source": "fr"}).json() == {"translatedText": "A cat ."}
    assert client.post("/detect", json={"q": ""}).json() == []
    two = client.post(
        "/translate", json=good | {"q": ["A cat .", "A dog ."], "alternatives": 1, "source": "auto"}
    ).json()
    assert [len(two[key]) for key in ("translatedText", "alternatives", "detectedLanguage")] == [2, 2, 2]
