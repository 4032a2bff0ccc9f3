"""ApiKeys, origins, headers, logs, pages, and the models that are served."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal
from starlette.testclient import TestClient

from rnnsearch.errors import InputError
from rnnsearch.serve.commands import read_keys
from rnnsearch.serve.routes import digest
from rnnsearch.serve.service import ModelPlace, Options, ServedModel, Service, load_models

from .conftest import client_for

KEY, OTHER = "a-key-of-some-length", "another-key-of-some-length"
KEYS = frozenset(map(digest, (KEY, OTHER)))
ASK = {"text": "A cat .", "model": "en-fr"}


def test_without_a_valid_key_nothing_is_translated(client_of: Callable[..., TestClient]) -> None:
    client = client_of(keys=KEYS)
    bearer = "Authorization"
    wrong = [
        {},
        {bearer: f"Bearer {KEY}x"},
        {bearer: f"Basic {KEY}"},
        {"X-API-Key": ("é" * 20).encode()},
    ]
    paths = ("POST", "/v1/translate"), ("POST", "/v1/align"), ("GET", "/metrics")
    for headers in wrong:
        for method, path in paths:
            answer = client.request(method, path, headers=headers)  # type: ignore[arg-type]
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "API key" in answer.json()["error"]["message"]
    for right in ({bearer: f"Bearer {KEY}"}, {"X-API-Key": OTHER}):
        assert client.post("/v1/translate", json=ASK, headers=right).status_code == 200
    for path in ("/health", "/languages", "/openapi.json"):
        assert client.get(path).status_code == 200
    # LibreTranslate's clients give their key among the fields.
    fields = {"q": "A cat .", "source": "en", "target": "fr"}
    for path in ("/translate", "/detect"):
        assert client.post(path, json=fields).status_code == 403
        refused = client.post(path, json=fields | {"api_key": "wrong"})
        assert "the API key is not valid" in refused.json()["error"]
        for way in ("json", "data", "params"):
            assert client.post(path, **{way: fields | {"api_key": KEY}}).status_code == 200  # type: ignore[arg-type]
    assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_a_page_lists_the_routes_and_loads_nothing(client: TestClient) -> None:
    page = client.get("/docs").text
    assert all(f" {path}</code>" in page for path in client.get("/openapi.json").json()["paths"])
    assert "//" not in page


def test_keys_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# of the team\n\n{KEY}\n")
    assert read_keys(file) == {digest(KEY)}
    for content, message in (
        ("# none\n", "holds no key"),
        (f"{KEY}\nshort\n", r"keys:2: a key has at least 16 characters"),
        (None, "cannot be read"),
    ):
        file.unlink() if content is None else file.write_text(content)
        with refusal(message):
            read_keys(file)


def test_every_answer_has_safe_headers(client: TestClient) -> None:
    for answer in (
        *(client.get(path) for path in ("/", "/health", "/nothing")),
        client.post("/v1/translate", json=ASK),
        client.post("/v1/translate", content=b"{"),
        client.post("/v1/translate", content=b"x" * 200_000),
        client.post("/translate", json={}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "unsafe-inline" not in policy
        assert "unsafe-eval" not in policy.replace("wasm-unsafe-eval", "")
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert not {"server", "access-control-allow-origin"} & set(answer.headers)


def test_other_origins_may_ask_only_if_they_are_named(
    client: TestClient, client_of: Callable[..., TestClient]
) -> None:
    def allowed(asked: TestClient, origin: str) -> str | None:
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        return asked.options("/v1/translate", headers=headers).headers.get(
            "access-control-allow-origin"
        )

    theirs = "https://example.org"
    open_one = client_of(keys=KEYS, origins=(theirs,))
    assert allowed(open_one, theirs) == theirs
    assert allowed(open_one, "https://other.example") is None
    assert allowed(client, theirs) is None
    refused = open_one.post("/v1/translate", json={"text": "a"}, headers={"Origin": theirs})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, theirs)


def test_another_host_s_name_is_refused(client_of: Callable[..., TestClient]) -> None:
    """A page elsewhere whose name is made to stand for this machine sends that name."""
    client = client_of(hosts=("localhost", "127.0.0.1", "[::1]"))
    for host in ("localhost:8000", "127.0.0.1", "[::1]:80", "LOCALHOST"):
        assert client.get("/health", headers={"Host": host}).status_code == 200
    answer = client.get("/health", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "--allowed-host" in answer.json()["error"]["message"]


@pytest.fixture
def log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("rnnsearch.serve"), "propagate", True)
    caplog.set_level(logging.INFO, "rnnsearch.serve")
    return caplog


def test_logs_hold_no_text_of_users(
    client_of: Callable[..., TestClient], log: pytest.LogCaptureFixture
) -> None:
    client, secret = client_of(), "xylophone"
    for path, body in (
        ("/v1/translate", {"text": secret, "model": "en-fr"}),
        ("/v1/translate", {"text": secret, "model": secret}),
        ("/v1/translate", {"text": secret, secret: 1}),
        ("/translate", {"q": secret, "source": "en", "target": "fr"}),
        (f"/translate?q={secret}&source=en&target=fr", {}),
    ):
        client.post(path, json=body)
    client.get(f"/no/such/path?q={secret}")
    assert secret not in log.text
    said = {"GET /no/such/path 404": 1, "POST /v1/translate 200": 1, "POST /v1/translate 404": 1}
    for line, count in (said | {"POST /translate 200": 2}).items():
        assert log.text.count(line) == count


def test_metrics_count_requests_and_words(client_of: Callable[..., TestClient]) -> None:
    client = client_of()

    def values() -> dict[str, float]:
        found = re.findall(r"^(rnnsearch_\S+?) (\S+)$", client.get("/metrics").text, re.MULTILINE)
        return {name: float(value) for name, value in found}

    before = values()
    client.post("/v1/translate", json={"text": "A cat .\nA dog .", "model": "en-fr"})
    client.post("/v1/translate", json={"text": "A cat .", "model": "none"})
    grown = {name: value - before.get(name, 0) for name, value in values().items()}
    assert grown['rnnsearch_request_seconds_count{route="/v1/translate",status="200"}'] == 1
    assert grown['rnnsearch_request_seconds_count{route="/v1/translate",status="404"}'] == 1
    assert grown['rnnsearch_words_total{model="en-fr"}'] > 0


def test_a_page_is_served_from_its_folder_and_nothing_else(client: TestClient) -> None:
    assert "<title>" in client.get("/").text
    assert (
        client.get("/engine/search.js").headers["content-type"] == "text/javascript; charset=utf-8"
    )
    config = client.get("/config.json").json()
    assert (config["engine"], [model["name"] for model in config["models"]]) == (
        "http",
        ["en-fr", "back"],
    )
    for path in (
        "../__init__.py",
        "%2e%2e/errors.py",
        "engine/../../errors.py",
        "engine",
        "engine/",
        "/etc/passwd",
    ):
        assert client.get(f"/{path}").status_code == 404


# ServedModels


def models_of(*words: str, **options: Any) -> list[ServedModel]:
    return load_models(Options(places=list(map(ModelPlace.parse, words)), **options))


def changed_run(run: Path, folder: Path, pattern: str, new: str) -> str:
    config = shutil.copytree(run, folder) / "config.toml"
    config.write_text(re.sub(pattern, new, config.read_text()))
    return str(folder)


def test_code_that_a_run_names_is_not_executed(tiny_run: Path, tmp_path: Path) -> None:
    run = changed_run(tiny_run, tmp_path / "run", r'alignment = "\w+"', 'alignment = "os:getcwd"')
    with refusal(r"trust|code"):
        models_of(run)


def test_a_model_is_named_on_the_command_line(tiny_run: Path) -> None:
    for word, place in {
        "run": ("", "run"),
        "en-fr=some/run": ("en-fr", "some/run"),
    }.items():
        assert ModelPlace.parse(word) == place
    for word in ("a b=run", "=run", "x="):
        with pytest.raises(InputError):
            ModelPlace.parse(word)
    with refusal("two models would be called 'news'"):
        models_of(f"news={tiny_run}", f"news={tiny_run}")
    (other,) = models_of(f"de-nl={tiny_run}", search={"search.beam": 3})
    assert (other.source, other.target, other.translator.settings.search.beam) == ("de", "nl", 3)


@pytest.fixture(scope="module")
def of_one_pair(
    tiny_run: Path, tiny_reverse_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    """What `serve en-fr=run en-fr news=run fr-en` serves, where en-fr and fr-en are installed models."""
    home = tmp_path_factory.mktemp("models")
    for name, run in (("en-fr", tiny_run), ("fr-en", tiny_reverse_run)):
        shutil.copytree(run, home / name)
        (home / name / "log").mkdir(exist_ok=True)
        (home / name / "log" / "examples.json").write_text(
            json.dumps([f"An example of {name}.", "x" * 999])
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RNNSEARCH_MODELS", str(home))
        words = (f"mine={tiny_run}", "en-fr=en-fr", f"news={tiny_run}", "fr-en")
        models = models_of(*words)
    with client_for(Service(models, Options())) as client:
        yield client


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ({"source": "en", "target": "fr"}, "mine"),
        ({"source": "en"}, "mine"),
        ({"model": "news"}, "news"),
        ({"model": "en-fr"}, "en-fr"),
        ({"model": "fr-en", "source": "fr"}, "fr-en"),
    ],
    ids=str,
)
def test_which_model_a_request_means(
    of_one_pair: TestClient, asked: dict[str, str], model: str
) -> None:
    answer = of_one_pair.post("/v1/translate", json={"text": "A cat .", **asked})
    assert answer.json()["model"] == model


def test_only_a_run_is_copied_for_other_processes(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "copies").mkdir()
    with refusal("is not a run"):
        ModelPlace.parse(str(tmp_path / "home")).copied(tmp_path / "copies")
    assert not any((tmp_path / "copies").iterdir())
