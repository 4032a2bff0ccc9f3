"""What a study came to: means, spreads and comparisons against values computed by hand, and the same numbers in
Markdown and on the page."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from study_files import study_in

from rnnsearch.drawing.figures import Album
from rnnsearch.drawing.page import as_html, as_markdown
from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu_statistics
from rnnsearch.evaluation.statistics import ratio
from rnnsearch.studies.scores import Metric, Results, Summary, mean_over_seeds
from rnnsearch.studies.study import StudyFolder
from rnnsearch.studies.study_tables import study_document, study_figure, write_pages


def test_mean_and_spread_by_hand() -> None:
    """30, 33, 36: mean 33; deviations −3, 0, 3; 18 / (3 − 1) = 9, whose root is 3."""
    summary = Summary.of([30.0, 33.0, 36.0])
    assert summary == Summary(33.0, 3.0, 3)
    assert summary.text(Metric("bleu", "BLEU")) == "33.00 ± 3.00"
    assert Summary.of([0.1234]).text(Metric("aer", "AER %", 100.0)) == "12.34"
    assert Summary.of([1.0, 2.0]).spread == pytest.approx(math.sqrt(0.5))


def test_the_mean_over_seeds_is_the_mean_of_the_scores() -> None:
    references = ["a b c d e f", "g h i j k l", "m n o p q r"]
    outputs = [["a b c d e x", "g h i j k l", "m n o x q r"], ["a b c d e f", "g x i j k l", "m n o p q x"]]
    parts = [bleu_statistics(hypotheses, references) for hypotheses in outputs]
    mean = mean_over_seeds(parts)
    assert mean.score().value == pytest.approx((parts[0].score().value + parts[1].score().value) / 2)
    some = np.array([0, 2])
    assert mean.score(some).value == pytest.approx(
        (parts[0].score(some).value + parts[1].score(some).value) / 2
    )
    different = mean_over_seeds([ratio("x", "", [1, 2], [2, 2]), ratio("x", "", [3, 3], [1, 2])])
    assert different.score().value == pytest.approx((3 / 4 + 6 / 3) / 2)


def test_a_picture_shows_every_mean_where_the_table_has_it() -> None:
    summary = {"mean": 20.0, "spread": 1.5, "runs": 2}
    variants = {
        "one": {"bleu": summary, "aer": {"mean": 0.25, "spread": None, "runs": 1}},
        "two": {"bleu": summary | {"mean": 21.0}},
    }
    figure = study_figure(
        {"variants": variants, "systems": {"moses": {"bleu": {"mean": 25.5, "spread": None, "runs": 1}}}},
        "one",
    )
    assert figure is not None
    bleu_column, aer_column = figure.axes
    assert [label.get_text() for label in bleu_column.get_yticklabels()] == ["one", "two", "moses"]

    def dots(axes: Axes) -> list[tuple[float, float]]:
        lines = [container.lines[0] for container in axes.containers]
        return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines]  # type: ignore[index,arg-type]

    assert dots(bleu_column) == [(20.0, 0.0), (21.0, 1.0), (25.5, 2.0)]
    assert dots(aer_column) == [(25.0, 0.0)]
    ends = bleu_column.containers[0].lines[2][0].get_segments()[0][:, 0]  # type: ignore[attr-defined]
    assert ends.tolist() == [18.5, 21.5]
    assert study_figure({"variants": {"one": {}}, "systems": {}}, "one") is None


def drawn(means: dict[str, float], metric: str = "nll_per_word") -> Axes:
    test = {
        "variants": {
            name: {metric: {"mean": mean, "spread": 0.01, "runs": 2}} for name, mean in means.items()
        },
        "systems": {},
    }
    figure = study_figure(test, "one")
    assert figure is not None
    FigureCanvasAgg(figure).draw()
    return figure.axes[0]


def test_an_outlier_does_not_hide_the_rest() -> None:
    """It is an arrow at the edge, with its value; the others have the width of the column."""
    axes = drawn(
        {"one": 0.03, "two": 0.14, "far": 5.8, "three": 0.09, "four": 0.57, "five": 0.89, "six": 0.3}
    )
    left, right = axes.get_xlim()
    assert -0.2 < left < 0.02
    assert 0.9 < right < 1.1
    assert [text.get_text() for text in axes.texts] == ["5.800"]
    (arrow,) = (line for line in axes.lines if line.get_marker() == ">")
    assert arrow.get_xydata().tolist() == [[right, 2.0]]  # type: ignore[union-attr]


@pytest.mark.parametrize("means", [[1.0, 2.0, 100.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0], [7.0, 7.0, 7.0]])
def test_what_is_no_outlier_is_drawn_to_scale(means: list[float]) -> None:
    axes = drawn({f"variant {place}": mean for place, mean in enumerate(means)})
    left, right = axes.get_xlim()
    assert left < min(means) <= max(means) < right
    assert not axes.texts


def test_a_torn_row_is_forgotten(tmp_path: Path) -> None:
    folder = study_in(tmp_path, "corpus = {builtin = true}\n[variants.one]\n[variants.two]\n")
    folder.path.mkdir()
    path, results = folder / "results.jsonl", Results(folder)
    results.add({"run": "one", "status": "failed"})
    results.add({"run": "one", "status": "done"})
    results.add({"run": "one", "status": "done"})  # nothing new
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"run": "two", "sta')
    again = Results(folder)
    assert [again.status(run) for run in folder.runs] == ["done", ""]
    assert (path.read_bytes(), whole.count(b"\n")) == (whole, 2)
    path.write_bytes(whole + b"nonsense\n")
    with pytest.raises(InputError, match=r"results\.jsonl:3: is not a row"):
        Results(folder)


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
                "p": 0.0312,
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

p is from approximate randomisation of the mean over the seeds, paired by sentence and two-sided.

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
    assert re.findall(r'href="([^#"]+)"', text) == [
        *("report/index.html", "table.md", "table.tex", "figures/")
    ]


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
