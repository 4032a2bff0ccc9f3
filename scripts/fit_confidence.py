"""Fits the confidence of words (`translation.confidence`) on a development text. Prints how
reliable it is.

Usage: python scripts/fit_confidence.py RUN DEV.SRC DEV.REF [--held-out SRC REF ...] [--write]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w
from numpy.typing import NDArray

from rnnsearch import Translator
from rnnsearch.config import changed
from rnnsearch.evaluation.confidence import IDENTITY, Probabilities, calibrated, logit
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.system.files import read_toml, write_text
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.translation.target_words import COPIED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a trained run, or a model's folder or name")
    parser.add_argument("source", help="the text of the fit")
    parser.add_argument("reference", help="its translation")
    parser.add_argument("--held-out", nargs=2, metavar=("SRC", "REF"), action="append", default=[])
    parser.add_argument(
        "--write", action="store_true", help="write the fit into the run's config.toml"
    )
    arguments = parser.parse_args()
    fitted = fit_confidence(
        arguments.run, [arguments.source, arguments.reference], arguments.held_out
    )
    if arguments.write:
        change_translation(Run.open(arguments.run), confidence=fitted)


def change_translation(run: Run, **translation: Any) -> None:
    """Changes settings of the table `translation` in the run's config.toml."""
    file = run.path / "config.toml"
    table = read_toml(file)
    changes = {f"translation.{key}": value for key, value in translation.items()}
    values = changed(run.settings, changes).translation.model_dump()
    table["translation"] |= {key: values[key] for key in translation}
    write_text(file, tomli_w.dumps(table))


def fit_confidence(
    run: str | Path, text: Sequence[str | Path], held_out: Sequence[Sequence[str | Path]]
) -> tuple[float, float]:
    """Returns the fit on `text`, and prints tables of reliability: of this text before and after,
    and of each held-out text after."""
    translator = Translator.load(run)
    fitted = IDENTITY
    for number, (source, reference) in enumerate([text, *held_out]):
        pairs = list(read_pairs(source, reference))
        uncalibrated = {"translation.confidence": IDENTITY}
        translations = translator.translate([line for line, _ in pairs], settings=uncalibrated)
        words = [translator.target.tokeniser.words(line) for _, line in pairs]
        probability, right = words_of_translations(translations, words)
        if number == 0:
            fitted = fit(probability, right)
            print(f"translation.confidence = {list(fitted)}")
        print(f"{source}, before", *reliability_table(reliability(probability, right)), sep="\n")
        after = reliability(calibrated(probability, fitted), right)
        print(f"{source}, after", *reliability_table(after), sep="\n")
    return fitted


def words_of_translations(
    translations: Sequence[Translation], references: Sequence[Sequence[str]]
) -> tuple[Probabilities, NDArray[np.bool_]]:
    """Returns the confidence of all words but the copied ones, and whether each is right.
    references: one for each translation, in words."""
    confidence = np.array([value for one in translations for value in one.confidence])
    pairs = zip(translations, references, strict=True)
    right = [each for one, reference in pairs for each in right_words(one.tokens, reference)]
    written = confidence != COPIED
    return confidence[written], np.array(right, dtype=np.bool_)[written]


def right_words(words: Sequence[str], reference: Sequence[str]) -> list[bool]:
    """Returns whether each word is right: whether the reference has it at least as often as `words`
    up to there."""
    left = Counter(reference)
    right = []
    for word in words:
        right.append(left[word] > 0)
        left[word] -= 1
    return right


def fit(probability: Probabilities, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Returns the slope and bias of maximum likelihood for these words.

    probability: of each word, from `word_confidence` without calibration. right: whether it is
    right. The slope is above 0.
    """
    x = np.stack([logit(probability), np.ones(len(probability))])
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


def reliability(confidence: Probabilities, right: NDArray[np.bool_], bins: int = 10) -> list[Bin]:
    """Returns the bins (all of the same width) that have words, lowest first."""
    number = np.minimum((confidence * bins).astype(int), bins - 1)
    found = []
    for k in np.unique(number).tolist():
        own = number == k
        found.append(
            Bin(k / bins, int(own.sum()), float(confidence[own].mean()), float(right[own].mean()))
        )
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


if __name__ == "__main__":
    main()
