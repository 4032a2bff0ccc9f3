"""The page of a preparation: everything that the report says, with names that do not run over the page."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rnnsearch.config import load_config
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.preparing.preparation_page import _relative, page
from rnnsearch.text.preparing.preparation_report import PreparationReport
from rnnsearch.text.preparing.prepare import prepare_texts

SETTINGS = load_config(overrides=["data.tokeniser=space", "data.max_words=3"]).data


@pytest.fixture(autouse=True)
def _no_charts() -> None:
    """Here they are drawn."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def report(folder: Path) -> PreparationReport:
    """Of two texts: a pair too long, an empty one, a tab."""
    names = []
    for name, lines in {"en": ["a b", "c d e f", "a\tb", ""], "fr": ["x", "y", "z", "w"], "more/en": ["g"], "more/fr": ["h"]}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        names.append(folder / name)
    return prepare_texts(parallel_texts(names), folder / "store", settings=SETTINGS, command="rnnsearch prepare it's here")


def test_the_page_shows_the_report(folder: Path, report: PreparationReport) -> None:
    text = (folder / "store" / "report.html").read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<[^>]*>", "", text))
    for expected in (
        "3 of 5 pairs kept (60.00 %)",
        "empty side",
        "always on",
        "data.max_words",
        "c d e f",
        "source: tab in 1 line (first: 3)",
    ):
        assert expected in shown
    assert all(padding.batches in shown for padding in report.padding)
    assert text.count("<svg") == 4


def test_the_page_says_when_and_how_it_was_made(folder: Path, report: PreparationReport) -> None:
    text = (folder / "store" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d", text)
    assert "rnnsearch prepare it&#39;s here" in text
    assert "en (source), fr (target)" in text


def test_names_are_relative_to_the_folder_that_is_named_once(folder: Path, report: PreparationReport) -> None:
    text = (folder / "store" / "report.html").read_text(encoding="utf-8")
    assert text.count(str(folder)) == 1
    assert ">en | fr<" in text
    assert ">more/en | more/fr<" in text


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["/a/b/x | /a/b/y", "/a/c/z"], ("/a", ["b/x | b/y", "c/z"])),
        (["../d/x | ../d/y"], ("../d", ["x | y"])),
        (["x | y"], ("", ["x | y"])),
        (["- | y"], ("", ["- | y"])),
        (["a/x | /b/y"], ("", ["a/x | /b/y"])),
        (["a/x | -"], ("a", ["x | -"])),
        (["pairs in memory"], ("", ["pairs in memory"])),
    ],
)
def test_names_of_every_kind(names: list[str], expected: tuple[str, list[str]]) -> None:
    folder, short = _relative(names)
    assert (folder, list(short.values())) == expected


def test_a_few_very_long_sentences_do_not_hide_the_others(report: PreparationReport) -> None:
    lengths = [0, *[100] * 20, *[0] * 979, 1]
    for side in (report.source, report.target):
        side.lengths, side.longest, side.sentences = lengths, 1000, 2001
    text = page(report, SETTINGS)
    assert "words; longer, not shown: 2 sentences" in text
    (drawn,) = re.findall(r'<svg[^>]*aria-labelledby="lengths-title.*?</svg>', text, re.DOTALL)
    numbers = [element.text for element in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert "20" in numbers
    assert "1k" not in numbers


def test_without_padding_and_samples_there_is_a_page(report: PreparationReport) -> None:
    text = page(replace(report, padding=[], samples=[]), SETTINGS)
    assert 'id="padding"' not in text
