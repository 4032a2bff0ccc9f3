"""What `search.faithful` changes: BLEU, and the shares of invented words and of changed numbers, without and
with.

    python benchmarks/faithful.py en-fr newstest2012.en.gz newstest2012.fr.gz

An invented word stood in no target text of training, in any case. A changed number stands in the translation
and not in the source; the reference's share shows what translators change themselves ("two" for 2, "14.30"
for "2:30 pm").
"""

from __future__ import annotations

import argparse
import gzip
import re
from pathlib import Path

from rnnsearch import Translator
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.translation.faithful import Faithful


def read(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().rstrip("\n").split("\n")


def numbers(line: str) -> set[str]:
    """Returns the digits of each number: 1,500 and 1 500 are one."""
    return {re.sub(r"\D", "", found) for found in re.findall(r"\d+(?:[ ,.\u00a0\u202f]\d+)*", line)}


def invented(translator: Translator, lines: list[str]) -> float:
    """Returns the share of words, in per cent, that no target text of training held."""
    known = translator.target.known
    assert known is not None, "the model has no words.target.bloom"
    told = Faithful(translator.source, known, {})
    words = [word for line in lines for word in translator.target.tokeniser.words(line)]
    return 100 * sum(not told.knows(word) for word in words) / len(words)


def changed(sources: list[str], lines: list[str]) -> float:
    """Returns the share of numbers, in per cent, that the source does not hold."""
    pairs = [
        (number, numbers(source))
        for source, line in zip(sources, lines, strict=True)
        for number in numbers(line)
    ]
    return 100 * sum(number not in given for number, given in pairs) / max(1, len(pairs))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    arguments = parser.parse_args()
    sources, references = read(arguments.source), read(arguments.reference)
    translator = Translator.load(arguments.model)
    print(f"{'':10} {'BLEU':>6} {'invented':>9} {'numbers changed':>16}")
    for name, faithful in (("without", False), ("with", True)):
        lines = [each.text for each in translator.translate(sources, faithful=faithful)]
        row = bleu(lines, references).value, invented(translator, lines), changed(sources, lines)
        print(f"{name:10} {row[0]:6.2f} {row[1]:8.2f}% {row[2]:15.2f}%")
    print(
        f"{'reference':10} {'':6} {invented(translator, references):8.2f}% "
        f"{changed(sources, references):15.2f}%"
    )


if __name__ == "__main__":
    main()
