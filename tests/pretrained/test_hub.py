"""Models of a hub: fetched by `owner/name` from a stand-in of it on this machine, and nothing but what a
model needs."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from refusals import refusal

from rnnsearch import Translator

COMMIT = "c" * 40


class Hub(BaseHTTPRequestHandler):
    """The two addresses of a hub that a download needs: what a repository holds, and each file."""

    files: dict[str, bytes]
    asked: list[str]
    commit: str
    etag: str
    missing: int
    """Bytes that an answer promises and does not bring."""
    hostile: str
    """What is wrong with the weights: "gzip", "endless", "damaged", or nothing."""

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/someone/en-fr"):
            siblings = [{"rfilename": name} for name in self.files]
            about = {"id": "someone/en-fr", "sha": self.commit, "siblings": siblings}
            return self.answer(json.dumps(about).encode(), "application/json")
        name = path.rpartition("/")[2]
        if name == "model.safetensors" and self.hostile:
            return self.answer_hostilely()
        if name in self.files:
            return self.answer(self.files[name], "application/octet-stream")
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("content-length", "0")
        return self.end_headers()

    def answer_hostilely(self) -> None:
        self.send_response(200)
        if self.hostile == "gzip":
            self.send_header("content-encoding", "gzip")
        if self.hostile != "damaged":
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        parts = {"gzip": gzip.compress(bytes(10**8)), "endless": bytes(1 << 16), "damaged": b"{}"}
        with suppress(OSError):
            while self.hostile == "endless":
                self.wfile.write(b"10000\r\n" + parts["endless"] + b"\r\n")
            part = parts[self.hostile]
            chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(part), part)
            self.wfile.write(part if self.hostile == "damaged" else chunked)

    def answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content) + self.missing))
        self.send_header("ETag", self.etag or f'"{sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", self.commit)
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
    Hub.asked, Hub.commit, Hub.etag, Hub.missing, Hub.hostile = [], COMMIT, "", 0, ""
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
    assert not any(
        "evil.py" in path or "big.bin" in path for path in hub.asked if "/resolve/" in path
    )


def names_in(folder: Path) -> set[str]:
    """Names of all that lies in a folder, but for the cache's own."""
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if "cache" not in path.parts
    }


@pytest.mark.parametrize(
    ("commit", "etag"),
    [
        (COMMIT, '"../../../../NAME"'),
        ("../../../NAME", ""),
        ("../" * 20 + "tmp/NAME", ""),
        ("C" * 40, ""),
    ],
    ids=["ETag", "commit", "commit from the root", "no commit"],
)
def test_a_hostile_hub_writes_nothing_outside_the_cache(
    hub: type[Hub], tmp_path: Path, commit: str, etag: str
) -> None:
    hub.commit, hub.etag = commit, etag
    before = names_in(tmp_path)
    if commit == COMMIT:  # an ETag names nothing
        Translator.from_pretrained("someone/en-fr")
    else:
        with refusal(r"its commit on the hub, '.*', is invalid"):
            Translator.from_pretrained("someone/en-fr")
        assert not (tmp_path / "cache").exists()
    assert names_in(tmp_path) == before
    assert not list(tmp_path.rglob("NAME*"))


def test_a_model_that_was_fetched_needs_no_hub(
    hub: type[Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    Translator.from_pretrained("someone/en-fr")
    asked = len(hub.asked)
    Translator.from_pretrained("someone/en-fr")
    assert not any("/resolve/" in path for path in hub.asked[asked:])
    monkeypatch.setattr("rnnsearch.pretrained.hub.ENDPOINT", "http://127.0.0.1:9")
    assert Translator.from_pretrained("someone/en-fr").translate(["a"])


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        ("gzip", "the hub compressed"),
        ("endless", "the hub sends more than"),
        ("damaged", "model.safetensors"),
    ],
)
def test_nothing_that_is_refused_stays(
    hub: type[Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: str, message: str
) -> None:
    hub.hostile = hostile
    monkeypatch.setattr("rnnsearch.pretrained.hub.LARGEST_MODEL", 10**6)
    with refusal(f"model 'someone/en-fr' cannot be fetched: .*{message}"):
        Translator.from_pretrained("someone/en-fr")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    hub.hostile = ""
    assert Translator.from_pretrained("someone/en-fr").translate(["a"])


def test_a_list_of_names_without_end_is_not_read(
    hub: type[Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rnnsearch.pretrained.hub.LARGEST_LIST", 99)
    with refusal("cannot be fetched: the hub sends more than 99 bytes"):
        Translator.from_pretrained("someone/en-fr")


def test_a_name_that_the_hub_does_not_know_is_one_line(hub: type[Hub]) -> None:
    with refusal(
        r"model 'someone/else' cannot be fetched: .+ \(check its name and the connection\)"
    ):
        Translator.from_pretrained("someone/else")


def test_a_repository_of_something_else_is_refused(hub: type[Hub]) -> None:
    del hub.files["config.toml"]
    with refusal(r"is no model of rnnsearch: it has no config\.toml"):
        Translator.from_pretrained("someone/en-fr")


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with refusal(r"pip install 'rnnsearch\[hub\]'"):
        Translator.from_pretrained("someone/en-fr")
