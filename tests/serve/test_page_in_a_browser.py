"""The exported page in a real browser: its engine is Python's, and eyes, fingers, keys and screen readers can
use it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from browser import NEEDS_CHROMIUM, Page, static_host
from torch import Tensor
from typed_lines import ENGLISH, FRENCH

from rnnsearch.evaluation.confidence import UNSURE
from rnnsearch.kernels import products
from rnnsearch.kernels.int8 import Int8Linear
from rnnsearch.model.decoder import Decoder, DecoderState, Source
from rnnsearch.run import Run
from rnnsearch.serve.export import export_page, write_browser_model
from rnnsearch.system.tensors import quantised, scales_of
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.translation.copied import faithful_words
from rnnsearch.translation.reading import encode_faithfully
from rnnsearch.translation.translator import Translator

pytestmark = [pytest.mark.slow, pytest.mark.processes, NEEDS_CHROMIUM]
SHIPPED = Path(__file__).parents[2] / "models" / "src" / "rnnsearch_models"
UNKNOWN_WORDS = pytest.mark.filterwarnings("ignore:.*does not know these words of the beginning")

ODD = [
    *(
        "",
        " ",
        "a .. b... c.... .",
        "Mr. Smith's 'quoted' words' 'again'. e.g. U.S.A. No. 5 and no. Ok 3,000.50, x,y ,z '' it's.",
    ),
    *(
        "日本語 テスト。 emoji 😀😀 👨\u200d👩\u200d👧 so\xadft",
        "שלום עולם",
        "l'homme d'état aujourd'hui 'l' a' 'b 5's x 's",
        '▁x▁ < > & " <b>',
    ),
    *(
        "İstanbul ΑΣ ς ﬀ ½ 1'000 % € 5 $5 ( a ) [ b ]",
        "x" * 3000,
        "e\u0301" * 50,
        "DOTMULTI x... \ufeff\u2060 y\u3000z\tq",
    ),
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


class ExactProducts(Int8Linear):
    """The int8 products of a CPU with VNNI, on any: others quantise inputs to 63 steps, the page to 127."""

    def __init__(self, matrix: torch.Tensor, bias: torch.Tensor | None, *inputs: Any) -> None:
        super().__init__(matrix, bias, *inputs)
        self.limit, self.integers = 127, quantised(matrix)[0].double()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1]).float()
        scales = scales_of(rows, self.limit)
        y = ((rows / scales).round().double() @ self.integers.T).float() * self.scales * scales
        return (
            (y if self.bias is None else y + self.bias)
            .view(*x.shape[:-1], len(self.scales))
            .to(x.dtype)
        )


@pytest.fixture(autouse=True)
def _products_of_any_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "Int8Linear", ExactProducts)


@pytest.fixture(scope="module")
def exported(
    tiny_run: Path,
    tiny_subword_run: Path,
    tiny_reverse_run: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A page with models of words and of subwords, each in a folder of int8 weights that Python reads,
    too."""
    folder = tmp_path_factory.mktemp("exported")
    for name, run in (
        ("words", tiny_run),
        ("subwords", tiny_subword_run),
        ("fr-en", tiny_reverse_run),
    ):
        Translator.load(run).save_pretrained(folder / name, int8=True)
    export_page([folder / "words", folder / "subwords", folder / "fr-en"], folder / "page")
    return folder


@pytest.fixture(scope="module")
def address(exported: Path) -> Iterator[str]:
    with static_host(exported / "page") as address:
        yield address


@pytest.fixture
def opened(tab: Page, address: str) -> Page:
    tab.open(address)
    tab.wait(
        "document.querySelectorAll('#model option').length === 3 && document.getElementById('loading').hidden"
    )
    tab.run("document.getElementById('slowly').checked = false")
    return tab


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


@pytest.mark.parametrize(
    ("name", "side"),
    [("words", "source"), ("subwords", "source"), ("subwords", "target"), ("fr-en", "source")],
)
def test_lines_become_the_same_ids_and_lines_again(
    opened: Page, exported: Path, tiny_corpus: Path, name: str, side: str
) -> None:
    corpus = {"words": "en", "fr-en": "fr"}.get(name, {"source": "en", "target": "fr"}[side])
    lines = [*ODD, *read_lines(str(tiny_corpus / f"train.{corpus}"))]
    compare_text(opened, exported / name, name, side, lines)


def compare_text(page: Page, run: Path, name: str, side: str, lines: list[str]) -> None:
    codec = getattr(Run.open(run), side)
    encoded = [codec.encode(line) for line in lines]
    work = f"""(engine, plain, lines) => lines.map((line) => {{
      const {{ words, ids, wordOf }} = engine.{side}.encode(line);
      return [words, ids, wordOf, engine.{side}.decode(ids).words, engine.{side}.text(words)];
    }})"""
    found = engine(page, name, work, lines)
    for line, ours, theirs in zip(lines, encoded, found, strict=True):
        assert theirs == [
            ours.words,
            ours.ids,
            ours.word_of,
            codec.decode(ours.ids)[0],
            codec.text(ours.words),
        ], line


@pytest.mark.parametrize(
    ("model", "typed"), [("en-fr", [*ENGLISH, *ODD]), ("fr-en", [*FRENCH, *ODD])]
)
def test_what_is_typed_in_haste_is_read_as_in_python(
    opened: Page, tmp_path: Path, model: str, typed: list[str]
) -> None:
    """By the words that a shipped model knows."""
    run = Run.open(SHIPPED / model)
    write_browser_model(run, tmp_path / "model")
    side = json.loads((tmp_path / "model" / "text.json").read_text("utf-8"))["source"]
    codec = run.source
    ours = [encode_faithfully(codec, faithful_words(codec, line), "xx") for line in typed]
    work = """async () => {
      const { Codec } = await import("./engine/codec.js");
      const { faithfulWords } = await import("./engine/copied.js");
      const { encodeWordsFaithfully } = await import("./engine/reading.js");
      const [side, lines] = GIVEN, codec = new Codec(side);
      return lines.map((line) => encodeWordsFaithfully(codec, faithfulWords(codec, line), "xx"));
    }"""
    found = opened.run(f"({work.replace('GIVEN', json.dumps([side, typed]))})()")
    for line, one, other in zip(typed, ours, found, strict=True):
        assert (other["words"], other["ids"]) == (one.words, one.ids), line
        assert other["wordOf"] == one.word_of, line


@pytest.mark.parametrize("name", ["words", "subwords"])
@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_python_s(
    opened: Page, exported: Path, tiny_corpus: Path, name: str, beam: int
) -> None:
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
        assert first["score"] == pytest.approx(
            one.score, abs=0.002 * len(one.log_probabilities) + 0.01
        )
        assert np.array(first["alignment"]).reshape(one.alignment.shape) == pytest.approx(
            one.alignment, abs=0.02
        )
        assert first["confidence"] == pytest.approx(one.confidence, abs=0.02)
        assert len(rest) == len(one.alternatives)
        assert len(first["log_probabilities"]) == len(one.log_probabilities)
    assert same >= 0.98 * len(lines)


@UNKNOWN_WORDS
@pytest.mark.parametrize("name", ["words", "subwords"])
def test_beginnings_are_completed_as_in_python(
    opened: Page, exported: Path, tiny_corpus: Path, name: str
) -> None:
    """In 98 of 100, as above: cut anywhere, from the best translation and from that of the line before."""
    lines = list(read_lines(str(tiny_corpus / "train.en")))[:150]  # for each of the two models
    translator = Translator.load(exported / name)
    texts = [one.text for one in translator.translate(lines, beam=2)]
    typed = [texts[k - k % 3 % 2][: 1 + 7 * k % 23] for k in range(len(texts))]
    how: dict[str, Any] = {"beam": 2, "nbest": 2, "settings": {"search.max_length_ratio": 9}}
    ours = translator.translate(lines, prefix=typed, **how)
    words = [
        translator.choices(line, prefix)[:2] for line, prefix in zip(lines[:8], typed, strict=False)
    ]
    work = """async (engine, plain, { lines, typed }) => {
      const { choices } = await import("./engine/choices.js");
      const settings = { ...engine.settings, beam: 2, nbest: 2, max_length_ratio: 9 };
      const found = [];
      for (const [k, line] of lines.entries()) found.push(await engine.sentence(line, { ...settings, prefix: typed[k] }, null, async () => {}));
      return [found, lines.slice(0, 8).map((line, k) => choices(engine, { line, prefix: typed[k] }).slice(0, 2))];
    }"""
    theirs, chosen = engine(opened, name, work, {"lines": lines, "typed": typed})
    same = 0
    for one, other, beginning in zip(ours, theirs, typed, strict=True):
        best = other["hypotheses"][0]
        assert best["text"].startswith(beginning.rstrip())
        subwords = len(best["log_probabilities"]) - len(one.log_probabilities)
        if best["text"] == one.text and not subwords:  # subwords without letters may be fewer
            same += 1
            assert best["tokens"] == one.tokens
            assert best["score"] == pytest.approx(
                one.score, abs=0.002 * len(one.log_probabilities) + 0.01
            )
    assert same >= 0.98 * len(lines)
    for mine, other in zip(words, chosen, strict=True):
        assert [one["word"] for one in other] == [one.word for one in mine]
        assert [one["probability"] for one in other] == pytest.approx(
            [one.probability for one in mine], abs=2e-3
        )


FAITHFUL = [
    "The man sees 😀 Ms Zdravković at https://example.org/a?b=1.",
    "THE WOMAN READS THE BOOK",
    "Write to anna@example.org, 12,345 times!",
    "The 田中 don’t see #them in 2013",
    "The man SEES the woman.",
    "The 👍🏽🎉 man {{ name }} sees %d <b>books</b> for $1,234.56, 12 thousand %s.",
    "🌷 <br/>",
    "The <i id='a b'>man</i> of <name> sees <b>the <i>woman</i></b> .",
    "Woman",
    "The Man!",
    "the man",
    "- the woman sees, and it's a book of 3 men",
    "THE MAN",
    "WOMAN!!!",
    "The man & A WOMAN'S BOOK IN U.S.",
    "A MAN'S BOOK IS IN THE U.S.",
    "get_name() sees the man now",
    "The Woman Sees the Books of Zdravković",
    "3 men see the woman's book, friend",
    "the woman of munich sees 3 men now",
    "## The **man** sees ~~the~~ [book](https://example.org/a_b) `a b` now.",
    "The “man” sees **the woman** ![with](a.png) the [**old** book](b.md)[^1] ** of 20 m².",
    "The man pays 10 000,25 at 5:30 pm on +33 1 45 67, in C:\\a or get_name().",
    "  - 3) The man pays 10 000 € or $ 15.",
    "b. The 3rd man pays 6 thousand million to a.b(c) at 2024-05-15T10:30Z.",
    "Not 20 kg, but 500ml, 3m or 16 GB of 2 trillion for €3 trillion and $2tn, 4 lbs.",
    "The two hundred and six men see the twenty-first woman at three forty-five.",
    "Twenty-five men pay one million two hundred thousand euros and fifty-two in nineteen eighty-four.",
    "A thirty-two-year-old man sees eighty books of fifty-five cents and the hundred and twenty-first woman.",
    "In nineteen eighty-four at six fifteen, five-thirty; a hundred and fifty, cent six, one million two.",
    "Soixante quatre vingts, mil neuf cent six, vingt et une, ten per cent two, twenty first, deux mille un",
    "Tous deux cinquante ans, un quinzième, two thirty-year-old men, the eighty-second man, six heures trente",
    "The man sees 45 euros, $1 and £7 of 3 dollars; 12 pounds, 5 $ million.",
    "10 000 men pay at 12 pm and 5-7 pm: No. 3 is the 1st woman of 1ères, Ver and Ier.",
    "The man sees 3rd books on the 4th of 42:15, 18h or 45 k€ in 1 200 men, 99 h 15.",
    "hello.how is node.js of com.example.thing :viens :name :a_b, $5 /month and /home",
    "The man XIV and woman XVI see XX books of IV and XL.",
    "B. The **old man** sees \\*two\\* books: 2 * 3 * 4 of C:/a/b.txt, $HOME/c and ftp://a.org/b.",
    "They see 2 in 10 minutes, 1 in 5 men and seventy two books of ninety thousand six.",
    '•The man sees one\\n\\ttwo in C# v1.2.3-beta [of](a_(b) "c d") <anna@example.org>, 5× A+.',
    "One two three men, two hundred, a hundred and first, six cent douze, 3 forty-six.",
    "The man pays $5-10, €5-€10, £2–3bn or 5-10 €.",
    "They see two trillion men, trillions, in 2 h.",
    "The man's 40s of the 1960s: 1 in 5 men, 7 out of 10, -5 %, from 2 to 4 pm on the 5th, 1 July, 8AM.",
    "A 5-inch book of 12,450 men, 9h-18h, 1m85, moins 10 degrés, 3 sur 4, François Ier, 2E ÉTAGE, 9am-5pm.",
    "The man pays $5.30 and 5.30 kg for 5.30 % at 5.30 pm, 7.45 times.",
    "The man is in 8:00 - 20:00, 9h30–12h, 10:00-11:30 am and 1:00-2:30 pm, open Mon-Fri, Tue. 5 Jan. 3 pm.",
    "The woman sees 3 × 4.50 € = 13.50 €, 4 £ and 5 £, lun.-sam. 3 sept. Wed 3 pm.",
    "The 2nd woman pays $30bn, £1m, $5k, US$5, € 7 and €30 billion to No. 7 before 5:30pm.",
]


@UNKNOWN_WORDS
@pytest.mark.parametrize("name", ["words", "subwords"])
@pytest.mark.parametrize("begun", [False, True])
def test_names_and_numbers_are_held_as_in_python(
    opened: Page, exported: Path, name: str, begun: bool
) -> None:
    how: dict[str, Any] = {
        "beam": 2,
        "settings": {
            "translation.faithful": True,
            "translation.split_sentences": False,
            "search.max_length_ratio": 9,
        },
    }
    translator = Translator.load(exported / name)
    ours = translator.translate(FAITHFUL, **how)
    readable = ["The" in line or "Write" in line for line in FAITHFUL]
    typed = [
        one.text[: len(one.text) // 2 * (begun and some)]
        for one, some in zip(ours, readable, strict=True)
    ]
    ours = translator.translate(FAITHFUL, prefix=typed, **how)
    given = list(zip(FAITHFUL, typed, strict=True))
    work = """async (engine, plain, lines) => {
      const settings = { ...engine.settings, beam: 2, nbest: 2, faithful: true, max_length_ratio: 9 };
      const found = [];
      for (const [line, prefix] of lines) found.push(await engine.sentence(line, { ...settings, prefix }, null, async () => {}));
      return found;
    }"""
    for one, other in zip(ours, engine(opened, name, work, given), strict=True):
        best = other["hypotheses"][0]
        assert (other["source_tokens"], best["tokens"]) == (one.source_tokens, one.tokens)
        assert best["doubtful_numbers"] == one.doubtful_numbers
        assert best["unknown_words"] == one.unknown_words
        assert np.array(other["hypotheses"][0]["alignment"]) == pytest.approx(
            one.alignment, abs=0.02
        )
        assert other["hypotheses"][0]["confidence"] == pytest.approx(one.confidence, abs=0.02)


def changed_attention(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[int, Tensor], Tensor]
) -> None:
    """Changes α of every step, counted from 0, of the next search. Of the weights (1, 1, source), `change`
    returns others."""
    attend, steps = Decoder.attend, itertools.count()

    def attend_elsewhere(
        decoder: Decoder, state: DecoderState, source: Source, known: Tensor | None
    ) -> tuple[DecoderState, Tensor]:
        attended, energies = attend(decoder, state, source, known)
        weights = change(next(steps), attended.weights)
        return replace(attended, weights=weights, context=source.context(weights)), energies

    monkeypatch.setattr(Decoder, "attend", attend_elsewhere)


@pytest.mark.parametrize("name", ["words", "subwords"])
def test_what_if_decoding_is_python_s(
    opened: Page, exported: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks at one word at a step, and never at another one from there on; the trace is that of the step."""
    line, step, only, hidden = "The man sees the woman in Paris.", 2, 4, 1
    translator = Translator.load(exported / name)
    (encoded,) = translator.parts(line)
    place = encoded.word_of.index

    def change(i: int, weights: Tensor) -> Tensor:
        changed = weights.clone()
        if i >= step:
            changed[..., place(hidden)] = 0
        if i == step:
            changed = torch.zeros_like(weights)
            changed[..., place(only)] = 1
        return changed / changed.sum(-1, keepdim=True)

    changed_attention(monkeypatch, change)
    ours = translator.translate([line], beam=1)[0]
    work = """async (engine, plain, { line, step, only, blanked }) => {
      const { inside, onward } = await import("./engine/inside.js");
      const { hypotheses } = await engine.sentence(line, { ...engine.settings, beam: 1, nbest: 1 }, () => {}, async () => {});
      const question = { line, ids: hypotheses[0].ids, step, beam: 1, change: { temperature: 1, only, blanked, word: null } };
      return [hypotheses[0], onward(engine, question), inside(engine, question), inside(engine, { ...question, change: null })];
    }"""
    given = {"line": line, "step": step, "only": place(only), "blanked": [place(hidden)]}
    before, theirs, changed, plain = engine(opened, name, work, given)
    if encoded.word_of.count(only) == encoded.word_of.count(hidden) == 1:
        assert theirs["tokens"] == ours.tokens
        assert np.array(theirs["alignment"]) == pytest.approx(ours.alignment, abs=0.02)
    assert changed["weights"][place(only)] == 1
    assert sum(plain["weights"]) == pytest.approx(1)
    chosen = next(one for one in plain["likeliest"] if one["chosen"])
    assert np.log(chosen["p"]) == pytest.approx(before["log_probabilities"][step], abs=1e-4)
    assert chosen["rank"] == 1
    assert plain["energies"] == changed["energies"]
    softmax = np.exp(plain["energies"] - np.max(plain["energies"]))
    assert plain["weights"] == pytest.approx(softmax / softmax.sum(), abs=1e-5)


def test_a_long_line_is_cut_as_in_python(opened: Page, exported: Path) -> None:
    line = "The man sees the woman. " * 40
    ours = Translator.load(exported / "words").translate(
        [line], beam=1, settings={"translation.max_source_length": 50}
    )[0]
    work = """async (engine, plain, line) =>
      engine.sentence(line, { ...engine.settings, beam: 1, nbest: 1, max_source_length: 50 }, () => {}, async () => {})"""
    theirs = engine(opened, "words", work, line)
    assert theirs["hypotheses"][0]["tokens"] == ours.tokens
    assert theirs["source_tokens"] == ours.source_tokens
    assert np.array(theirs["hypotheses"][0]["alignment"]) == pytest.approx(ours.alignment, abs=0.02)


def test_a_text_is_cut_into_sentences(opened: Page) -> None:
    text = "Mr. Smith came. He saw (it!) Then 3.5 p.m. and more.\nA line\n\n“Is it?” Yes… no. End"
    work = 'async (engine, plain, text) => (await import("./engine/sentences.js")).sentences(text, engine.rules)'
    expected = [
        "Mr. Smith came.",
        "He saw (it!)",
        "Then 3.5 p.m. and more.",
        "A line",
        "“Is it?”",
        "Yes… no.",
        "End",
    ]
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


def test_words_of_low_confidence_are_shaded(opened: Page, exported: Path) -> None:
    text = "The man sees the woman."
    expected = Translator.load(exported / "words").translate([text], beam=5)[0]
    translate(opened, text)
    titles = "[...document.querySelectorAll('#output .unsure')].map((one) => [one.textContent, one.title])"
    unsure = [
        word
        for word, value in zip(expected.tokens, expected.confidence, strict=True)
        if value < UNSURE
    ]
    found = opened.run(titles)
    assert [word for word, _ in found] == unsure
    assert opened.run("document.getElementById('unsure').hidden") is False
    assert all(re.fullmatch(r"unsure \(\d\d? %\)", title) for _, title in found)
    assert unsure


def test_words_come_one_by_one_when_it_goes_slowly(opened: Page) -> None:
    opened.run("document.getElementById('slowly').checked = true")
    opened.run("""window.seen = []; new MutationObserver(() => seen.push(document.querySelectorAll('#matrix tbody tr').length))
      .observe(document.getElementById('matrix'), { childList: true, subtree: true })""")
    write(opened, "The man sees the woman.")
    opened.click("#translate")
    opened.wait(
        "!document.getElementById('replay').disabled && !document.getElementById('others').hidden"
    )
    seen = opened.run("seen")
    assert sorted(set(seen)) == list(range(1, max(seen) + 1))
    assert max(seen) > 2


def test_a_word_opens_the_inside_of_its_step_by_keys(opened: Page) -> None:
    translate(opened, "The man sees the woman.")
    opened.run("document.querySelector('#output .word').focus()")
    opened.press("ArrowRight")
    word = opened.run("document.activeElement.textContent")
    opened.press("Enter")
    opened.wait("document.querySelectorAll('#inside .words li').length >= 10")
    assert opened.run("document.querySelector('#output [aria-expanded=true]').textContent") == word
    assert word in opened.run("document.querySelector('#inside h3').textContent")
    assert opened.run("document.querySelectorAll('#inside .energies tbody tr').length") == 7
    assert (
        opened.run("document.querySelectorAll('#inside svg.strip:not([aria-label])').length") == 0
    )
    opened.press("Escape")
    assert opened.run("document.getElementById('inside').hidden")
    assert opened.run("document.activeElement.textContent") == word
    assert opened.messages == []


def test_attention_is_moved_and_what_follows_changes(opened: Page) -> None:
    was = translate(opened, "The man sees the woman.")
    opened.click("#output .word:nth-of-type(2)")
    opened.wait("document.querySelectorAll('#inside .words li').length >= 10")
    opened.click("#inside .energies tbody tr:nth-child(5) button")
    weight = "document.querySelector('#inside .energies tbody tr:nth-child(5) .weight').textContent"
    opened.wait(f"{weight} === '100 %' && !!document.querySelector('.onward .now')")
    assert was in opened.run("document.querySelector('.onward .note').textContent")
    opened.click("#inside .what-if > button")
    opened.wait("!document.querySelector('.onward .now')")
    opened.click("#inside .close")
    assert opened.run("document.getElementById('inside').hidden")
    assert opened.messages == []


FIELD = "document.getElementById('field')"
OUTPUT = "document.getElementById('output').textContent"


def test_a_translation_is_steered_by_keys(opened: Page) -> None:
    """What is typed is kept, and the rest is translated again; a word is chosen; both are undone."""
    was = translate(opened, "The man sees the woman. The woman sleeps.")
    opened.run("document.querySelector('#output .word').focus()")
    opened.press("ArrowRight")
    kept = was[: int(opened.run("document.activeElement.dataset.begin"))]
    opened.press("q")  # types over the second word
    opened.wait(
        f"document.getElementById('status').textContent === 'Translation: ' + {FIELD}.value"
    )
    typed = opened.run(f"{FIELD}.value")
    assert typed.startswith(f"{kept}q")
    assert typed != was
    assert opened.run(f"{FIELD}.selectionStart") == len(f"{kept}q")
    assert opened.run("document.querySelectorAll('#output .changed').length") > 0
    opened.press("Tab")  # accepts the rest of the word
    rest = re.match(r"\S*", typed[len(kept) :])
    assert rest
    assert opened.run(f"{FIELD}.selectionStart") == len(kept) + len(rest[0])
    opened.press("Enter")
    assert opened.run(OUTPUT) == typed
    opened.press("Enter")  # on the word that was steered
    opened.wait("document.querySelectorAll('#inside .offered button').length === 8")
    choice = "#inside .offered button:not([aria-pressed=true])"
    word, p = opened.run(f"document.querySelector('{choice}').textContent").rsplit(" ", 2)[:2]
    assert 0 <= int(p) < 100
    opened.run(f"document.querySelector('{choice}').focus()")
    opened.press("Enter")
    opened.wait(f"{OUTPUT} !== {json.dumps(typed)} && document.getElementById('inside').hidden")
    assert opened.run(OUTPUT).startswith(f"{kept}{word}")
    assert opened.run("document.activeElement.textContent") == word
    assert opened.run("document.querySelectorAll('#lines ol:last-child li').length") == opened.run(
        "document.querySelectorAll('#matrix tbody tr').length"
    )
    opened.press("z", modifiers=2)
    assert opened.run(OUTPUT) == typed
    opened.press("z", modifiers=2)
    assert opened.run(OUTPUT) == was
    opened.press("y", modifiers=2)
    assert opened.run(OUTPUT) == typed
    opened.press("Escape")
    assert opened.run(OUTPUT) == was
    assert opened.run("document.getElementById('undo').hidden")
    assert opened.messages == []


def test_the_field_accepts_word_by_word_and_keeps_other_sentences(opened: Page) -> None:
    was = translate(opened, "The man sees the woman. The woman sleeps.")
    begin = was.index(". ") + 2
    opened.click("#edit")
    while opened.run(f"{FIELD}.selectionStart") < begin:
        opened.press("Tab")
    opened.press("Enter")
    assert opened.run(OUTPUT) == was
    opened.click("#edit")
    opened.run(f"{FIELD}.setSelectionRange({begin}, {begin})")
    opened.type("Une ")
    opened.wait("document.getElementById('status').textContent.includes('Une')")
    steered = opened.run(f"{FIELD}.value")
    assert steered.startswith(was[:begin] + "Une ")
    assert (
        opened.run("document.querySelector('#sentences [aria-pressed=true]').textContent")
        == "Sentence 2"
    )
    for _ in range(4):
        opened.press("Backspace")
    opened.type("Жук ")
    message = "document.getElementById('message').textContent"
    opened.wait(f"{message}.includes('does not know “Жук”')")
    for _ in range(4):
        opened.press("Backspace")
    # without a beginning, it is the first translation
    opened.wait(f"{FIELD}.value === {json.dumps(was)}")
    opened.run(f"{FIELD}.setSelectionRange({len(was)}, {len(was)})")
    opened.press("Tab")  # there is no word to accept: the key leaves the field
    assert opened.run(f"{FIELD}.hidden")
    assert opened.messages == []


def test_a_finger_steers_on_a_phone(opened: Page) -> None:
    """A word is chosen, and undone; a letter is typed at the place that is tapped, and undone."""
    opened.screen(390)
    was = translate(opened, "The man sees the woman.")
    second = "#output .word:nth-of-type(2)"
    kept = was[: int(opened.run(f"document.querySelector('{second}').dataset.begin"))]
    opened.tap(second)
    opened.wait("document.querySelectorAll('#inside .offered button').length === 8")
    opened.tap("#inside .offered button:not([aria-pressed=true])")
    opened.wait(f"{OUTPUT} !== {json.dumps(was)} && document.getElementById('inside').hidden")
    assert opened.run(OUTPUT).startswith(kept)
    opened.tap("#undo")
    assert opened.run(OUTPUT) == was
    opened.tap("#edit")
    assert opened.run("document.activeElement.id") == "field"
    for _ in range(100):  # two taps that follow each other fast are one double tap
        opened.tap("#field")
        if place := opened.run(f"{FIELD}.selectionStart"):
            break
    opened.type("q")
    opened.wait(
        f"document.getElementById('status').textContent === 'Translation: ' + {FIELD}.value"
    )
    assert opened.run(f"{FIELD}.value").startswith(f"{was[:place]}q")
    opened.tap("#undo")
    opened.wait(f"{FIELD}.hidden && {OUTPUT} === {json.dumps(was)}")
    assert opened.run("document.documentElement.scrollWidth") <= 390
    assert opened.messages == []


def test_a_state_is_a_link(opened: Page) -> None:
    translate(opened, "The man sees. The woman sleeps.")
    opened.click("#sentences button:nth-child(2)")
    opened.run("document.getElementById('step').focus()")
    opened.press("Home")
    address, said = opened.run("[location.href, document.getElementById('step-said').textContent]")
    assert said.startswith("Step 1 of")
    opened.run("document.getElementById('link').click()")
    opened.open("about:blank")
    opened.open(address.replace("beam=5", "beam=1"))
    opened.wait(
        "document.querySelector('#sentences [aria-pressed=true]')?.textContent === 'Sentence 2'"
    )
    opened.wait("document.getElementById('step-said').textContent.startsWith('Step 1 of')")
    assert opened.run("document.querySelector('input[name=beam]:checked').value") == "1"
    assert opened.run("document.getElementById('text').value") == "The man sees. The woman sleeps."
    for odd in ("#text=%3Cb%3E&model=nosuch&beam=x&step=-4&sentence=99", "#nothing"):
        opened.open("about:blank")
        opened.open(address.partition("#")[0] + odd)
        opened.wait(
            "document.querySelectorAll('#model option').length === 3 && "
            "document.getElementById('stop').hidden"
        )
    assert opened.messages == []


def test_keys_move_through_steps_words_and_cells(opened: Page) -> None:
    translate(opened, "The man sees the woman.")
    said = "document.getElementById('step-said').textContent"
    last = int(re.search(r"of (\d+)", opened.run(said))[1])  # type: ignore[index]
    opened.run("document.getElementById('step').focus()")
    for _ in range(last + 1):
        opened.press("ArrowLeft")
    assert re.search(
        rf"^Step 1 of {last}: when it wrote “.+”, it looked at “.+” \d+ %", opened.run(said)
    )
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
    assert opened.run(
        "document.activeElement === document.querySelectorAll('#matrix tbody "
        "tr')[1].querySelectorAll('td')[1]"
    )
    assert re.fullmatch(
        r".+ ← .+: \d\.\d\d", opened.run("document.getElementById('value').textContent")
    )
    assert opened.run("document.querySelectorAll('#matrix td[tabindex=\"0\"]').length") == 1


def test_other_hypotheses_and_beams(opened: Page) -> None:
    translate(opened, "The man sees the woman.")
    opened.click("#nbest li:nth-child(2) button")
    second = opened.run("document.querySelector('#nbest li:nth-child(2) button span').textContent")
    assert opened.run("document.getElementById('output').textContent") == second
    assert opened.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    opened.click("#compare")
    opened.wait("!document.getElementById('compared').hidden")
    assert opened.run(
        "[...document.querySelectorAll('#compared dt')].map((one) => one.textContent)"
    ) == [
        "Beam 1",
        "Beam 5",
    ]


@pytest.mark.parametrize("name", ["words", "subwords"])
def test_the_tree_of_a_search_is_that_search(opened: Page, name: str) -> None:
    """Widths shrink as hypotheses end, parents are of the step before, and the best path is the
    translation."""
    work = """async (engine, plain, line) => {
      const { tree } = await import("./engine/tree.js");
      const search = (beam) => engine.sentence(line, { ...engine.settings, beam, nbest: 1 }, () => {}, async () => {});
      return [tree(engine, { line, beam: 4 }), (await search(4)).hypotheses[0], (await search(1)).hypotheses[0]];
    }"""
    found, best, greedy = engine(opened, name, work, "The man sees the woman in Paris.")
    assert (found["best"]["text"], found["greedy"]["text"]) == (best["text"], greedy["text"])
    width, above = 4, [None]
    for number, level in enumerate(found["levels"]):
        kept, ended, missed = (
            [node for node in level if node["kind"] == kind] for kind in ("kept", "ended", "missed")
        )
        assert len(kept) + len(ended) <= width
        width -= len(ended)
        places = (
            [None] if not number else [k for k, node in enumerate(above) if node["kind"] == "kept"]
        )
        assert all(node["parent"] in places for node in level)
        if number + 1 < len(found["levels"]):  # at the longest length a good word is left out, too
            lowest = min(node["score"] for node in kept + ended)
            assert all(node["score"] <= lowest for node in missed)
        above = level
    path = [node for level in found["levels"] for node in level if node["best"]]
    assert sum(np.log(node["p"]) for node in path) == pytest.approx(path[-1]["score"], abs=1e-3)
    assert len(path) == len(best["log_probabilities"])
    ids = best["ids"], greedy["ids"]
    parting = next(
        (k for k, (one, other) in enumerate(itertools.zip_longest(*ids)) if one != other), None
    )
    assert found["parting"] == parting


def test_the_search_grows_step_by_step(opened: Page) -> None:
    translate(opened, "The man sees the woman.")
    opened.click("#grow")
    opened.wait(
        "!document.getElementById('tree').hidden && !!document.querySelector('.tree path.best')"
    )
    assert re.match(
        "Beam 1 and beam 5 (write the same|part at step)",
        opened.run("document.querySelector('#tree p').textContent"),
    )
    shown = "document.querySelectorAll('.tree > g[visibility=visible]').length"
    opened.run("document.querySelector('#tree input').focus()")
    opened.press("Home")
    opened.press("ArrowRight")
    opened.wait(f"{shown} === 2")
    assert re.match(
        "Step 2 (keeps|ends) “.+” \\d+ %",
        opened.run("document.querySelector('#tree .said').textContent"),
    )
    assert opened.messages == []


def test_several_sentences_and_another_model(opened: Page) -> None:
    translate(opened, "The man sees. The woman sleeps.")
    assert opened.run("document.querySelectorAll('#sentences button').length") == 2
    opened.click("#sentences button:nth-child(2)")
    assert "woman" in opened.run("document.getElementById('lines').textContent")
    opened.run(
        "{ const one = document.getElementById('model'); one.selectedIndex = 2; one.dispatchEvent(new "
        "Event('change')); }"
    )
    assert opened.run("document.getElementById('text').lang") == "fr"
    opened.run("document.getElementById('text').value = ''")
    translate(opened, "L'homme voit la femme.")
    assert "L'" in opened.run("document.getElementById('lines').textContent")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is no text yet"),
        (" \n ", "There is no text yet"),
        ("x" * 100_000, "too long: 5,000 characters"),
    ],
)
def test_bad_text_gets_a_clear_message(opened: Page, text: str, said: str) -> None:
    opened.run(f"document.getElementById('text').value = {json.dumps(text)}")
    opened.click("#translate")
    assert said in opened.run("document.getElementById('message').textContent")
    assert not opened.run("document.getElementById('message').hidden")


@pytest.mark.parametrize(
    "text",
    [
        "😀😀 👨\u200d👩\u200d👧",
        "שלום עולם, זה מבחן",
        "<img src=x onerror=document.title='broken'> & <b>bold</b>",
        "x" * 5000,
    ],
)
def test_odd_text_is_shown_as_it_is_and_nothing_hangs(opened: Page, text: str) -> None:
    opened.run(f"document.getElementById('text').value = {json.dumps(text)}")
    opened.click("#translate")
    opened.wait("document.getElementById('stop').hidden")
    assert opened.run("document.querySelectorAll('main img, main b').length") == 0
    assert opened.run("document.title") == "A translator that shows where it looks"
    assert opened.messages == []


def test_a_damaged_model_is_a_message_not_a_silence(
    tab: Page, tmp_path: Path, tiny_run: Path
) -> None:
    export_page([tiny_run], tmp_path / "page")
    file = tmp_path / "page" / "models" / "en-fr" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:5000])
    with static_host(tmp_path / "page") as address:
        tab.open(address)
        tab.wait("!document.getElementById('message').hidden")
        assert "damaged or was not loaded completely" in tab.run(
            "document.getElementById('message').textContent"
        )
        (tmp_path / "page" / "config.json").unlink()
        tab.open(address)
        tab.wait("!document.getElementById('message').hidden")
        assert "could not be started" in tab.run("document.getElementById('message').textContent")


def test_without_an_engine_every_translation_says_so(
    tab: Page, tmp_path: Path, tiny_run: Path
) -> None:
    export_page([tiny_run], tmp_path / "page")
    (tmp_path / "page" / "engine" / "worker.js").unlink()
    message = "document.getElementById('message')"
    with static_host(tmp_path / "page") as address:
        tab.open(address)
        tab.wait(f"!{message}.hidden")
        write(tab, "The man sleeps.")
        tab.click("#translate")
        tab.wait(f"document.getElementById('stop').hidden && !{message}.hidden")
        assert "engine could not be started" in tab.run(f"{message}.textContent")


def test_languages_may_have_any_code(tab: Page, tmp_path: Path, tiny_run: Path) -> None:
    export_page([tiny_run], tmp_path / "page")
    file = tmp_path / "page" / "config.json"
    config = json.loads(file.read_text("utf-8"))
    config["models"][0] |= {"source": "pt_BR", "target": "x"}
    file.write_text(json.dumps(config), "utf-8")
    with static_host(tmp_path / "page") as address:
        tab.open(address)
        tab.wait("document.querySelectorAll('#model option').length === 1")
        name = tab.run("document.querySelector('#model option').textContent")
        assert "Portuguese" in name
        assert "x" in name.split()


def test_a_model_that_is_loading_can_be_stopped(opened: Page) -> None:
    opened.run("""{ const { fetch } = window; window.fetch = async (...given) => {
      await new Promise((done) => setTimeout(done, 1000)); return fetch(...given); }; }""")
    opened.run("document.getElementById('model').selectedIndex = 2")
    opened.run("document.getElementById('model').dispatchEvent(new Event('change'))")
    write(opened, "The man sleeps.")
    opened.click("#translate")
    opened.click("#stop")
    opened.wait("document.getElementById('stop').hidden")
    assert opened.run("document.getElementById('status').textContent") == "Stopped"


def test_a_text_that_waits_gets_the_model_that_was_chosen_for_it(
    opened: Page, address: str
) -> None:
    choose = """{{ const model = document.getElementById('model'); model.selectedIndex = {};
      model.dispatchEvent(new Event('change')); }}"""
    opened.run(choose.format(1))
    expected = translate(opened, "The man sleeps.")
    opened.open(address)
    opened.wait("document.querySelectorAll('#model option').length === 3")
    opened.run("document.getElementById('slowly').checked = false")
    opened.run("""{ const { fetch } = window; window.fetch = async (...given) => {
      await new Promise((done) => setTimeout(done, 1500)); return fetch(...given); }; }""")
    opened.run(choose.format(1))
    write(opened, "The man sleeps.")
    opened.click("#translate")
    opened.run(choose.format(2))
    opened.wait("!document.getElementById('stop').hidden")
    opened.wait("document.getElementById('stop').hidden")
    opened.wait("!document.getElementById('others').hidden")
    assert opened.run("document.getElementById('output').textContent") == expected


def test_nothing_is_undone_before_there_is_a_translation(opened: Page) -> None:
    opened.run(
        "document.getElementById('step').dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true }))"
    )
    was = translate(opened, "The man sleeps.")
    opened.click("#edit")
    assert opened.run(f"{FIELD}.value") == was
    assert opened.messages == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 380])
def test_nothing_is_cut_off(opened: Page, width: int, dark: bool) -> None:
    opened.screen(width, dark=dark)
    translate(
        opened,
        "The man who sees the very famous old European committee of the French ministers loves the woman.",
    )
    assert opened.run("document.documentElement.scrollWidth") <= width
    small = """[...document.querySelectorAll("main button, main select, main textarea")]
      .filter((one) => one.offsetParent && one.offsetHeight < 24)"""
    assert opened.run(f"{small}.length") == 0
    unnamed = """[...document.querySelectorAll("button, select, textarea, input")].filter((one) =>
      !(one.textContent.trim() || one.ariaLabel || one.labels?.length))"""
    assert opened.run(f"{unnamed}.length") == 0
