"""The site: it builds without a fault, its chapters run, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from browser import NEEDS_CHROMIUM, browser, static_host

import rnnsearch
import rnnsearch.extending

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CHAPTERS = sorted(path.name for path in (DOCS / "attention").glob("[0-9]*.md"))

pytestmark = pytest.mark.skipif(not find_spec("mkdocs") or not find_spec("math_core"), reason="needs the extra `docs`")


@pytest.fixture(scope="module")
def docsite() -> Iterator[Path]:
    """The folder of the builder, whose modules can be imported meanwhile."""
    folder = ROOT / "scripts" / "docsite"
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def module(name: str) -> ModuleType:
    return __import__(name)


def test_every_public_name_is_described() -> None:
    page = (DOCS / "reference/api.md").read_text(encoding="utf-8")
    public = [
        *(f"rnnsearch.{name}" for name in rnnsearch.__all__),
        *(f"rnnsearch.extending.{name}" for name in rnnsearch.extending.__all__),
    ]
    assert sorted(re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)) == sorted(public)


def test_chapters_have_equation_code_and_exercise() -> None:
    assert len(CHAPTERS) == 10
    for name in CHAPTERS:
        text = (DOCS / "attention" / name).read_text(encoding="utf-8")
        assert "```math" in text, name
        assert "\nCode: [`" in text, name
        assert "## Exercise" in text, name
        assert text.count("<details") == text.count("</details>") == text.count("<summary>Solution</summary>"), name


def test_a_chapter_shows_what_it_printed_and_drew(docsite: Path, tmp_path: Path) -> None:
    code = "from matplotlib.figure import Figure\nprint('said')\nFigure(figsize=(1, 1), label='<words>')\n"
    (tmp_path / "01-a.md").write_text(
        f"# A\n\n<!-- fold: Code -->\n\n```python\n{code}```\n\n```python\nkept = 1\n```\n\n```python\nkept + 1\n```\n"
    )
    text = module("chapters").executed(tmp_path / "01-a.md", tmp_path)
    assert '<details markdown="1"><summary>Code</summary>' in text
    assert "``` { .text .output }\nsaid\n```" in text
    assert '<title id="01-a-1-title">&lt;words&gt;</title>' in text
    assert "``` { .text .output }\n2\n```" in text


def test_a_chapter_that_raises_is_named(docsite: Path, tmp_path: Path) -> None:
    (tmp_path / "01-a.md").write_text("```python\n1 / 0\n```\n")
    with pytest.raises(module("chapters").ChapterError, match=r"01-a\.md, block 1: ZeroDivisionError"):
        module("chapters").executed(tmp_path / "01-a.md", tmp_path)


def test_code_is_shown_from_the_source(docsite: Path) -> None:
    sources = module("sources")
    line = "Code: [`model/decoder.py:SourceReader.context`](../../src/rnnsearch/model/decoder.py)"
    shown = sources.SourcePages().shown("attention/05.md", line)
    assert "def context(self, weights" in shown
    assert '"""c_i = Σ_j α_ij h_j (Eq. 5)."""' in shown
    with pytest.raises(sources.UnknownNameError, match=r"model/decoder\.py does not define nosuch"):
        sources.SourcePages().shown("attention/05.md", line.replace("SourceReader.context", "nosuch"))


def test_a_wrong_formula_is_an_error(docsite: Path) -> None:
    mathml = module("mathml")
    assert "<msub>" in mathml.mathml("x_1", display=False)
    with pytest.raises(mathml.FormulaError, match="nosuch"):
        mathml.mathml(r"\nosuch x", display=True)


def test_every_page_is_in_the_navigation(docsite: Path) -> None:
    texts = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    stage = module("stage")
    texts |= {"changelog.md": "", "contributing.md": "", "licence.md": "", "decisions/index.md": "", "serving/new.md": "# New"}
    found: set[str] = set()

    def walk(entry: object) -> None:
        if isinstance(entry, str):
            found.add(entry)
        for each in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else []:
            walk(each)

    walk(stage.navigation(texts))
    assert texts.keys() <= found


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
    page.write_text(PAGE.format('<a href="#here">x</a><a href="https://example.org">y</a><a href="a.html#here">z</a>'))
    assert check.faults(tmp_path) == []
    for wrong, fault in WRONG.items():
        page.write_text(PAGE.format(wrong))
        assert any(fault in each for each in check.faults(tmp_path)), wrong


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, as `make docs` builds it, with its chapters executed."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, str(ROOT / "scripts/docsite"), "--out", str(folder / "site"), "--work", str(folder / "chapters")]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=900, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "site"


@pytest.mark.slow
def test_the_site_builds_without_a_fault(site: Path) -> None:
    """Builds strictly: the command itself ends with 1 for a broken link or anchor, a chapter that raises, or anything from elsewhere."""
    for page in ("index.html", "reference/api.html", "reference/commands.html", "reference/settings.html", "studies/alignment.html"):
        assert (site / page).exists()
    assert (site / "search/search_index.json").exists()


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path, docsite: Path) -> None:
    assert module("check").faults(site) == []
    assert not [path for path in site.rglob("*.html") if "fonts.googleapis" in path.read_text(encoding="utf-8")]


@pytest.mark.slow
def test_references_are_filled_in(site: Path) -> None:
    api = (site / "reference/api.html").read_text(encoding="utf-8")
    for name in rnnsearch.__all__:
        assert f'id="rnnsearch.{name}"' in api, name
    commands = (site / "reference/commands.html").read_text(encoding="utf-8")
    for name in ("demo", "prepare", "train", "translate", "align", "evaluate"):
        assert f'id="rnnsearch-{name}"' in commands


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAPTERS)
def test_chapters_show_outputs_and_pictures(site: Path, name: str) -> None:
    page = (site / "attention" / name.replace(".md", ".html")).read_text(encoding="utf-8")
    assert 'class="language-text output' in page or "text output" in page
    assert page.count("<svg") > page.count('viewBox="0 0 24 24"')  # more than icons: pictures
    assert "<math" in page


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_search_finds_a_page_in_a_browser_wide_and_on_a_phone(site: Path, tmp_path: Path) -> None:
    with static_host(site) as address, browser(tmp_path) as tab:
        for width in (1280, 390):
            tab.screen(width)
            tab.open(f"{address}index.html")
            assert tab.run("document.documentElement.scrollWidth <= innerWidth")
            tab.run("document.querySelector('label.md-header__button[for=__search]').click()")
            tab.wait("document.activeElement === document.querySelector('input.md-search__input')")
            tab.type("maxout")
            found = tab.wait("[...document.querySelectorAll('a.md-search-result__link')].map((link) => link.pathname).join(' ')")
            assert "06-maxout-and-output.html" in found
        assert not tab.messages  # no script failed, and nothing was fetched from elsewhere


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_the_site_translates_in_the_browser(site: Path, tmp_path: Path) -> None:
    with static_host(site) as address, browser(tmp_path) as tab:
        tab.open(f"{address}reference/models.html")
        tab.run("document.querySelector('a.md-button').click()")
        tab.wait("document.querySelectorAll('#model option').length === 2 && document.getElementById('loading').hidden")
        tab.run("document.getElementById('slowly').checked = false; document.getElementById('text').focus()")
        tab.run("document.getElementById('text').select()")
        tab.type("The agreement on the European Economic Area was signed in August 1992.")
        tab.press("Enter", modifiers=2)
        tab.wait("document.getElementById('stop').hidden && !document.getElementById('others').hidden")
        found = tab.run("document.getElementById('output').textContent")
        assert found.endswith("a été signé en août 1992.")
        assert not tab.messages
