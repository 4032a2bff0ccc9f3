"""All kinds of pages have one look, need nothing but themselves, and no text can become a part of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from html_elements import Elements
from jinja2 import UndefinedError
from study_files import study_in

from rnnsearch.figure3 import Panel
from rnnsearch.lab.alignment_report import alignment_page, browsed_run
from rnnsearch.lab.page import render
from rnnsearch.lab.report import ReportOptions, make_report, write_study
from rnnsearch.lab.run_study import Measured
from rnnsearch.lab.test_set import read_test_sets

NASTY = (
    "</script></style></title></svg><script>alert('1')</script><img src=x onerror=alert(2)>{{ 7 * 7 "
    "}}{% raw %}&amp;\"'"
)
OUTSIDE = re.compile(r"https?://(?!www\.w3\.org/)")


def browser(folder: Path, word: str) -> str:
    panel = Panel(word, [word, "</s>"], [word], np.array([[0.5, 0.5]]))
    run = browsed_run(panel, [(0, 0)], {"aer": (1, 2)})
    return alignment_page([{"number": 1, "gold": None, "runs": [run]}], word, word)


def report(folder: Path, word: str) -> str:
    for name, content in (("test.en", f"the {word}\n"), ("test.fr", f"le {word} !\n")):
        (folder / name).write_text(content * 3, "utf-8")
    test = read_test_sets([str(folder / "test.en"), str(folder / "test.fr")])[0]
    systems = {word: {"test": [f"le {word}", "", word]}}
    options = ReportOptions(title=word, command=word)
    return make_report({}, [test], folder / "report", systems=systems, options=options).read_text(
        "utf-8"
    )


def study(folder: Path, word: str) -> str:
    for name in ("t.en", "t.fr"):
        (folder / name).write_text(f"{word}\n", "utf-8")
    text = (
        f"title = {json.dumps(word)}\n"
        + """
    [corpus]
    train = ["t.en", "t.fr"]
    [variants.one]
    [tests.t]
    source = "t.en"
    reference = "t.fr"
    """
    )
    made = study_in(folder, text)
    made.path.mkdir()
    row = {"run": word, "variant": "one", "seed": 1, "status": "failed", "error": word}
    return write_study(made, [Measured(row, {})], word)[1].read_text("utf-8")


KINDS: dict[str, Callable[[Path, str], str]] = {
    "browser": browser,
    "report": report,
    "study": study,
}


@pytest.fixture(scope="module", params=KINDS)
def pages(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """Twice the same page: with a word, and with hostile text in its place."""
    make = KINDS[request.param]
    return make(tmp_path_factory.mktemp("harmless"), "word"), make(
        tmp_path_factory.mktemp("nasty"), NASTY
    )


def test_no_text_becomes_a_part_of_a_page(pages: tuple[str, str]) -> None:
    harmless, nasty = map(Elements, pages)
    kinds, more = ({name for name, _ in elements.found} for elements in (harmless, nasty))
    assert more <= kinds | {"mark"}
    for name in ("script", "style", "title", "h1", "main"):
        assert len(nasty.every(name)) == len(harmless.every(name))
    assert "alert" in nasty.text
    assert "7 * 7" in nasty.text
    assert not [name for _, each in nasty.found for name in each if name.startswith("on")]


def test_a_page_needs_nothing_but_itself(pages: tuple[str, str]) -> None:
    for text in pages:
        assert not OUTSIDE.search(text)
        assert "@import" not in text
        elements = Elements(text)
        assert not {"link", "iframe", "object", "embed", "base"} & {
            tag for tag, _ in elements.found
        }
        loaded = elements.values("src") + elements.values("xlink:href")
        assert all(value.startswith(("#", "data:image/png;base64,")) for value in loaded)
        policy = next(value for value in elements.values("content") if "default-src" in value)
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
        assert "unsafe-inline" not in policy.partition("script-src")[2]
        assert "unsafe-eval" not in policy


def test_all_pages_have_one_look(pages: tuple[str, str], tmp_path: Path) -> None:
    (style,) = re.findall(r"<style>.*?</style>", pages[0], re.DOTALL)
    assert style in browser(tmp_path, "word")
    for needed in (
        "prefers-color-scheme: dark",
        "@media print",
        "max-width: 48rem",
        "position: sticky",
    ):
        assert needed in style


def test_a_page_can_be_listened_to(pages: tuple[str, str]) -> None:
    elements = Elements(pages[0])
    assert {len(elements.every(tag)) for tag in ("h1", "main", "header", "nav")} == {1}
    assert elements.open == []
    ids = elements.values("id")
    assert len(ids) == len(set(ids))
    followed = [value[1:] for value in elements.values("href") if value.startswith("#")]
    assert set(followed) <= set(ids)
    assert "viewport" in elements.values("name")
    assert pages[0].startswith('<!doctype html>\n<html lang="en">')


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("document.html")
