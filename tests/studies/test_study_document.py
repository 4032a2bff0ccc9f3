"""What a study came to, in Markdown and as a page: the same numbers in both, and the settings that made
them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from study_files import study_in

from rnnsearch.drawing.figures import Album
from rnnsearch.drawing.page import as_html, as_markdown
from rnnsearch.studies.study import StudyFolder
from rnnsearch.studies.study_tables import study_document, write_pages

SUMMARY = {"mean": 20.0, "spread": 1.5, "runs": 2}
TABLE: dict[str, Any] = {
    "title": "",
    "study": "study.toml",
    "seeds": [1, 2],
    "baseline": "one",
    "learning": {"one": {"parameters": {"mean": 2.5e6, "spread": 0.0, "runs": 2}}},
    "tests": {
        "news": {
            "sentences": 1000,
            "long_sentences": 7,
            "signatures": {"bleu": "tok:13a"},
            "variants": {
                "one": {"bleu": SUMMARY, "aer": {"mean": 0.25, "spread": 0.01, "runs": 2}},
                "two": {"bleu": SUMMARY},
            },
            "systems": {"moses": {"bleu": {"mean": 25.57, "spread": None, "runs": 1}}},
        }
    },
    "comparisons": {
        "news": [
            {
                "system": "one",
                "other": "two",
                "metric": "bleu",
                "difference": -0.512,
                "p_randomisation": 0.0312,
            }
        ]
    },
    "failed": {"three": "no memory"},
    "missing": ["four"],
}
STUDY = """
recipe = "demo"
seeds = [1, 2]
corpus = {builtin = true}
settings.training = {max_updates = 60}
[variants.one]
[variants.two]
model.alignment = "general"
"""


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return study_in(tmp_path, STUDY)


def test_the_markdown_is_readable(folder: StudyFolder, tmp_path: Path) -> None:
    text = as_markdown(study_document(folder, TABLE, Album(tmp_path)))
    expected = """# study.toml

Mean ± sample standard deviation over 2 seeds.

## Results on news

**Scores on news (1,000 sentences, 7 of over 40 words)**

| Variant | BLEU | AER % |
|---|---:|---:|
| one | 20.00 ± 1.50 | 25.00 ± 1.00 |
| two | 20.00 ± 1.50 | – |
| moses | 25.57 | – |

bleu: tok:13a

**Scores of every variant on news**

![Scores of every variant on news: the numbers of the table above](figures/news.svg)

Scores of every variant on news

The line is the mean of one. A triangle at the edge is a variant far from the others.

**Differences between variants**

| Difference | BLEU |
|---|---:|
| two − one | −0.51 (p = 0.031) |

p by approximate randomisation: paired by sentence, two-sided, of the mean over the seeds.

## Training

**Training**

| Variant | million parameters |
|---|---:|
| one | 2.50 ± 0.00 |

three failed: no memory

Not done yet: four

## Settings

**What each variant changes**

| Variant | Settings |
|---|---|
| one | – |
| two | model.alignment = "general" |
"""
    assert re.sub(" +\n", "\n", text).startswith(expected)
    assert "| settings.training.max\\_updates | 60 |" in text


def test_the_page_says_the_same_and_links_to_what_is_there(folder: StudyFolder, tmp_path: Path) -> None:
    for name in ("table.md", "report/index.html"):
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).touch()
    _, page = write_pages(folder, TABLE, "rnnsearch experiment study.toml --out out")
    assert page == tmp_path / "out" / "index.html"
    text = page.read_text("utf-8")
    for shown in (
        "20.00 ± 1.50",
        "25.57",
        "−0.51 (p = 0.031)",
        "three failed: no memory",
        "Not done yet: four",
    ):
        assert shown in text
    for shown in (
        "model.alignment = &#34;general&#34;",
        "settings.training.max_updates",
        "rnnsearch experiment study.toml --out out",
    ):
        assert shown in text
    assert text.count("<svg") == 1
    assert re.findall(r'href="([^#"]+)"', text) == ["report/index.html", "table.md", "figures/"]


def test_a_study_without_numbers_has_a_page(folder: StudyFolder, tmp_path: Path) -> None:
    nothing = {"sentences": 1, "long_sentences": 0, "signatures": {}, "variants": {}, "systems": {}}
    table = TABLE | {
        "seeds": [1],
        "learning": {},
        "tests": {"news": nothing},
        "comparisons": {},
        "failed": {},
        "missing": ["one", "two"],
    }
    text = as_html(study_document(folder, table, Album(tmp_path)))
    assert "Not done yet: one, two" in text
    assert "<svg" not in text
