"""The page at `/`, in a real browser and with a real service behind it: typed, clicked, moved through by
keys, and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import NEEDS_CHROMIUM, Page

from rnnsearch.serve.routes import TranslateRequest, digest
from rnnsearch.translation.translator import Translator

pytestmark = [pytest.mark.slow, pytest.mark.processes, NEEDS_CHROMIUM]

SENTENCE = "The black cat sleeps."


@pytest.fixture
def page(tab: Page, loopback: Any) -> Page:
    return opened(tab, loopback.address)


def opened(tab: Page, address: str) -> Page:
    tab.open(address)
    tab.wait("document.querySelectorAll('#model option').length === 2")
    tab.run("document.getElementById('slowly').checked = false")
    return tab


def translate(page: Page, text: str) -> str:
    page.run("document.getElementById('text').focus(); document.getElementById('text').select()")
    page.type(text)
    page.press("Enter", modifiers=2)
    page.wait("document.getElementById('stop').hidden && !document.getElementById('others').hidden")
    return str(page.run("document.getElementById('output').textContent"))


def test_it_translates_as_the_translator_does(page: Page, tiny_run: Path) -> None:
    translator = Translator.load(tiny_run)
    assert not page.run("document.getElementById('key-field').checkVisibility()")
    assert translate(page, SENTENCE).strip() == translator.translate([SENTENCE], beam=5)[0].text
    words = translator.translate([SENTENCE], beam=5)[0].tokens
    assert page.run("document.querySelectorAll('#matrix tbody tr').length") == len(words)
    assert page.run("document.querySelectorAll('#nbest li').length") == 5
    assert "sent to it" in page.run("document.getElementById('where').textContent")
    assert "keeps its weights" in page.run("document.getElementById('look-inside').textContent")
    assert page.run("document.querySelectorAll('#output .word').length") == len(words)
    assert not page.messages  # nothing that the Content-Security-Policy forbids


@pytest.mark.skipif(
    "prefix" not in TranslateRequest.model_fields, reason="needs beginnings in /v1/translate"
)
def test_a_translation_is_steered(page: Page, tiny_run: Path) -> None:
    translator = Translator.load(tiny_run)
    was = translate(page, SENTENCE)
    page.click("#output .word:nth-of-type(2)")
    page.wait("document.querySelectorAll('#inside .offered button').length === 8")
    choice = "document.querySelector('#inside .offered button:not([aria-pressed=true])')"
    word, begin = page.run(
        f"[{choice}.querySelector('bdi').textContent, "
        "Number(document.querySelectorAll('#output .word')[1].dataset.begin)]"
    )
    assert word in [one.word for one in translator.choices(SENTENCE, was[:begin])]
    page.run(f"{choice}.click()")
    output = "document.getElementById('output').textContent"
    page.wait(f"{output} !== {json.dumps(was)}")
    gap = " " if was[begin - 1].isalnum() and word[0].isalnum() else ""
    kept = f"{was[:begin]}{gap}{word} "
    expected = translator.translate([SENTENCE], prefix=[kept], beam=5)[0]
    assert page.run(output) == expected.text
    page.click("#undo")
    assert page.run(output) == was
    assert not page.messages


def test_it_obeys_a_glossary(page: Page, tiny_run: Path) -> None:
    terms = {word: f"{word}-bis" for word in ("The", "black", "cat", "sleeps", ".")}
    expected = Translator.load(tiny_run, glossary=terms).translate([SENTENCE], beam=5)[0].text
    assert "-bis" in expected
    field = "document.getElementById('glossary')"
    lines = "\\n\\n".join(f" {term} ={other}" for term, other in terms.items())
    page.run(f"{field}.value = '{lines}'")
    assert page.run("document.getElementById('glossary-field').checkVisibility()")
    assert translate(page, SENTENCE).strip() == expected
    page.run(f"{field}.value = 'cat'")
    page.click("#translate")
    said = page.wait("document.getElementById('message').textContent")
    assert said == "In the glossary, “cat” is not “term = translation”."
    assert not page.messages


def test_a_text_that_the_service_refuses_is_a_clear_message(page: Page) -> None:
    page.run(
        "document.getElementById('text').value = 'cat '.repeat(1000)"
    )  # of 2,000 characters that it takes
    page.click("#translate")
    page.wait("!document.getElementById('message').hidden")
    assert "2,000" in page.run("document.getElementById('message').textContent")


def test_a_service_with_keys_asks_for_one(
    tab: Page,
    loopback_of: Callable[..., Any],
    make_service: Callable[..., Any],
    tiny_run: Path,
) -> None:
    key = "a-key-of-the-service-1"
    opened(tab, loopback_of(make_service(keys=frozenset([digest(key)]))).address)
    assert tab.run("document.getElementById('key-field').checkVisibility()")
    tab.run(f"document.getElementById('text').value = '{SENTENCE}'")
    tab.click("#translate")
    tab.wait("!document.getElementById('message').hidden")
    assert "key" in tab.run("document.getElementById('message').textContent")
    tab.run("document.getElementById('key').focus()")
    tab.type(key)
    expected = Translator.load(tiny_run).translate([SENTENCE], beam=5)[0].text
    assert translate(tab, SENTENCE).strip() == expected
