"""Means, spreads and comparisons against values computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from study_files import study_in

from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu_statistics
from rnnsearch.evaluation.statistics import ratio
from rnnsearch.studies.scores import Metric, Results, Summary, mean_over_seeds
from rnnsearch.studies.study_tables import study_figure


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
