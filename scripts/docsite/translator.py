"""The shipped models on the site: the front page, a page that translates, and the models'
scores."""

from __future__ import annotations

import json
import re
from pathlib import Path

from chapters import figure_colours, flat
from sources import ROOT

from rnnsearch.lab.figures import inline_svg
from rnnsearch.pretrained.card import card_of
from rnnsearch.serve.export import export_page
from rnnsearch.translation.translator import Translator

SHIPPED = ROOT / "models" / "src" / "rnnsearch_models"
FOLDER = "translator"
"""Folder in the site."""
SENTENCE = "The agreement on the European Economic Area was signed in August 1992."
"""Of the paper's Figure 3(a)."""
FRENCH = "L'accord sur la zone économique européenne a été signé en août 1992."
"""Its translation in that figure."""
PARTS = Path(__file__).with_name("front_page.html")
"""The parts of the front page around the translator."""
FIGURE = re.compile(r"!\[([^\]]*)\]\(images/figure-3a\.png\)")
BUTTON, SCORES = "<!-- translator -->", "<!-- scores of the models -->"


def shipped() -> list[Path]:
    """Returns the models' folders, sorted by name."""
    return sorted(file.parent for file in SHIPPED.glob("*/config.toml"))


def write_translator(site: Path) -> None:
    """Writes the page with all models, as `rnnsearch export` makes it, and the front page, which is
    the same page with links to the rest of the site.

    Both show Figure 3(a)'s sentence, translated here, so that no model is loaded before a visitor
    needs it.
    """
    export_page(shipped(), site / FOLDER)
    config = site / FOLDER / "config.json"
    described = json.loads(config.read_text(encoding="utf-8"))
    for name, sentence in {"en-fr": SENTENCE, "fr-en": FRENCH}.items():
        described["examples"][name].insert(0, sentence)
    described["first"] = {"model": "en-fr", "text": SENTENCE, "result": translated(SENTENCE)}
    config.write_text(json.dumps(described, ensure_ascii=False), encoding="utf-8")
    page = (site / FOLDER / "index.html").read_text(encoding="utf-8")
    (site / "index.html").write_text(front_page(page), encoding="utf-8")


def translated(sentence: str) -> dict[str, object]:
    """Returns the translation in the form of the page's engine, with the other hypotheses of the
    beam."""
    (best,) = Translator.load(SHIPPED / "en-fr").translate([sentence], beam=5, nbest=5)
    hypotheses = [best, *best.alternatives]
    fields = [one.to_dict() for one in hypotheses]
    one = {"source": sentence, "source_tokens": best.source_tokens, "hypotheses": fields}
    return {"text": best.text, "sentences": [one]}


def front_page(page: str) -> str:
    """Returns the translator's page for the site's root, with its files in FOLDER and the parts of
    front_page.html filled in."""
    parts = dict(
        re.findall(
            r"<!-- (\w+) -->\n(.*?)<!-- end -->", PARTS.read_text(encoding="utf-8"), re.DOTALL
        )
    )
    page = re.sub(r'(<(?:link|script)[^>]* (?:href|src)=")', rf"\g<1>{FOLDER}/", page)
    for mark, part in {
        "</head>": "head",
        "<header>": "above",
        '  <section id="how"': "doors",
    }.items():
        page = page.replace(mark, parts[part] + mark, 1)
    return page


def with_translator(page: str, text: str) -> str:
    """Replaces the marks in a page of docs/ by the link to the translator, the scores of the
    models' cards, and Figure 3(a) in colours that follow light and dark."""
    address = f"{'../' * page.count('/')}{FOLDER}/index.html"
    button = (
        f'<p><a class="md-button md-button--primary" href="{address}">Open the translator</a></p>'
        if shipped()
        else ""
    )
    if shipped():
        text = FIGURE.sub(lambda match: figure_3a(match[1]), text)
    return text.replace(BUTTON, button).replace(SCORES, scores())


def figure_3a(description: str) -> str:
    """Returns the alignment of the paper's sentence by the shipped model, drawn anew."""
    (result,) = Translator.load(SHIPPED / "en-fr").translate([SENTENCE])
    with figure_colours():
        svg = inline_svg(result.plot(), "figure-3a", "Figure 3(a)", description)
    return f'<figure class="drawn">{flat(svg)}</figure>'


def scores() -> str:
    """Returns a table of the BLEU of each model on each text."""
    cards = {folder.name: card_of(folder) for folder in shipped()}
    tests = sorted({score.test for card in cards.values() for score in card.scores})
    rows = [f"| model | {' | '.join(tests)} |", "|---" * (len(tests) + 1) + "|"]
    for name, card in cards.items():
        values = {
            score.test: f"{score.value:.2f}" for score in card.scores if score.metric == "BLEU"
        }
        rows.append(f"| `{name}` | {' | '.join(values.get(test, '') for test in tests)} |")
    return "\n".join(rows)
