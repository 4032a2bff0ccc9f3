"""Fits the confidence of words (`search.confidence`) on a development text, and prints how reliable it is.

Usage: python scripts/fit_confidence.py RUN DEV.SRC DEV.REF [--held-out SRC REF ...] [--write]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rnnsearch import Translator
from rnnsearch.evaluation.confidence import (
    IDENTITY,
    calibrated,
    fit,
    reliability,
    reliability_table,
    words_of_translations,
)
from rnnsearch.run import Run
from rnnsearch.text.formats.lines import read_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a trained run, or a model's folder or name")
    parser.add_argument("text", nargs=2, metavar=("SRC", "REF"), help="the text of the fit")
    parser.add_argument("--held-out", nargs=2, metavar=("SRC", "REF"), action="append", default=[])
    parser.add_argument("--write", action="store_true", help="write the fit into the run's config.toml")
    arguments = parser.parse_args()
    fitted = fit_confidence(arguments.run, arguments.text, arguments.held_out)
    if arguments.write:
        Run.open(arguments.run).change_search(confidence=fitted)


def fit_confidence(
    run: str | Path, text: list[str | Path], held_out: list[list[str | Path]]
) -> tuple[float, ...]:
    """Returns the fit on `text`, and prints tables of reliability: of this text before and after, and of each
    held-out text after."""
    translator = Translator.load(run)
    fitted: tuple[float, ...] = IDENTITY
    for number, (source, reference) in enumerate([text, *held_out]):
        pairs = list(read_pairs(source, reference))
        translations = translator.translate([line for line, _ in pairs], confidence=IDENTITY)
        words = [translator.target.tokeniser.words(line) for _, line in pairs]
        probability, right = words_of_translations(translations, words)
        if number == 0:
            fitted = fit(probability, right)
            print(f"search.confidence = {list(fitted)}")
        print(f"{source}, before", *reliability_table(reliability(probability, right)), sep="\n")
        after = reliability(calibrated(probability, fitted), right)
        print(f"{source}, after", *reliability_table(after), sep="\n")
    return fitted


if __name__ == "__main__":
    main()
