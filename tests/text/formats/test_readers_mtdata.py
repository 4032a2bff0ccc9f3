"""The recipe that fetches the paper's corpora: mtdata knows every one of them, and what it writes is read. No network is used."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.text.formats.readers import parallel_texts

ROOT = Path(__file__).resolve().parents[3]
RECIPES = resources.files("rnnsearch") / "recipes"
MTDATA = shutil.which("mtdata")

# Run by mtdata's own Python, which may be that of another environment: its versions of common libraries are not ours.
ENTRIES = """
import json
from mtdata import cache_dir
from mtdata.cache import Cache
from mtdata.index import INDEX
from mtdata.recipe import RECIPES
entries = {}
for did in RECIPES["rnnsearch-paper"].all_dids():
    entry = INDEX[did]
    place = Cache(cache_dir).get_local_path(entry.url, filename=entry.filename, fix_missing=False)
    entries[str(did)] = {"url": entry.url, "files": entry.in_paths, "place": str(place), "sgm": entry.in_ext == "sgm"}
print(json.dumps(entries))
"""


def identifiers() -> dict[str, list[str]]:
    """The corpora of the recipe by part, read without a YAML library: its lines are `part:` and `- corpus`."""
    found: dict[str, list[str]] = {}
    part = ""
    for line in (RECIPES / "mtdata.recipes.rnnsearch.yml").read_text(encoding="utf-8").split("\n"):
        if match := re.fullmatch(r"  (train|dev|test):", line):
            part = match[1]
        elif match := re.match(r"    - (\S+)", line):
            found.setdefault(part, []).append(match[1])
    return found


def test_the_page_names_the_corpora_of_the_recipe() -> None:
    page = (ROOT / "docs/how-to/get-corpora.md").read_text(encoding="utf-8")
    corpora = identifiers()
    assert {part: len(names) for part, names in corpora.items()} == {"train": 5, "dev": 2, "test": 1}
    for name in (name for names in corpora.values() for name in names):
        assert name in page


def text_of(name: str) -> str:
    """Three lines in the language that the name of a file ends in."""
    language = re.search(r"\.(en|fr|eng|fra)(?:\.sgm)?$", name)
    assert language
    return "".join(f"{language[1][:2]} sentence {number} of\u2028{name}\n" for number in range(3))


def content_of(name: str, sgm: bool) -> bytes:
    if not sgm:
        return text_of(name).encode()
    segments = "".join(f'<seg id="{number}">{line}</seg>\n' for number, line in enumerate(text_of(name).split("\n")[:-1], 1))
    return f'<srcset setid="x" srclang="any"><doc docid="1">\n{segments}</doc></srcset>\n'.encode()


def archive_of(url: str, files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    if url.endswith(".zip"):
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in files.items():
                archive.writestr(name.replace("*", "corpus"), content)
    else:
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def archives_of(entries: dict[str, Any]) -> dict[str, bytes]:
    files: dict[str, dict[str, bytes]] = {}
    for entry in entries.values():
        files.setdefault(entry["url"], {}).update({name: content_of(name, entry["sgm"]) for name in entry["files"]})
    return {url: archive_of(url, contents) for url, contents in files.items()}


@pytest.fixture
def proxy() -> Iterator[tuple[str, dict[str, bytes], list[str]]]:
    """(its address, what it serves: to be filled in, what was asked of it)"""
    served: dict[str, bytes] = {}
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if self.path in served else 404)
            self.send_header("Content-Length", str(len(served.get(self.path, b""))))
            self.end_headers()
            self.wfile.write(served.get(self.path, b""))

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", served, asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow  # mtdata lists its 290,000 corpora first
@pytest.mark.skipif(MTDATA is None, reason="needs the command mtdata: pip install 'rnnsearch[fetch]', or an environment of its own")
def test_what_mtdata_fetches_is_read(tmp_path: Path, proxy: tuple[str, dict[str, bytes], list[str]]) -> None:
    address, served, asked = proxy
    environment = os.environ | {"MTDATA": str(tmp_path / "cache"), "MTDATA_RECIPES": str(RECIPES), "http_proxy": address, "no_proxy": ""}
    assert MTDATA
    python = Path(MTDATA).resolve().with_name("python")
    entries = json.loads(subprocess.run([python, "-c", ENTRIES], env=environment, check=True, capture_output=True).stdout)
    for url, archive in archives_of(entries).items():
        if url.startswith("http://"):
            served[url] = archive
        else:  # as if it had been downloaded before
            (place,) = {Path(entry["place"]) for entry in entries.values() if entry["url"] == url}
            place.parent.mkdir(parents=True)
            place.write_bytes(archive)
            place.with_name(f"{place.name}._valid").touch()
    out = tmp_path / "corpora"
    command = [MTDATA, "--no-pbar", "get-recipe", "-i", "rnnsearch-paper", "--no-merge", "--fail-on-error", "-o", str(out)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert sorted(set(asked)) == sorted(served)

    for part, names in identifiers().items():
        folder = out / ("train-parts" if part == "train" else "tests")
        for name, text in zip(names, parallel_texts([folder / f"{name}.{side}" for name in names for side in ("eng", "fra")]), strict=True):
            files = sorted(entries[name]["files"], key=lambda file: ".fr" in file.replace("fr-en", ""))
            expected = [[line.replace("\u2028", " ") for line in text_of(file).split("\n")[:-1]] for file in files]
            assert list(text.pairs()) == list(zip(*expected, strict=True))
