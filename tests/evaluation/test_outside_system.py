"""The figures of a real system: Moses's translations, whose scores stand beside them in the corpora's own README."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rnnsearch.evaluation.bleu import bleu_statistics, lengths
from rnnsearch.evaluation.by_length import buckets, by_length
from rnnsearch.evaluation.systems import read_system
from rnnsearch.text.formats.lines import read_lines


@pytest.mark.parametrize(
    ("name", "test", "figure"), [("multi30k.test2016", "multi30k/test2016", 56.57), ("europarl.test", "europarl/test", 25.57)]
)
def test_the_scores_of_moses(shared_data: Path, name: str, test: str, figure: float) -> None:
    references = list(read_lines(shared_data / f"{test}.fr.gz"))
    system = read_system(f"Moses={shared_data / 'systems' / 'moses' / f'{name}.fr.gz'}", len(references))
    assert round(bleu_statistics(system.hypotheses, references).score().value, 2) == figure


def test_moses_by_length(shared_data: Path) -> None:
    """Their lengths are those of the file's seven parts of 500; ours are nearly the same."""
    folder = shared_data / "europarl"
    references = list(read_lines(folder / "test_bylen.fr.gz"))
    system = read_system(f"Moses={shared_data / 'systems/moses/europarl.test_bylen.fr.gz'}", len(references))
    statistics = bleu_statistics(system.hypotheses, references)
    assert round(statistics.score().value, 2) == 25.75
    parts = by_length(statistics, buckets(np.repeat([5, 15, 25, 35, 45, 55, 65], 500).tolist()), samples=0)
    assert [round(part.value, 1) for part in parts] == [26.5, 25.1, 24.4, 24.3, 24.5, 25.3, 27.6]
    counted = buckets(lengths(list(read_lines(folder / "test_bylen.en.gz"))))
    assert all(abs(stretch.sentences - 500) < 40 for stretch in counted)
    assert all(point.low < point.value < point.high for point in by_length(statistics, counted, samples=100))
