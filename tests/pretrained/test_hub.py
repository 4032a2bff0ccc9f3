"""Models of a hub: fetched by `owner/name` from a stand-in of it on this machine, and nothing but what a model needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from rnnsearch import Translator
from rnnsearch.errors import InputError
from rnnsearch.pretrained.hub import is_hub_name

COMMIT = "c" * 40


class Hub(BaseHTTPRequestHandler):
    """The two addresses of a hub that a download needs: what a repository holds, and each file."""

    files: dict[str, bytes]
    asked: list[str]

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/someone/en-fr"):
            entries = [{"rfilename": name} for name in self.files]
            tree = [{"type": "file", "path": name, "size": len(content), "oid": "0" * 40} for name, content in self.files.items()]
            about = {"_id": "1", "id": "someone/en-fr", "sha": COMMIT, "siblings": entries, "private": False, "downloads": 0, "tags": []}
            return self.answer(json.dumps(tree if "/tree/" in path else about).encode(), "application/json")
        name = path.rpartition(f"/resolve/{COMMIT}/")[2]
        if name in self.files:
            return self.answer(self.files[name], "application/octet-stream")
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("content-length", "0")
        return self.end_headers()

    def answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.send_header("ETag", f'"{sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@pytest.fixture
def hub(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    pytest.importorskip("huggingface_hub", reason="needs the extra `hub`")
    Translator.load(tiny_run).save_pretrained(tmp_path / "model", int8=True)
    Hub.files = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()} | {
        "evil.py": b"raise SystemExit",
        "big.bin": b"0",
    }
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("rnnsearch.pretrained.hub.ENDPOINT", address)
    monkeypatch.setattr("rnnsearch.pretrained.hub.CACHE", str(tmp_path / "cache"))
    yield Hub
    server.shutdown()
    server.server_close()


def test_a_model_of_the_hub_translates_and_brings_no_code(hub: type[Hub], tmp_path: Path) -> None:
    lines = ["The man sees the woman."]
    found = Translator.from_pretrained("someone/en-fr").translate(lines)
    assert found == Translator.from_pretrained(tmp_path / "model").translate(lines)
    assert not any("evil.py" in path or "big.bin" in path for path in hub.asked if "/resolve/" in path)


def test_a_name_that_the_hub_does_not_know_is_one_line(hub: type[Hub]) -> None:
    with pytest.raises(InputError, match=r"model 'someone/else' cannot be fetched: .+ \(check its name and the connection\)"):
        Translator.from_pretrained("someone/else")


def test_a_repository_of_something_else_is_refused(hub: type[Hub]) -> None:
    del hub.files["config.toml"]
    with pytest.raises(InputError, match=r"is no model of rnnsearch: it has no config\.toml"):
        Translator.from_pretrained("someone/en-fr")


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install 'rnnsearch\[hub\]'"):
        Translator.from_pretrained("someone/en-fr")


def test_what_is_a_name_of_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs/one").mkdir(parents=True)
    assert is_hub_name("someone/en-fr")
    assert not any(is_hub_name(word) for word in ("en-fr", "runs/one", "../x", "/a/b", "a/b/c", "./a"))
