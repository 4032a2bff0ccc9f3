"""The site: it builds without a fault, its chapters run, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from browser import NEEDS_CHROMIUM, Page, static_host

import rnnsearch

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CHAPTERS = sorted(path.name for path in (DOCS / "attention").glob("[0-9]*.md"))

pytestmark = pytest.mark.skipif(
    not find_spec("mkdocs") or not find_spec("math_core"), reason="needs the extra `docs`"
)


@pytest.fixture(scope="module")
def docsite() -> Iterator[Path]:
    """The folder of the builder, whose modules can be imported meanwhile."""
    folder = ROOT / "scripts" / "docsite"
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def module(name: str) -> ModuleType:
    return __import__(name)


def test_chapters_have_figure_equation_code_and_exercise() -> None:
    """A figure, and what it means in words, stand before the first equation."""
    assert len(CHAPTERS) == 10
    for name in CHAPTERS:
        text = (DOCS / "attention" / name).read_text(encoding="utf-8")
        before = text.partition("```math")[0]
        drawn = [
            *re.finditer(
                r"^!\[.{40,}\]\((figures/.*\.svg)\)$|^translation\.plot\(\)$", before, re.MULTILINE
            )
        ]
        assert drawn or name.startswith("07"), name
        for figure in filter(None, (each[1] for each in drawn)):
            ElementTree.parse(DOCS / "attention" / figure)
        assert "```math" in text, name
        assert "\nCode: [`" in text, name
        assert "## Exercise" in text, name
        assert (
            text.count("<details")
            == text.count("</details>")
            == text.count("<summary>Solution</summary>") + text.count("<summary>Answer</summary>")
        ), name


def test_a_chapter_shows_what_it_printed_and_drew(docsite: Path, tmp_path: Path) -> None:
    drawn = "from matplotlib.figure import Figure\nprint('said')\n"
    drawn += "figure = Figure(figsize=(1, 1), label='<words>')\nfigure.add_subplot().set_xlabel('x')\nfigure"
    blocks = "\n\n".join(f"```python\n{code}\n```" for code in (drawn, "kept = 1", "kept + 1"))
    (tmp_path / "01-a.md").write_text(f"# A\n\n<!-- fold: Code -->\n\n{blocks}\n")
    text = module("chapters").executed(tmp_path / "01-a.md", tmp_path)
    assert '<details markdown="1"><summary>Code</summary>' in text
    assert "``` { .text .output }\nsaid\n```" in text
    assert '<title id="01-a-1-title">&lt;words&gt;</title>' in text
    assert "``` { .text .output }\n2\n```" in text
    assert "fill: var(--text)" in text  # black letters could not be read in the dark
    assert "#000000" not in text


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_s_notebook_has_the_code_that_the_site_executes(docsite: Path, name: str) -> None:
    chapter = DOCS / "attention" / name
    notebooks = module("notebooks")
    made = notebooks.notebook(chapter)
    cells = made["cells"]
    assert (made["nbformat"], len({cell["id"] for cell in cells})) == (4, len(cells))
    trained = len(notebooks.trainings(chapter))
    assert trained == {"01": 0, "08": 2}.get(name[:2], 1)
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"][trained:]
    text = chapter.read_text("utf-8")
    checks = [each.strip("\n") for each in module("self_checks").BLOCK.findall(text)]
    blocks = [each.strip("\n") for each in module("chapters").BLOCK.findall(text)]
    unanswered = module("self_checks").unanswered
    assert len(checks) == 1
    assert code == [unanswered(each) if each in checks else each for each in blocks]
    prose = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    assert prose.startswith("# ")
    for left in (".md)", "```math", "$`", "<details", "</details", "<!--", "](../", "](figures/"):
        assert left not in prose
    assert "Code: " not in prose
    assert prose.count("```python\n") == text.count("\nCode: [")
    carried = {file for cell in cells for file in cell.get("attachments", {})}
    assert carried == {*re.findall(r"\(attachment:([^)]+)\)", prose)}


def test_a_check_is_a_form_on_the_site_and_says_not_yet_in_a_notebook(
    docsite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = module("self_checks")
    number = 'answer = 0.5  # a number\nassert abs(answer - 1 / 2) < 0.01, "Halve <it>."\n'
    choice = 'answer = "b"  # one of: a | b\nassert answer == "b", "The other."\n'
    text = "".join(
        f'<details markdown="1"><summary>Answer</summary>\n\n```python\n{each}```\n\n</details>\n\n'
        for each in (number, choice)
    )
    made = checks.with_forms(text)
    assert 'data-answer="0.5" data-hint="Halve &lt;it&gt;." data-within="0.01"' in made
    assert "<option></option><option>a</option><option>b</option>" in made
    assert made.count("<details") == made.count("<form") == 2
    for each, hint in ((number, "Halve"), (choice, "The other")):
        empty = checks.unanswered(each)
        for code, said in ((each, ""), (empty, f"Not yet. {hint}")):
            exec(code, {})
            assert capsys.readouterr().out.startswith(said)
        exec(
            re.sub(
                "answer = .*", "answer = 0.5" if each == number else 'answer = "b"', empty, count=1
            ),
            {},
        )
        assert capsys.readouterr().out == "Right.\n"
    for wrong in ("0,5", '"0.5"'):  # a comma makes two numbers
        exec(re.sub("answer = .*", f"answer = {wrong}", checks.unanswered(number), count=1), {})
        assert capsys.readouterr().out.startswith("Not yet. Halve")


@pytest.mark.slow
def test_a_notebook_trains_the_runs_that_it_needs(
    docsite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = module("notebooks").trainings(DOCS / "attention/08-beam-search.md")
    for _ in range(2):  # the second time, both runs are there
        for cell in cells:
            exec(
                re.sub(
                    r"(max_updates\"?[=:] ?)\d+|6000",
                    lambda number: f"{number[1] or 30}2",
                    cell["source"],
                ),
                {},
            )
    assert len(list(tmp_path.glob("*/model.safetensors"))) == 5


def test_code_is_shown_from_the_source(docsite: Path) -> None:
    sources = module("sources")
    line = "Code: [`model/decoder.py:Source.context`](../../src/rnnsearch/model/decoder.py)"
    shown = sources.SourcePages().shown("attention/05.md", line)
    assert "def context(" in shown
    assert '"""Returns c_i = Σ_j α_ij h_j (Eq. 5)."""' in shown
    with pytest.raises(sources.UnknownNameError, match=r"model/decoder\.py does not define nosuch"):
        sources.SourcePages().shown("attention/05.md", line.replace("Source.context", "nosuch"))


def test_every_page_is_in_the_navigation(docsite: Path) -> None:
    texts = {
        str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")
    }
    stage = module("stage")
    texts |= dict.fromkeys([*stage.OUTSIDE.values(), "licence.md"], "")
    texts["serving/new.md"] = "# New"
    found = {*re.findall(r"[\w./-]+\.md", str(stage.navigation(texts)))}
    assert texts.keys() - {"index.md"} | {"contents.md"} <= found


PAGE = '<html><body><h1 id="here">A</h1>{}</body></html>'
WRONG = {
    '<script src="https://cdn.example/x.js"></script>': "loads https://cdn.example/x.js",
    '<link rel="stylesheet" href="//fonts.example/css">': "loads //fonts.example/css",
    '<img src="https://example.org/a.png">': "loads https://example.org/a.png",
    "<style>@font-face { src: url(https://example.org/a.woff) }</style>": "loads https://example.org/a.woff",
    '<a href="b.html">b</a>': "b.html: no such file",
    '<a href="#there">b</a>': "#there: no such anchor",
}


def test_faults_of_a_site_are_found(docsite: Path, tmp_path: Path) -> None:
    check = module("check")
    page = tmp_path / "a.html"
    page.write_text(
        PAGE.format(
            '<a href="#here">x</a><a href="https://example.org">y</a><a href="a.html#here">z</a>'
        )
    )
    assert check.faults(tmp_path) == []
    for wrong, fault in WRONG.items():
        page.write_text(PAGE.format(wrong))
        assert any(fault in each for each in check.faults(tmp_path)), wrong


def test_the_policy_names_the_scripts_of_a_page_by_their_hashes(
    docsite: Path, tmp_path: Path
) -> None:
    page = tmp_path / "a.html"
    scripts = "<script>alert(1)</script><script type='application/json'>{}</script><script src=a.js></script>"
    page.write_text(f'<html><head><meta charset="utf-8">{scripts}')
    module("check").write_policies(tmp_path)
    text = page.read_text()
    known = "sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI="  # of alert(1)
    assert re.findall(r"script-src ([^;]+);", text) == [f"'self' '{known}'"]
    module("check").write_policies(tmp_path)
    assert page.read_text() == text


def test_the_history_has_a_weight_for_each_pair_of_words() -> None:
    file = DOCS / "assets/learn/history.json"
    history = json.loads(file.read_text("utf-8"))
    sizes = [len(one["source"]) * len(one["target"]) for one in history["sentences"]]
    updates = [moment["update"] for moment in history["moments"]]
    assert updates == sorted({0, *updates})
    for moment in history["moments"]:
        assert [len(each) for each in moment["weights"]] == sizes
        assert len(moment["texts"]) == len(sizes)
    assert file.stat().st_size < 60_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, as `make docs` builds it, with its chapters executed."""
    folder = tmp_path_factory.mktemp("site")
    words = [
        sys.executable,
        ROOT / "scripts/docsite",
        "--out",
        folder / "site",
        "--work",
        folder / "chapters",
    ]
    done = subprocess.run(
        words,
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "site"


@pytest.mark.slow
def test_references_are_filled_in(site: Path) -> None:
    """The command itself ends with 1 for a broken link or anchor, a chapter that raises, or anything from
    elsewhere."""
    api = (site / "reference/api.html").read_text(encoding="utf-8")
    for name in rnnsearch.__all__:
        assert f'id="rnnsearch.{name}"' in api, name
    commands = (site / "reference/commands.html").read_text(encoding="utf-8")
    for name in ("demo", "prepare", "train", "translate", "align", "evaluate"):
        assert f'id="rnnsearch-{name}"' in commands


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAPTERS)
def test_chapters_show_outputs_and_pictures_or_a_table(site: Path, name: str) -> None:
    page = (site / "attention" / name.replace(".md", ".html")).read_text(encoding="utf-8")
    assert 'class="language-text output' in page or "text output" in page
    pictures = page.count("<svg") > page.count('viewBox="0 0 24 24"')  # more than icons
    assert pictures or "<table" in page
    assert "<math" in page


CUT = """[...document.querySelectorAll('.md-typeset :is(:not(.output) > pre > code, figure)')]
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.textContent.slice(0, 60))"""
DARK_ON_DARK = """[...document.querySelectorAll('figure.drawn text')]
  .filter((one) => Math.max(...getComputedStyle(one).fill.match(/\\d+/g).slice(0, 3)) < 110).length"""


@pytest.mark.slow
@pytest.mark.processes
@NEEDS_CHROMIUM
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)])
def test_code_and_figures_are_whole_and_legible(
    site: Path, tab: Page, tmp_path: Path, width: int, *, dark: bool
) -> None:
    """With an empty index of the search, which each page reads and no page shows."""
    shutil.copytree(site, tmp_path / "site", copy_function=os.link)
    index = tmp_path / "site/search/search_index.json"
    empty = json.dumps(json.loads(index.read_text("utf-8")) | {"docs": []})
    index.unlink()
    index.write_text(empty, "utf-8")
    apart = ("source/", "decisions/", "404")
    names = [str(path.relative_to(site)) for path in sorted(site.rglob("*.html"))]
    with static_host(tmp_path / "site") as address:
        tab.screen(width, dark=dark)
        for page in (name for name in names if not name.startswith(apart)):
            tab.open(f"{address}{page}")
            assert tab.run("document.documentElement.scrollWidth <= visualViewport.width"), page
            assert tab.run(CUT) == [], page
            assert not dark or tab.run(DARK_ON_DARK) == 0, page
        assert not tab.messages  # the page's policy stopped nothing


@pytest.mark.slow
def test_the_search_lists_decisions_below_pages(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    boosts = {entry["location"].partition("#")[0]: entry.get("boost", 1) for entry in index}
    assert {boost for page, boost in boosts.items() if page.startswith("decisions/")} == {0.2}
    assert boosts["how-to/serving.html"] == 1


@pytest.mark.slow
@pytest.mark.processes
@NEEDS_CHROMIUM
def test_search_finds_a_page_in_a_browser_wide_and_on_a_phone(site: Path, tab: Page) -> None:
    with static_host(site) as address:
        for width in (1280, 390):
            tab.screen(width)
            tab.open(f"{address}contents.html")
            assert tab.run("document.documentElement.scrollWidth <= visualViewport.width")
            tab.run("document.querySelector('label.md-header__button[for=__search]').click()")
            tab.wait("document.activeElement === document.querySelector('input.md-search__input')")
            tab.type("maxout")
            links = "document.querySelectorAll('a.md-search-result__link')"
            found = tab.wait(f"[...{links}].map((link) => link.pathname).join(' ')")
            assert "06-maxout-and-output.html" in found
        assert not tab.messages  # no script failed, and nothing was fetched from elsewhere


@pytest.fixture(scope="module")
def front(docsite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The front page and the translator, without the rest of the site."""
    folder = tmp_path_factory.mktemp("front")
    (folder / "assets").mkdir()
    shutil.copy(DOCS / "assets/front.css", folder / "assets")
    module("translator").write_translator(folder)
    return folder


@pytest.mark.slow
@pytest.mark.processes
@NEEDS_CHROMIUM
def test_the_front_page_translates_at_once_and_loads_a_model_only_when_asked(
    front: Path, tab: Page
) -> None:
    loaded = (
        "performance.getEntriesByType('resource').map((one) => [one.name, one.encodedBodySize])"
    )
    with static_host(front) as address:
        for width, dark in ((1400, False), (390, True)):
            tab.screen(width, dark=dark)
            tab.open(address)
            tab.wait("document.querySelectorAll('#output .word').length > 10")
            assert tab.run("document.documentElement.scrollWidth <= visualViewport.width")
            found = dict(tab.run(loaded))
            assert sum(found.values()) + len((front / "index.html").read_bytes()) <= 300_000
            assert not any("models/" in name for name in found)
            assert "1992" in tab.run("document.getElementById('text').value")
        tab.click("#output .word:nth-of-type(3)")  # it needs the engine: the model is loaded now
        tab.wait("document.querySelectorAll('#inside .words li').length >= 10")
        assert not tab.messages


@pytest.mark.slow
@pytest.mark.processes
@NEEDS_CHROMIUM
def test_the_site_translates_in_the_browser(site: Path, tab: Page) -> None:
    with static_host(site) as address:
        tab.open(f"{address}reference/models.html")
        tab.run("document.querySelector('a.md-button').click()")
        tab.wait("document.querySelectorAll('#model option').length === 2")
        tab.wait("document.getElementById('loading').hidden")
        tab.run(
            "document.getElementById('slowly').checked = false; document.getElementById('text').focus()"
        )
        tab.run("document.getElementById('text').select()")
        tab.type("The agreement on the European Economic Area was signed in August 1992.")
        tab.press("Enter", modifiers=2)
        tab.wait(
            "document.getElementById('stop').hidden && !document.getElementById('others').hidden"
        )
        found = tab.run("document.getElementById('output').textContent")
        assert found.endswith("a été signé en août 1992.")
        assert not tab.messages


LOSS = "document.querySelector('#loss svg').getAttribute('aria-label').match(/RNNsearch ([\\d.]+)/)?.[1]"
GREYS = (
    "document.querySelectorAll('#matrix tbody tr')].map((row) => [...row.querySelectorAll('td')]"
)


@pytest.mark.slow
@pytest.mark.processes
@NEEDS_CHROMIUM
def test_both_networks_learn_in_the_browser(site: Path, tab: Page) -> None:
    with static_host(site) as address:
        tab.screen(1400)
        tab.open(f"{address}attention/learn.html")
        tab.wait("document.querySelectorAll('#matrix td').length > 1")
        updates = "Number(document.getElementById('updates').textContent)"
        assert tab.run(updates) == 0
        tab.click("#step")
        tab.wait(f"{updates} === 1")
        shown = (
            "getElementById('reference').textContent",
            "querySelector('#sentence :checked').label",
        )
        reference, source = (tab.run(f"document.{each}.split(' ').length") for each in shown)
        sums = tab.run(
            f"[...{GREYS}.map((cell) => Number(cell.getAttribute('aria-label').split(': ').at(-1))))"
            ".map((row) => row.reduce((sum, weight) => sum + weight, 0))"
        )
        assert len(sums) == reference + 1  # the end of sentence
        assert sums == pytest.approx([1] * len(sums), abs=0.005 * (source + 2))

        tab.run("document.getElementById('run').focus()")
        tab.press("Enter")
        first = float(tab.wait(LOSS))
        tab.wait(f"Number({LOSS}) < {0.8 * first}")
        tab.click("#run")
        tab.wait("document.getElementById('run').textContent === 'Go on'")
        tab.wait("document.getElementById('said').textContent.includes('RNNencdec')")
        # The worker ends its slice of time, and measures once more: the number stands still soon, and stays.
        still = "(now) => now === before ? done(now) : (before = now, setTimeout(look, 1500))"
        paused = tab.run(
            f"new Promise((done) => {{ let before = -1; const look = () => ({still})({updates}); look(); }})"
        )
        assert (
            tab.run(f"new Promise((done) => setTimeout(() => done({updates}), 1000))")
            == paused
            > 16
        )
        assert tab.run("document.querySelectorAll('#lengths .dot').length") == 10

        tab.run("document.getElementById('sentence').value = 'own'")
        tab.run("document.getElementById('sentence').dispatchEvent(new Event('change'))")
        tab.wait("document.getElementById('own-part').checkVisibility()")
        tab.run("document.getElementById('own').focus(); document.getElementById('own').select()")
        tab.type("The <b>zebra</b> sleeps")
        assert "zebra" in tab.wait("document.getElementById('unknown').textContent")
        tab.screen(390, dark=True)
        assert tab.run("document.documentElement.scrollWidth <= visualViewport.width")
        tab.click("#again")
        tab.wait(f"{updates} === 0")
        tab.click("#step")
        tab.wait(f"{updates} === 1")
        tab.run("document.getElementById('hidden').value = '16'")
        tab.click("#link")  # what is shown becomes the address
        link = tab.wait("location.hash.length > 1 && location.href")
        tab.open("about:blank")
        tab.open(link)
        assert tab.wait("document.getElementById('run').textContent") == "Train to update 1"
        assert tab.run("document.getElementById('hidden').value") == "16"
        tab.wait("document.getElementById('own').checkVisibility()")
        tab.click("#run")
        tab.wait("document.getElementById('run').textContent === 'Go on'")
        assert (
            tab.wait(updates) == 1
        )  # drawn in the frame after the message that changes the button
        assert tab.run("document.querySelectorAll('.learn .save button').length") == 6
        assert not tab.messages


@pytest.fixture
def pages(docsite: Path, tmp_path: Path) -> Path:
    """The page of a history, and one with two questions, as HTML without the site around them."""
    learn = tmp_path / "pages/assets/learn"
    shutil.copytree(DOCS / "assets", learn.parent)
    module("learn").write_learn(learn.parents[1])
    form = module("self_checks").form
    asked = [
        form(f'answer = {number}  # a number\nassert abs(answer - {number}) < 0.006, "."')
        for number in (0.67, 1280)
    ]
    bodies = {
        "history": (DOCS / "attention/history.md").read_text("utf-8").partition("<link")[2],
        "check": f'><script type="module" src="../assets/check.js"></script>{"".join(asked)}',
    }
    for name, body in bodies.items():
        file = learn.parents[1] / "attention" / f"{name}.html"
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            f'<!doctype html><link rel="icon" href="data:,"><meta charset="utf-8"><link{body}'
        )
    return learn.parents[1]


@pytest.mark.processes
@NEEDS_CHROMIUM
def test_a_history_is_scrubbed_and_questions_are_checked_in_the_browser(
    pages: Path, tab: Page
) -> None:
    history = json.loads((pages / "assets/learn/history.json").read_text("utf-8"))
    right = history["sentences"][2]["text"].split()
    moved = [*right[-2:], *right[:-2], "jamais-vu"]
    history["moments"][1]["texts"][2] = " ".join(moved)
    (pages / "assets/learn/history.json").write_text(json.dumps(history), "utf-8")
    with static_host(pages) as address:
        tab.open(f"{address}attention/history.html#sentence=2&moment=0")
        tab.wait("document.querySelectorAll('#matrix td').length > 1")
        first = tab.run("document.getElementById('said').textContent")
        tab.run("document.getElementById('moment').focus()")
        tab.press("ArrowRight")
        assert tab.wait("document.getElementById('said').textContent") != first
        marks = tab.run(
            "[...document.querySelectorAll('#written span')].map((one) => one.className)"
        )
        assert marks == [
            "right" if [word] == right[i : i + 1] else "elsewhere"
            for i, word in enumerate(moved[:-1])
        ] + ["wrong"]
        assert tab.run("document.querySelectorAll('#lines svg path').length") > 0
        assert not tab.run("document.getElementById('views').hidden")

        tab.open(f"{address}attention/check.html")
        for place, answer, said in (
            (0, "0,5", "Not yet."), (0, "0.665", "Right."), (0, "0,67", "Right."), (0, "", "There is no"),
            (1, "1280", "Right."), (1, "1,280", "Right."), (1, "1 280", "Right."), (1, "128,0", "Not yet."), (1, "1,28", "Not yet."),
        ):  # fmt: skip
            tab.run(
                f"document.querySelectorAll('input')[{place}].focus(); document.querySelectorAll('input')[{place}].select()"
            )
            tab.press("Backspace")
            tab.type(answer)
            tab.press("Enter")
            found = tab.run(f"document.querySelectorAll('output')[{place}].textContent")
            assert found.startswith(said), answer
        assert not tab.messages
