"""Measures the effect of `search.faithful` on BLEU, and on the shares of invented words and changed numbers.

    python benchmarks/faithful.py en-fr newstest2012.en.gz newstest2012.fr.gz

An invented word is one that no training target text has, in any letter case. A changed number is one in the
translation but not in the source. The reference's share shows how often translators change numbers ("two" for
2, "14.30" for "2:30 pm").
"""

from __future__ import annotations

import argparse
import re

from rnnsearch import Translator
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.translation.faithful import Faithful


def numbers(line: str) -> set[str]:
    """Returns the digits of each number: 1,500 and 1 500 are one."""
    return {re.sub(r"\D", "", found) for found in re.findall(r"\d+(?:[ ,.\u00a0\u202f]\d+)*", line)}


def invented(translator: Translator, lines: list[str]) -> float:
    """Returns the percentage of words that no training target text has."""
    known = translator.target.known
    assert known is not None, "the model has no words.target.bloom"
    told = Faithful(translator.source, known, {})
    words = [word for line in lines for word in translator.target.tokeniser.words(line)]
    return 100 * sum(not told.knows(word) for word in words) / len(words)


def changed(sources: list[str], lines: list[str]) -> float:
    """Returns the percentage of numbers that the source does not have."""
    pairs = [(numbers(source), numbers(line)) for source, line in zip(sources, lines, strict=True)]
    return 100 * sum(len(own - given) for given, own in pairs) / max(1, sum(len(own) for _, own in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("model")
    add("source")
    add("reference")
    arguments = parser.parse_args()
    sources, references = (list(read_lines(file)) for file in (arguments.source, arguments.reference))
    translator = Translator.load(arguments.model)
    print(f"{'':10} {'BLEU':>6} {'invented':>9} {'numbers changed':>16}")
    rows = {"reference": references}
    for name, faithful in (("without", False), ("with", True)):
        rows[name] = [each.text for each in translator.translate(sources, faithful=faithful)]
    for name in ("without", "with", "reference"):
        lines = rows[name]
        value = "" if name == "reference" else f"{bleu(lines, references).value:.2f}"
        shares = f"{invented(translator, lines):8.2f}% {changed(sources, lines):15.2f}%"
        print(f"{name:10} {value:>6} {shares}")


if __name__ == "__main__":
    main()
