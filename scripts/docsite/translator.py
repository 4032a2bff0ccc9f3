"""The models that the project ships, on the site: a page that translates with them, and what they were scored."""

from __future__ import annotations

from pathlib import Path

from sources import ROOT

from rnnsearch.exporting.static_page import export_page
from rnnsearch.pretrained.card import card_of

SHIPPED = ROOT / "models" / "src" / "rnnsearch_models"
FOLDER = "translator"
"""Of the site."""
BUTTON, SCORES = "<!-- translator -->", "<!-- scores of the models -->"


def shipped() -> list[Path]:
    """The models' folders, by name."""
    return sorted(file.parent for file in SHIPPED.glob("*/config.toml"))


def write_translator(site: Path) -> None:
    """The page with all models, as `rnnsearch export` makes it."""
    if shipped():
        export_page(shipped(), site / FOLDER)


def with_translator(page: str, text: str) -> str:
    """A page of docs/ whose marks are replaced: by the way to the translator, and by the scores of the models' cards."""
    address = f"{'../' * page.count('/')}{FOLDER}/index.html"
    button = f'<p><a class="md-button md-button--primary" href="{address}">Open the translator</a></p>' if shipped() else ""
    return text.replace(BUTTON, button).replace(SCORES, scores())


def scores() -> str:
    """BLEU of each model on each text."""
    cards = {folder.name: card_of(folder) for folder in shipped()}
    tests = sorted({score.test for card in cards.values() for score in card.scores})
    rows = [f"| model | {' | '.join(tests)} |", "|---" * (len(tests) + 1) + "|"]
    for name, card in cards.items():
        values = {score.test: f"{score.value:.2f}" for score in card.scores if score.metric == "BLEU"}
        rows.append(f"| `{name}` | {' | '.join(values.get(test, '') for test in tests)} |")
    return "\n".join(rows)
