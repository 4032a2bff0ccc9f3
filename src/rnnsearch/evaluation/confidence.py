"""The confidence of a word: its probability, mapped to the share of such words that are right.

The probabilities of a network are usually too low or too high. A logistic map with two parameters, fitted on
a development set, corrects them (Platt 1999): c = σ(slope · logit p + bias). It keeps the order of words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.records import Translation

UNSURE = 0.4
"""A word with a lower confidence is shown as unsure."""
IDENTITY = (1.0, 0.0)
"""Slope and bias that leave the probability as it is."""
_LARGEST_LOGIT = 15.0

Numbers = NDArray[np.float64]


def word_confidence(
    log_p: Sequence[float], word_of: Sequence[int], words: int, calibration: tuple[float, float] = IDENTITY
) -> list[float]:
    """Returns the confidence of each word.

    log_p: log-probability of each subword. word_of: index of each subword's word; a word's probability is the
    product over its subwords. calibration: slope and bias.
    """
    sums = np.zeros(words)
    np.add.at(sums, np.asarray(word_of, dtype=np.intp), np.asarray(log_p[: len(word_of)], dtype=np.float64))
    return [float(value) for value in calibrated(np.exp(sums), calibration)]


def calibrated(probability: Numbers, calibration: tuple[float, float]) -> Numbers:
    """Returns σ(slope · logit p + bias)."""
    slope, bias = calibration
    return np.asarray(1 / (1 + np.exp(-(slope * _logit(probability) + bias))))


def words_of_translations(
    translations: Sequence[Translation], references: Sequence[Sequence[str]]
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Returns the confidence of all words, and whether each is right. references: one for each translation,
    in words."""
    confidence = [value for one in translations for value in one.confidence]
    pairs = zip(translations, references, strict=True)
    right = [each for one, reference in pairs for each in right_words(one.tokens, reference)]
    return np.array(confidence), np.array(right, dtype=np.bool_)


def right_words(words: Sequence[str], reference: Sequence[str]) -> list[bool]:
    """Returns whether each word is right: whether the reference has it at least as often as `words` up to
    there."""
    left = Counter(reference)
    right = []
    for word in words:
        right.append(left[word] > 0)
        left[word] -= 1
    return right


def fit(probability: Numbers, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Returns the slope and bias of maximum likelihood for these words.

    probability: of each word, from `word_confidence` without calibration. right: whether it is right. The
    slope is above 0.
    """
    x = np.stack([_logit(probability), np.ones(len(probability))])
    parameters = np.array(IDENTITY)
    for _ in range(50):  # Newton's method
        p = 1 / (1 + np.exp(-parameters @ x))
        curvature = (x * (p * (1 - p))) @ x.T + 1e-6 * np.eye(2)
        step = np.linalg.solve(curvature, x @ (right - p))
        parameters = parameters + np.clip(step, -1.0, 1.0)
    return max(round(float(parameters[0]), 4), 0.01), round(float(parameters[1]), 4)


class Bin(NamedTuple):
    """Words of similar confidence. confidence: their mean. right: the share of right words."""

    lowest: float
    words: int
    confidence: float
    right: float


def reliability(confidence: Numbers, right: NDArray[np.bool_], bins: int = 10) -> list[Bin]:
    """Returns the bins (all of the same width) that have words, lowest first."""
    number = np.minimum((confidence * bins).astype(int), bins - 1)
    found = []
    for k in np.unique(number).tolist():
        own = number == k
        found.append(Bin(k / bins, int(own.sum()), float(confidence[own].mean()), float(right[own].mean())))
    return found


def calibration_error(bins: Sequence[Bin]) -> float:
    """Returns the expected calibration error: the mean of |confidence − right| over all words."""
    distances = [abs(each.confidence - each.right) for each in bins]
    return float(np.average(distances, weights=[each.words for each in bins]))


def reliability_table(bins: Sequence[Bin]) -> Iterator[str]:
    """Yields the lines of a text table: a row for each bin, and the calibration error."""
    yield "confidence   words   mean   right"
    for each in bins:
        yield f"from {each.lowest:.1f} {each.words:10,} {each.confidence:6.2f} {each.right:7.2f}"
    yield f"expected calibration error: {calibration_error(bins):.3f}"


def _logit(probability: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        logit = np.log(probability) - np.log1p(-probability)
    return np.asarray(np.clip(logit, -_LARGEST_LOGIT, _LARGEST_LOGIT))
