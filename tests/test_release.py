"""What a release is made of agrees with itself."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
README = (
    "See [how](docs/how.md#a), [the paper](https://example.org/p), [here](#x).\n\n<img "
    'src="docs/a.png" alt="A">\n\nEnd.'
)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    if not find_spec("hatchling"):  # builds have it, this environment need not
        interface = ModuleType("interface")
        interface.MetadataHookInterface = object  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    return runpy.run_path(str(ROOT / "hatch_build.py"))


def test_the_citation_has_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == PROJECT["version"]  # type: ignore[index]
    assert re.search(r"^license: (.+)$", citation, re.MULTILINE)[1] == PROJECT["license"]  # type: ignore[index]


def test_a_description_has_whole_links(hook: dict[str, Callable[..., Any]]) -> None:
    text = hook["description"](README, "https://example.org/r")
    assert "[how](https://example.org/r/blob/main/docs/how.md#a)" in text
    assert '<img src="https://example.org/r/raw/main/docs/a.png" alt="A">' in text
    assert "[the paper](https://example.org/p), [here](#x)" in text
    assert hook["addresses"]("https://example.org/r")["Source"] == "https://example.org/r"


def test_without_an_address_a_description_has_no_dead_link(
    hook: dict[str, Callable[..., Any]],
) -> None:
    text = hook["description"](README, "")
    assert text == "See how, [the paper](https://example.org/p), [here](#x).\n\nEnd."
    assert hook["addresses"]("") == {}


def test_the_address_is_that_of_the_environment(
    hook: dict[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RNNSEARCH_URL", "https://example.org/r/")
    assert hook["address"](tmp_path) == "https://example.org/r"
    monkeypatch.delenv("RNNSEARCH_URL")
    assert hook["address"](tmp_path) == ""


def test_no_password_of_the_repository_s_address_gets_into_a_package(
    hook: dict[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RNNSEARCH_URL", "https://name:se@cret@example.org/r.git")
    assert hook["address"](tmp_path) == "https://example.org/r"


def test_pictures_of_containers_have_the_version() -> None:
    texts = [
        (ROOT / name).read_text("utf-8") for name in ("compose.yaml", "docs/how-to/serving.md")
    ]
    named = {one for text in texts for one in re.findall(r"rnnsearch:(\d+\.[\d.]*\d)", text)}
    assert named == {PROJECT["version"].removesuffix(".dev0")}


def test_licences_name_every_direct_requirement() -> None:
    page = (ROOT / "docs/reference/licences.md").read_text("utf-8")
    listed = set(re.findall(r"^\| ([a-z0-9-]+) \| ", page, re.MULTILINE))
    assert {re.split(r"[<>=~ ;\[]", each)[0] for each in PROJECT["dependencies"]} <= listed
