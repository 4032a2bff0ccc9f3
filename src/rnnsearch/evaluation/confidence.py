"""The confidence of a word: its probability, mapped to the share of such words that are right.

The probabilities of a network are usually too low or too high. A logistic map with two parameters,
fitted on a development set (`scripts/fit_confidence.py`), corrects them (Platt 1999): c = σ(slope ·
logit p + bias). It keeps the order of words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

UNSURE = 0.4
"""A word with a lower confidence is shown as unsure."""
IDENTITY = (1.0, 0.0)
"""Slope and bias that leave the probability as it is."""
_LARGEST_LOGIT = 15.0

Probabilities = NDArray[np.float64]


def word_confidence(
    log_p: Sequence[float],
    word_of: Sequence[int],
    words: int,
    calibration: tuple[float, float] = IDENTITY,
) -> list[float]:
    """Returns the confidence of each word.

    log_p: log-probability of each subword. word_of: index of each subword's word; a word's
    probability is the product over its subwords. calibration: slope and bias.
    """
    sums = np.zeros(words)
    np.add.at(sums, np.array(word_of, np.intp), np.array(log_p[: len(word_of)], np.float64))
    return list(map(float, calibrated(np.exp(sums), calibration)))


def calibrated(probability: Probabilities, calibration: tuple[float, float]) -> Probabilities:
    """Returns σ(slope · logit p + bias)."""
    slope, bias = calibration
    return np.asarray(1 / (1 + np.exp(-(slope * logit(probability) + bias))))


def logit(probability: Probabilities) -> Probabilities:
    """Returns ln p/(1 − p), within ±15."""
    with np.errstate(divide="ignore"):
        logit = np.log(probability) - np.log1p(-probability)
    return np.asarray(np.clip(logit, -_LARGEST_LOGIT, _LARGEST_LOGIT))
