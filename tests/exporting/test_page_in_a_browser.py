"""The exported page in a real browser: its engine is Python's, and eyes, fingers, keys and screen readers can use it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from browser import NEEDS_CHROMIUM, Page, browser, static_host

from rnnsearch.exporting.static_page import export_page
from rnnsearch.page import page_files
from rnnsearch.run import Run
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.translation.translator import Translator

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

ODD = [
    *("", " ", "a .. b... c.... .", "Mr. Smith's 'quoted' words' 'again'. e.g. U.S.A. No. 5 and no. Ok 3,000.50, x,y ,z '' it's."),
    *(
        "日本語 テスト。 emoji 😀😀 👨\u200d👩\u200d👧 so\xadft",
        "שלום עולם",
        "l'homme d'état aujourd'hui 'l' a' 'b 5's x 's",
        '▁x▁ < > & " <b>',
    ),
    *("İstanbul ΑΣ ς ﬀ ½ 1'000 % € 5 $5 ( a ) [ b ]", "x" * 3000, "e\u0301" * 50, "DOTMULTI x... \ufeff\u2060 y\u3000z\tq"),
]
ENGINE = """(async () => {{
  const {{ Translator }} = await import("./engine/translator.js");
  const {{ fetchBytes }} = await import("./engine/tensors.js");
  const folder = "models/{name}";
  const text = await (await fetch(`${{folder}}/text.json`)).json();
  const bytes = await fetchBytes(`${{folder}}/model.safetensors`);
  const engine = new Translator(text, bytes), plain = new Translator(text, bytes, true);
  return await ({work})(engine, plain, {given});
}})()"""


@pytest.fixture(scope="module")
def exported(tiny_run: Path, tiny_subword_run: Path, tiny_reverse_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with models of words and of subwords, each in a folder of int8 weights that Python reads, too."""
    folder = tmp_path_factory.mktemp("exported")
    for name, run in (("words", tiny_run), ("subwords", tiny_subword_run), ("fr-en", tiny_reverse_run)):
        Translator.load(run).save_pretrained(folder / name, int8=True)
    export_page([folder / "words", folder / "subwords", folder / "fr-en"], folder / "page")
    return folder


@pytest.fixture(scope="module")
def page(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with static_host(exported / "page") as address, browser(tmp_path_factory.mktemp("profile")) as tab:
        tab.address = address  # type: ignore[attr-defined]
        yield tab


@pytest.fixture
def opened(page: Page) -> Page:
    page.screen(1280)
    page.messages.clear()
    page.open(page.address)  # type: ignore[attr-defined]
    page.wait("document.querySelectorAll('#model option').length === 3 && document.getElementById('loading').hidden")
    page.run("document.getElementById('slowly').checked = false")
    return page


def engine(page: Page, name: str, work: str, given: Any) -> Any:
    return page.run(ENGINE.format(name=name, work=work, given=json.dumps(given)))


def write(page: Page, text: str) -> None:
    page.run("document.getElementById('text').focus(); document.getElementById('text').select()")
    page.press("Backspace") if not text else page.type(text)


def translate(page: Page, text: str) -> str:
    write(page, text)
    page.press("Enter", modifiers=2)
    page.wait("document.getElementById('stop').hidden && !document.getElementById('others').hidden")
    return str(page.run("document.getElementById('output').textContent"))


# The engine


@pytest.mark.parametrize("name", ["words", "subwords"])
def test_products_of_webassembly_are_those_of_plain_javascript(opened: Page, name: str) -> None:
    work = """async (engine, plain, line) => {
      const { ids } = engine.source.encode(line);
      const read = (one) => { const s = one.network.encode(ids); return [...one.network.step(s, s.state, null).logProbabilities]; };
      return [Boolean(engine.network.kernel.sums), Boolean(plain.network.kernel.sums), read(engine), read(plain)];
    }"""
    simd, plain, ours, theirs = engine(opened, name, work, "The man sees the woman.")
    assert (simd, plain) == (True, False)
    assert ours == theirs


@pytest.mark.parametrize(("name", "side"), [("words", "source"), ("subwords", "source"), ("subwords", "target"), ("fr-en", "source")])
def test_lines_become_the_same_ids_and_lines_again(opened: Page, exported: Path, tiny_corpus: Path, name: str, side: str) -> None:
    corpus = {"words": "en", "fr-en": "fr"}.get(name, {"source": "en", "target": "fr"}[side])
    lines = [*ODD, *read_lines(str(tiny_corpus / f"train.{corpus}"))]
    compare_text(opened, exported / name, name, side, lines)


@pytest.mark.parametrize(("side", "language"), [("source", "en"), ("target", "fr")])
def test_ten_thousand_real_lines_become_the_same_ids_five_on_each_side(
    opened: Page, exported: Path, shared_data: Path, side: str, language: str
) -> None:
    files = sorted(shared_data.glob(f"*/*.{language}.gz"))
    lines = list(itertools.chain.from_iterable(itertools.islice(read_lines(str(file)), 1000) for file in files))[:5_000]
    assert len(lines) == 5_000
    compare_text(opened, exported / "subwords", "subwords", side, lines)


def compare_text(page: Page, run: Path, name: str, side: str, lines: list[str]) -> None:
    codec = getattr(Run.open(run), side)
    encoded = [codec.encode(line) for line in lines]
    work = f"""(engine, plain, lines) => lines.map((line) => {{
      const {{ words, ids, wordOf }} = engine.{side}.encode(line);
      return [words, ids, wordOf, engine.{side}.decode(ids).words, engine.{side}.text(words)];
    }})"""
    found = engine(page, name, work, lines)
    for line, ours, theirs in zip(lines, encoded, found, strict=True):
        assert theirs == [ours.words, ours.ids, ours.word_of, codec.decode(ours.ids).words, codec.text(ours.words)], line


@pytest.mark.parametrize("name", ["words", "subwords"])
@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_python_s(opened: Page, exported: Path, tiny_corpus: Path, name: str, beam: int) -> None:
    """In 98 of 100: a rounded sum may differ in its last place, and rarely that decides between two words."""
    lines = [line for file in ("test.en", "dev.en") for line in read_lines(str(tiny_corpus / file))]
    ours = Translator.load(exported / name).translate(lines, beam=beam, nbest=beam)
    work = """async (engine, plain, { lines, beam }) => {
      const found = [];
      const settings = { ...engine.settings, beam, nbest: beam };
      for (const line of lines) found.push(await engine.sentence(line, settings, () => {}, async () => {}));
      return found;
    }"""
    theirs = engine(opened, name, work, {"lines": lines, "beam": beam})
    same = 0
    for one, other in zip(ours, theirs, strict=True):
        first, *rest = other["hypotheses"]
        assert one.source_tokens == other["source_tokens"]
        if first["text"] != one.text:
            continue
        same += 1
        assert first["score"] == pytest.approx(one.score, abs=0.002 * len(one.log_probabilities) + 0.01)
        assert np.array(first["alignment"]).reshape(one.alignment.shape) == pytest.approx(one.alignment, abs=0.02)
        assert len(rest) == len(one.alternatives)
        assert len(first["log_probabilities"]) == len(one.log_probabilities)
    assert same >= 0.98 * len(lines)


def test_a_long_line_is_cut_as_in_python(opened: Page, exported: Path) -> None:
    line = "The man sees the woman. " * 40
    ours = Translator.load(exported / "words").translate([line], beam=1, max_source_length=50)[0]
    work = """async (engine, plain, line) =>
      engine.sentence(line, { ...engine.settings, beam: 1, nbest: 1, max_source_length: 50 }, () => {}, async () => {})"""
    theirs = engine(opened, "words", work, line)
    assert theirs["hypotheses"][0]["tokens"] == ours.tokens
    assert theirs["source_tokens"] == ours.source_tokens
    assert np.array(theirs["hypotheses"][0]["alignment"]) == pytest.approx(ours.alignment, abs=0.02)


def test_a_text_is_cut_into_sentences(opened: Page) -> None:
    text = "Mr. Smith came. He saw (it!) Then 3.5 p.m. and more.\nA line\n\n“Is it?” Yes… no. End"
    work = 'async (engine, plain, text) => (await import("./engine/sentences.js")).sentences(text, engine.abbreviations)'
    expected = ["Mr. Smith came.", "He saw (it!)", "Then 3.5 p.m. and more.", "A line", "“Is it?”", "Yes… no.", "End"]
    assert engine(opened, "words", work, text) == expected


# The page


def test_a_sentence_is_translated_and_drawn(opened: Page, exported: Path) -> None:
    text = "The man sees the woman."
    expected = Translator.load(exported / "words").translate([text], beam=5)[0]
    assert translate(opened, text) == expected.text
    count = "document.querySelectorAll('{}').length"
    assert opened.run(count.format("#matrix tbody tr")) == len(expected.tokens)
    assert opened.run(count.format("#matrix tbody td")) == expected.alignment.size
    assert opened.run(count.format("#lines path")) > 0
    assert opened.run(count.format("#nbest button")) == 5
    assert expected.text in opened.run("document.getElementById('status').textContent")
    assert opened.messages == []


def test_words_come_one_by_one_when_it_goes_slowly(opened: Page) -> None:
    opened.run("document.getElementById('slowly').checked = true")
    opened.run("""window.seen = []; new MutationObserver(() => seen.push(document.querySelectorAll('#matrix tbody tr').length))
      .observe(document.getElementById('matrix'), { childList: true, subtree: true })""")
    write(opened, "The man sees the woman.")
    opened.click("#translate")
    opened.wait("!document.getElementById('replay').disabled && !document.getElementById('others').hidden")
    seen = opened.run("seen")
    assert sorted(set(seen)) == list(range(1, max(seen) + 1))
    assert max(seen) > 2


def test_keys_move_through_steps_words_and_cells(opened: Page) -> None:
    translate(opened, "The man sees the woman.")
    said = "document.getElementById('step-said').textContent"
    last = int(re.search(r"of (\d+)", opened.run(said))[1])  # type: ignore[index]
    opened.run("document.getElementById('step').focus()")
    for _ in range(last + 1):
        opened.press("ArrowLeft")
    assert opened.run(said).startswith(f"Step 1 of {last}")
    assert opened.run("document.getElementById('before').disabled")
    opened.press("ArrowRight")
    assert opened.run(said).startswith(f"Step 2 of {last}")
    assert opened.run("document.querySelectorAll('#lines [aria-current=step]').length") == 1
    opened.run("document.querySelector('#lines ol:last-child button').focus()")
    assert opened.run(said).startswith("Step 1 of")
    assert "looked at" in opened.run("document.activeElement.getAttribute('aria-label')")
    opened.run("document.querySelector('#matrix td[tabindex=\"0\"]').focus()")
    opened.press("ArrowRight")
    opened.press("ArrowDown")
    assert opened.run("document.activeElement === document.querySelectorAll('#matrix tbody tr')[1].querySelectorAll('td')[1]")
    assert re.fullmatch(r".+ ← .+: \d\.\d\d", opened.run("document.getElementById('value').textContent"))
    assert opened.run("document.querySelectorAll('#matrix td[tabindex=\"0\"]').length") == 1


def test_a_source_word_shows_who_read_it(opened: Page) -> None:
    translate(opened, "The man sees the woman.")
    opened.hover("#lines ol:first-child li:nth-child(2) button")
    opened.wait("document.querySelectorAll('#lines path.chosen').length > 0")
    assert opened.run("document.querySelectorAll('#lines ol')[0].children[1].firstChild.style.getPropertyValue('--weight')") == "100%"


def test_other_hypotheses_and_beams(opened: Page) -> None:
    translate(opened, "The man sees the woman.")
    opened.click("#nbest li:nth-child(2) button")
    second = opened.run("document.querySelector('#nbest li:nth-child(2) button span').textContent")
    assert opened.run("document.getElementById('output').textContent") == second
    assert opened.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    opened.click("#compare")
    opened.wait("!document.getElementById('compared').hidden")
    assert opened.run("[...document.querySelectorAll('#compared dt')].map((one) => one.textContent)") == ["Beam 1", "Beam 5"]


def test_several_sentences_and_another_model(opened: Page) -> None:
    translate(opened, "The man sees. The woman sleeps.")
    assert opened.run("document.querySelectorAll('#sentences button').length") == 2
    opened.click("#sentences button:nth-child(2)")
    assert "woman" in opened.run("document.getElementById('lines').textContent")
    opened.run("{ const one = document.getElementById('model'); one.selectedIndex = 2; one.dispatchEvent(new Event('change')); }")
    assert opened.run("document.getElementById('text').lang") == "fr"
    opened.run("document.getElementById('text').value = ''")
    translate(opened, "L'homme voit la femme.")
    assert "L'" in opened.run("document.getElementById('lines').textContent")


@pytest.mark.parametrize(
    ("text", "said"), [("", "There is no text yet"), (" \n ", "There is no text yet"), ("x" * 100_000, "too long: 5,000 characters")]
)
def test_bad_text_gets_a_clear_message(opened: Page, text: str, said: str) -> None:
    opened.run(f"document.getElementById('text').value = {json.dumps(text)}")
    opened.click("#translate")
    assert said in opened.run("document.getElementById('message').textContent")
    assert not opened.run("document.getElementById('message').hidden")


@pytest.mark.parametrize(
    "text", ["😀😀 👨\u200d👩\u200d👧", "שלום עולם, זה מבחן", "<img src=x onerror=document.title='broken'> & <b>bold</b>", "x" * 5000]
)
def test_odd_text_is_shown_as_it_is_and_nothing_hangs(opened: Page, text: str) -> None:
    opened.run(f"document.getElementById('text').value = {json.dumps(text)}")
    opened.click("#translate")
    opened.wait("document.getElementById('stop').hidden")
    assert opened.run("document.querySelectorAll('main img, main b').length") == 0
    assert opened.run("document.title") == "A translator that shows where it looks"
    assert opened.messages == []


def test_a_damaged_model_is_a_message_not_a_silence(exported: Path, tmp_path: Path, tiny_run: Path) -> None:
    export_page([tiny_run], tmp_path / "page")
    file = tmp_path / "page" / "models" / "en-fr" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:5000])
    with static_host(tmp_path / "page") as address, browser(tmp_path) as tab:
        tab.open(address)
        tab.wait("!document.getElementById('message').hidden")
        assert "damaged or was not loaded completely" in tab.run("document.getElementById('message').textContent")
        (tmp_path / "page" / "config.json").unlink()
        tab.open(address)
        tab.wait("!document.getElementById('message').hidden")
        assert "could not be started" in tab.run("document.getElementById('message').textContent")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 380])
def test_nothing_is_cut_off(opened: Page, width: int, dark: bool) -> None:
    opened.screen(width, dark=dark)
    translate(opened, "The man who sees the very famous old European committee of the French ministers loves the woman.")
    assert opened.run("document.documentElement.scrollWidth") <= width
    small = """[...document.querySelectorAll("main button, main select, main textarea")]
      .filter((one) => one.offsetParent && one.offsetHeight < 24)"""
    assert opened.run(f"{small}.length") == 0
    unnamed = """[...document.querySelectorAll("button, select, textarea, input")].filter((one) =>
      !(one.textContent.trim() || one.ariaLabel || one.labels?.length))"""
    assert opened.run(f"{unnamed}.length") == 0


# The same page before a service


class Service(SimpleHTTPRequestHandler):
    """What an HTTP service answers: words, sentences, the end; an error for the text `bad`."""

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked["text"] == "bad":
            return self.answer(400, "application/json", json.dumps({"error": {"message": "bad is refused"}}))
        row = {"text": 0, "sentence": 0, "source_tokens": ["a", "</s>"]}
        hypothesis = {"text": "un deux", "tokens": ["un", "deux"], "score": -1.0, "log_probabilities": [-1, -1, -1]}
        sentence = row | {"source": "a", "hypotheses": [hypothesis | {"alignment": [[0.75, 0.25], [0.5, 0.5]]}]}
        events = [("words", row | {"tokens": ["un"], "alignment": [[0.75, 0.25]]}), ("sentence", sentence), ("done", {"model": "en-fr"})]
        text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
        return self.answer(200, "text/event-stream", text)

    def answer(self, code: int, kind: str, text: str) -> None:
        self.send_response(code)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())


def test_the_page_of_a_service(tmp_path: Path) -> None:
    for name, content in page_files().items():
        (tmp_path / "page" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "page" / name).write_bytes(content)
    config = {"engine": "http", "models": [{"name": "en-fr", "source": "en", "target": "fr"}]}
    (tmp_path / "page" / "config.json").write_text(json.dumps(config))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Service, directory=str(tmp_path / "page")))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with browser(tmp_path) as tab:
            tab.open(f"http://127.0.0.1:{server.server_port}/")
            tab.wait("document.querySelectorAll('#model option').length === 1")
            tab.run("document.getElementById('slowly').checked = false")
            assert translate(tab, "a") == "un deux"
            assert tab.run("document.querySelectorAll('#matrix tbody td').length") == 4
            assert "sent to it" in tab.run("document.getElementById('where').textContent")
            write(tab, "bad")
            tab.click("#translate")
            tab.wait("!document.getElementById('message').hidden")
            assert tab.run("document.getElementById('message').textContent") == "bad is refused"
    finally:
        server.shutdown()
        server.server_close()
