"""The score of a part is that of its text."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_lines import drawn_lines
from refusals import refusal

from rnnsearch.evaluation.bleu import bleu_statistics, chrf_statistics
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio

METRICS = {"bleu": bleu_statistics, "chrf": chrf_statistics}
RANDOM = np.random.default_rng(11)
REFERENCES = drawn_lines(RANDOM)
HYPOTHESES = [
    " ".join(word for word in line.split() if RANDOM.random() < 0.8) for line in REFERENCES
]


@pytest.mark.parametrize("name", METRICS)
def test_the_score_of_a_part_is_that_of_its_text(name: str) -> None:
    statistics = METRICS[name](HYPOTHESES, REFERENCES)
    assert len(statistics) == 40
    part = np.arange(40) % 3 == 1
    alone = METRICS[name](HYPOTHESES[1::3], REFERENCES[1::3]).score()
    assert statistics.score(part) == alone
    assert statistics.score(np.flatnonzero(part)) == alone
    assert statistics.score() != alone


def test_of_no_sentence_there_is_no_score() -> None:
    statistics = SufficientStatistics("BLEU", "", np.zeros((2, 2)), sum)
    for nothing in (statistics.score, statistics.rows_of):
        with refusal("no sentence"):
            nothing(np.array([False, False]))
    assert np.isnan(ratio("length ratio", "", [1.0], [0.0]).score().value)
