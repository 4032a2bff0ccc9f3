"""Makes the pages that MkDocs reads from docs/: resolves links into the repository, fills in
generated references, executes chapters."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from posixpath import relpath

import typer
from chapters import chapters, executed, flat, folds
from notebooks import write_notebook
from self_checks import with_forms
from sources import PACKAGE, ROOT, SourcePages
from translator import with_translator
from typer.cli import get_docs_for_click

from rnnsearch.cli.commands import app
from rnnsearch.lab.figures import inline
from rnnsearch.lab.palette import DARK, FONTS, LIGHT, ON_GREY

DOCS = ROOT / "docs"
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files of the repository's root → pages of the site."""
CONTENTS = "contents.md"
"""docs/index.md on the site, whose front page is the translator."""
NOT_PAGES = {"README.md": CONTENTS, "LICENSE": "licence.md"}
"""Files that have another page on the site."""
SECTIONS = {
    "start": "Start",
    "attention": "The paper in code",
    "how-to": "How to",
    "studies": "Studies",
    "reference": "Reference",
    "decisions": "Decisions",
}
"""Folder of docs/ → title, in the order of the navigation. Other folders come last, with their own
names."""
FENCE = re.compile(r"^(```|~~~).*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CHART = re.compile(r"^!\[([^\]]*)\]\(([^)\s]+\.svg)\)$", re.MULTILINE)
FIGURE_LINK = re.compile(r'href="([\w./-]+\.(?:md|py))(?:#([\w.-]+))?"')
BACKGROUND = ("decisions/", "log.md", "changelog.md")
"""Pages that the search lists below all others."""


def stage(out: Path, work: Path, say: Callable[[str], None], *, run: bool = True) -> list[object]:
    """Writes all pages into `out`, and returns the navigation. work: folder in which the chapters
    run; runs in it are used again. run: False does not execute them.

    Raises ChapterError, UnknownNameError, or FormulaError where a page is wrong.
    """
    shutil.rmtree(out, ignore_errors=True)
    sources = SourcePages()
    texts = {
        str(path.relative_to(DOCS)): path.read_text(encoding="utf-8")
        for path in sorted(DOCS.rglob("*.md"))
    }
    for chapter in chapters(DOCS):
        name = str(chapter.relative_to(DOCS))
        if run:
            say(f"runs {chapter.name}")
        texts[name] = with_forms(executed(chapter, work) if run else folds(texts[name]))
        own = Path(name).with_suffix(".ipynb")
        write_notebook(chapter, out / own)
        texts[name] += f"\n\n[This chapter as a notebook]({own.name}) for Jupyter.\n"
    for name, page in OUTSIDE.items():
        texts[page] = from_root((ROOT / name).read_text(encoding="utf-8"))
    texts["licence.md"] = (
        "# Licence\n\n```text\n" + (ROOT / "LICENSE").read_text(encoding="utf-8") + "```\n"
    )
    texts["reference/commands.md"] = texts["reference/commands.md"].replace(
        "<!-- commands -->", commands()
    )
    for page, text in texts.items():
        path = out / (CONTENTS if page == "index.md" else page)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = resolved(page, with_charts(page, with_translator(page, text), sources), sources)
        text = text.replace(" ± ", "\u00a0±\u00a0")
        rank = "---\nsearch:\n  boost: 0.2\n---\n" if page.startswith(BACKGROUND) else ""
        path.write_text(rank + text, encoding="utf-8")
    for path in DOCS.rglob("*"):
        if path.is_file() and path.suffix != ".md":
            (out / path.relative_to(DOCS)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, out / path.relative_to(DOCS))
    sources.write(out)
    (out / "assets" / "palette.css").write_text(palette(), encoding="utf-8")
    return navigation(texts)


def commands() -> str:
    """Returns Typer's reference of all commands, without its heading."""
    group = typer.main.get_command(app)
    context = group.make_context("rnnsearch", ["--help"], resilient_parsing=True)
    text = get_docs_for_click(obj=group, ctx=context, name="rnnsearch").partition("\n")[2]
    text = re.sub(r"^(\$ .*)\{(.+)\}(?:\.\.\.)?$", r"\1\2", text, flags=re.MULTILINE)
    return re.sub(r"^Example: (.+)$", r"```sh\n\1\n```", text, flags=re.MULTILINE)


def resolved(page: str, text: str, sources: SourcePages) -> str:
    """Returns the page with links that stay inside the site."""
    text = sources.shown(page, sources.in_links(page, text))
    parts, last = [], 0
    for match in FENCE.finditer(text):  # code stays as it is
        parts += [within(page, text[last : match.start()], sources), match[0]]
        last = match.end()
    return "".join([*parts, within(page, text[last:], sources)])


def within(page: str, text: str, sources: SourcePages) -> str:
    above = "../" * page.count("/")

    def replaced(match: re.Match[str]) -> str:
        address, hash_, anchor = match[1].partition("#")
        name = Path(address).name
        if address == f"{above}../{name}" and name in NOT_PAGES:
            return f"]({above}{NOT_PAGES[name]})"
        if address == f"{above}../{name}" and name in OUTSIDE:
            return f"]({above}{OUTSIDE[name]}{hash_}{anchor})"
        if address == f"{above}index.md":
            return f"]({above}{CONTENTS}{hash_}{anchor})"
        return match[0]

    return sources.in_text(page, LINK.sub(replaced, text))


def with_charts(page: str, text: str, sources: SourcePages) -> str:
    """Returns the page with its SVG files inside, in colours that follow light and dark. Links in a
    figure lead to pages of the site."""

    def replaced(match: re.Match[str]) -> str:
        file = (DOCS / page).parent / match[2]
        svg = inline(file.read_text(encoding="utf-8"), f"figure-{file.stem}", match[1], match[1])
        if "<a " in svg:
            svg = FIGURE_LINK.sub(partial(figure_link, page, file, sources), svg)
            svg = svg.replace(
                'role="img"', 'role="group"', 1
            )  # otherwise screen readers do not find its links
        return f'<figure class="drawn">{flat(svg.replace("fill: #ffffff", "fill: none"))}</figure>'

    return CHART.sub(replaced, text)


def figure_link(page: str, figure: Path, sources: SourcePages, match: re.Match[str]) -> str:
    """Returns the site's address for a link in a figure: a page, or a name in a source file."""
    target = (figure.parent / match[1]).resolve()
    if target.suffix == ".py":
        address = sources.link(page, str(target.relative_to(PACKAGE)), match[2])
    else:
        address = relpath(target, (DOCS / page).parent) + (f"#{match[2]}" if match[2] else "")
    return f'href="{address.replace(".md", ".html")}"'


def palette() -> str:
    """Returns colours and fonts of all pages as custom properties, for the theme's light and dark
    scheme."""
    rules = {":root": FONTS}
    for scheme, colours in {"default": LIGHT, "slate": DARK}.items():
        rules[f'[data-md-color-scheme="{scheme}"]'] = colours | ON_GREY
    return "".join(
        f"{selector} {{ {' '.join(f'--{name}: {value};' for name, value in values.items())} }}\n"
        for selector, values in rules.items()
    )


def from_root(text: str) -> str:
    """Adapts links of a page from the root: docs/… is its own folder on the site."""
    return LINK.sub(lambda match: f"]({match[1].removeprefix('docs/')})", text)


def title(text: str) -> str:
    """Returns a page's heading."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else "Untitled"


def navigation(texts: dict[str, str]) -> list[object]:
    """Returns a section for each folder. Pages are in the order of docs/index.md; pages that it
    does not name come last.

    So a new page needs only its link in docs/index.md.
    """
    named = re.findall(r"\]\(([^)#]+)", texts["index.md"])
    place = {page: number for number, page in reversed([*enumerate(named)])}

    def ordered(folder: str) -> list[object]:
        pages = [page for page in texts if page.startswith(f"{folder}/")]
        pages.sort(
            key=lambda page: (not page.endswith("index.md"), place.get(page, len(named)), page)
        )
        return [*pages]

    folders = {page.split("/")[0] for page in texts if "/" in page}
    order = [*SECTIONS, *sorted(folders - {*SECTIONS})]
    sections = {folder: ordered(folder) for folder in order if folder in folders}
    sections["start"].append("tutorial.md")
    sections["reference"] += ["source/index.md"]
    about = [*sections.pop("decisions"), "log.md", *OUTSIDE.values(), "licence.md"]
    return [
        {"All pages": CONTENTS},
        *({SECTIONS.get(folder, folder.capitalize()): pages} for folder, pages in sections.items()),
        {"About": about},
    ]
