"""Measures the effect of `translation.faithful` on BLEU, and on the shares of invented words and
numbers.

    python benchmarks/faithful.py en-fr newstest2012.en.gz newstest2012.fr.gz

An invented word is one that no training target text has, in any letter case. A changed number is
one in the translation but not in the source. The reference's share shows how often translators
change numbers ("two" for 2, "14.30" for "2:30 pm"). A line gains digits if its translation has more
of them.

    python benchmarks/faithful.py en-fr news.en news.fr --reverse fr-en

also measures glossaries. A line's term is its longest word with a certain link to a word of the
reference, which is the term's translation. Obeyed are the terms whose translation is written.
"""

from __future__ import annotations

import argparse
import re

from rnnsearch import Aligner, Translator
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
    return (
        100
        * sum(len(own - given) for given, own in pairs)
        / max(1, sum(len(own) for _, own in pairs))
    )


def gained(sources: list[str], lines: list[str]) -> float:
    """Returns the percentage of lines with more digits than the source."""
    more = [
        len(re.findall(r"\d", line)) > len(re.findall(r"\d", source))
        for source, line in zip(sources, lines, strict=True)
    ]
    return 100 * sum(more) / len(more)


def terms(aligner: Aligner, pairs: list[tuple[str, str]]) -> list[dict[str, str]]:
    """Returns a glossary of one term for each pair, or of none."""
    found = []
    for pair in aligner.align(pairs):
        certain = [
            (pair.source_words[source], pair.target_words[target])
            for source, target in pair.links
            if pair.probabilities[source, target] > 0.7
        ]
        certain = [
            both
            for both in certain
            if all(len(word) > 4 and word.isalpha() and word.islower() for word in both)
        ]
        found.append(dict(sorted(certain, key=lambda both: -len(both[0]))[:1]))
    return found


def obeyed(translator: Translator, glossaries: list[dict[str, str]], lines: list[str]) -> float:
    """Returns the percentage of terms whose translation is a word of the line."""
    hits = [
        word in translator.target.tokeniser.words(line.lower())
        for glossary, line in zip(glossaries, lines, strict=True)
        for word in glossary.values()
    ]
    return 100 * sum(hits) / max(1, len(hits))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("model")
    add("source")
    add("reference")
    add("--reverse", help="model of the other direction")
    arguments = parser.parse_args()
    sources, references = (
        list(read_lines(file)) for file in (arguments.source, arguments.reference)
    )
    translator = Translator.load(arguments.model)
    print(f"{'':10} {'BLEU':>6} {'invented':>9} {'numbers changed':>16} {'gained digits':>14}")
    rows = {"reference": references}
    for name, faithful in (("without", False), ("with", True)):
        found = translator.translate(sources, settings={"translation.faithful": faithful})
        rows[name] = [each.text for each in found]
    for name in ("without", "with", "reference"):
        lines = rows[name]
        value = "" if name == "reference" else f"{bleu(lines, references).value:.2f}"
        shares = f"{invented(translator, lines):8.2f}% {changed(sources, lines):15.2f}%"
        print(f"{name:10} {value:>6} {shares} {gained(sources, lines):13.2f}%")
    if arguments.reverse:
        aligner = Aligner(translator, Translator.load(arguments.reverse))
        glossaries = terms(aligner, list(zip(sources, references, strict=True)))
        glossary_lines = [
            translator.translate([line], glossary=glossary)[0].text
            for line, glossary in zip(sources, glossaries, strict=True)
        ]
        print(f"{sum(map(bool, glossaries))} terms")
        for name, lines in (("without", rows["with"]), ("glossary", glossary_lines)):
            share = obeyed(translator, glossaries, lines)
            print(
                f"{name:10} {bleu(lines, references).value:6.2f}, {share:.1f}% of the terms obeyed"
            )


if __name__ == "__main__":
    main()
