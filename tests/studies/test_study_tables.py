"""Means, spreads and comparisons against values computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu_statistics
from rnnsearch.evaluation.statistics import ratio
from rnnsearch.studies.comparing import mean_over_seeds
from rnnsearch.studies.markdown import markdown
from rnnsearch.studies.metrics import Metric, Summary
from rnnsearch.studies.result_rows import Results
from rnnsearch.studies.study_figure import study_figure


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
    assert mean.score(some).value == pytest.approx((parts[0].score(some).value + parts[1].score(some).value) / 2)
    different = mean_over_seeds([ratio("x", "", [1, 2], [2, 2]), ratio("x", "", [3, 3], [1, 2])])
    assert different.score().value == pytest.approx((3 / 4 + 6 / 3) / 2)


def test_a_table_is_readable() -> None:
    summary = {"mean": 20.0, "spread": 1.5, "runs": 2}
    table = {
        "title": "",
        "study": "study.toml",
        "seeds": [1, 2],
        "learning": {"one": {"parameters": {"mean": 2.5e6, "spread": 0.0, "runs": 2}}},
        "tests": {
            "news": {
                "sentences": 1000,
                "long_sentences": 7,
                "signatures": {"bleu": "tok:13a"},
                "variants": {"one": {"bleu": summary, "aer": {"mean": 0.25, "spread": 0.01, "runs": 2}}, "two": {"bleu": summary}},
                "systems": {"moses": {"bleu": {"mean": 25.57, "spread": None, "runs": 1}}},
            }
        },
        "comparisons": {
            "news": [{"system": "one", "other": "two", "metric": "bleu", "difference": 0.512, "p_randomisation": 0.0312}],
        },
        "failed": {"three": "no memory"},
        "missing": ["four"],
    }
    assert markdown(table, {"news": "figures/news.svg"}) == "\n".join(
        [
            "# study.toml\n",
            "Mean ± sample standard deviation over 2 seeds.\n",
            "## news (1,000 sentences, 7 of over 40 words)\n",
            "| variant | BLEU | AER % |",
            "|---|---|---|",
            "| one | 20.00 ± 1.50 | 25.00 ± 1.00 |",
            "| two | 20.00 ± 1.50 |  |",
            "| moses | 25.57 |  |\n",
            "![news: every variant's scores as dots with their spread](<figures/news.svg>)\n",
            "bleu: `tok:13a`  \n",
            "| difference | BLEU |",
            "|---|---|",
            "| two − one | +0.51 (p = 0.031) |\n",
            "Difference, and p by approximate randomisation: paired by sentence, two-sided, of the mean over the seeds.\n",
            "## Training\n",
            "| variant | million parameters |",
            "|---|---|",
            "| one | 2.50 ± 0.00 |\n",
            "- three failed: no memory",
            "- not done yet: four\n",
        ]
    )


def test_a_picture_shows_every_mean_where_the_table_has_it() -> None:
    summary = {"mean": 20.0, "spread": 1.5, "runs": 2}
    variants = {"one": {"bleu": summary, "aer": {"mean": 0.25, "spread": None, "runs": 1}}, "two": {"bleu": summary | {"mean": 21.0}}}
    figure = study_figure({"variants": variants, "systems": {"moses": {"bleu": {"mean": 25.5, "spread": None, "runs": 1}}}}, "one")
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


def test_a_torn_row_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = Results(path)
    results.add({"run": "one", "status": "failed"})
    results.add({"run": "one", "status": "done"})
    results.add({"run": "one", "status": "done"})  # nothing new
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"run": "two", "sta')
    again = Results(path)
    assert (again.status("one"), again.status("two"), path.read_bytes()) == ("done", "", whole)
    assert whole.count(b"\n") == 2
    path.write_bytes(whole + b"nonsense\n")
    with pytest.raises(InputError, match=r"results\.jsonl:3: is not a row"):
        Results(path)
