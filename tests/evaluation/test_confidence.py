"""Confidences are probabilities of words, mapped to the share of words that are right."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusal

from rnnsearch.config import changed
from rnnsearch.evaluation.confidence import calibrated, word_confidence
from rnnsearch.run import Run
from rnnsearch.settings import Settings
from rnnsearch.translation.translator import Translator

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from fit_confidence import (
    calibration_error,
    change_translation,
    fit,
    reliability,
    reliability_table,
    right_words,
)

SENTENCES = ["The man sees the woman.", "The woman reads a book.", ""]


def test_a_word_has_the_product_of_its_subwords() -> None:
    # the last one is the end of sentence
    log_p = [math.log(value) for value in (0.5, 0.4, 0.9, 0.1)]
    assert word_confidence(log_p, [0, 0, 1], 2) == pytest.approx([0.2, 0.9])


@pytest.mark.parametrize("calibration", [(1.0, 0.0), (0.5, 0.4), (3.0, -2.0)])
def test_the_map_is_logistic_and_keeps_the_order(calibration: tuple[float, float]) -> None:
    p = np.array([0.0, 1e-300, 0.01, 0.3, 0.31, 0.99, 1.0])
    found = calibrated(p, calibration)
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 1)).all()
    slope, bias = calibration
    assert found[3] == pytest.approx(1 / (1 + math.exp(-slope * math.log(0.3 / 0.7) - bias)))


def test_a_right_word_stands_in_the_reference_as_often() -> None:
    assert right_words(["le", "a", "le", "le"], ["le", "un", "le"]) == [True, False, True, False]


def test_the_fit_finds_the_map_and_mends_the_error() -> None:
    random = np.random.default_rng(1)
    p = random.uniform(0.01, 0.99, 20_000)
    right = random.uniform(size=len(p)) < calibrated(p, (0.5, 0.4))
    slope, bias = fit(p, right)
    assert (slope, bias) == pytest.approx((0.5, 0.4), abs=0.05)
    before, after = (reliability(each, right) for each in (p, calibrated(p, (slope, bias))))
    assert calibration_error(after) < 0.02 < 0.1 < calibration_error(before)
    assert sum(each.words for each in after) == len(p)
    assert len(list(reliability_table(after))) == len(after) + 2


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"search.beam": 1},
        {"translation.faithful": True},
        {"translation.replace_unk": True},
        {"search.nbest": 3},
    ],
)
def test_every_word_that_is_written_has_a_confidence(
    tiny_run: Path, search: dict[str, Any]
) -> None:
    for one in Translator.load(tiny_run).translate(SENTENCES, settings=search):
        for each in [one, *one.alternatives]:
            assert len(each.confidence) == len(each.tokens)
            assert all(0 <= value <= 1 for value in each.confidence)
            assert each.to_dict()["confidence"] == [round(value, 5) for value in each.confidence]


def test_confidences_are_those_of_the_log_probabilities(tiny_run: Path) -> None:
    (one,) = Translator.load(tiny_run).translate(
        SENTENCES[:1], settings={"translation.confidence": (2.0, 1.0)}
    )
    words = len(one.tokens)
    assert one.confidence == pytest.approx(
        calibrated(np.exp(one.log_probabilities[:words]), (2.0, 1.0)).tolist()
    )


def test_a_fit_that_is_written_keeps_other_changes(tiny_run: Path, tmp_path: Path) -> None:
    run = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    change_translation(run, faithful=True)
    change_translation(run, confidence=(0.5, 0.4))
    found = Run.open(run.path).settings.translation
    assert (found.faithful, found.confidence) == (True, (0.5, 0.4))


@pytest.mark.parametrize("value", [(0.0, 0.0), (1.0,), (1.0, float("nan")), ("a", 0.0)])
def test_a_map_that_is_none_is_refused(value: Any) -> None:
    with refusal(r"translation\.confidence"):
        changed(Settings(), {"translation.confidence": value})
