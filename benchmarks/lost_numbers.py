"""Counts the lines whose translation loses, changes or doubles a number.

    python benchmarks/lost_numbers.py en-fr                      # 500 lines made with numbers
    python benchmarks/lost_numbers.py en-fr newstest2013.en.gz   # a file's lines with digits

Equal are 1,500 and 1 500, 3 pm and 15 h, 12 thousand and 12 000, 19th and XIXe. Named are the lines
whose translation has `doubtful_numbers`. Lines that differ and are not named are printed.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable

from rnnsearch import Translator
from rnnsearch.text.formats.lines import read_lines

FORMS = {
    "en": """The trip takes {range} hours by train.
Chapters {range} and pages {range} are new.
Our team won {score} and then lost {score}.
The phone number is {phone}.
The train leaves at {time} and arrives at {time}.
The meeting is on {day}/{day}/{year} at {time}.
The contract is worth ${many} a year.
The price rose from {decimal} to {many} euros.
He was born on {day} March {year} in a small village.
In {year}, {many} people lived in the city.
About {decimal}% of the {many} voters said yes.
Agent 00{digit} paid ${small} for the car.
Between {year} and {year}, exports grew by {decimal} percent.
Article {small} of Directive {year}/{day}/EC is clear.
Version {digit}.{digit}.{digit} was released in April {year}.
More than {many} tons of rice, {many} tons of wheat and {many} tons of corn were sold.
The numbers {small}, {day}, {small} and {day} are wrong.""",
    "fr": """Le voyage dure {range} heures en train.
Les chapitres {range} et les pages {range} sont nouveaux.
Notre équipe a gagné {score} et puis perdu {score}.
Le numéro de téléphone est le {phone}.
Le train part à {time} et arrive à {time}.
La réunion aura lieu le {day}/{day}/{year} à {time}.
Le contrat vaut {many} € par an.
Le prix est passé de {decimal} à {many} euros.
Il est né le {day} mars {year} dans un petit village.
En {year}, {many} personnes vivaient dans la ville.
Environ {decimal} % des {many} électeurs ont dit oui.
L'agent 00{digit} a payé {small} euros pour la voiture.
Entre {year} et {year}, les exportations ont augmenté de {decimal} %.
L'article {small} de la directive {year}/{day}/CE est clair.
La version {digit}.{digit}.{digit} est sortie en avril {year}.
Plus de {many} tonnes de riz, {many} tonnes de blé et {many} tonnes de maïs ont été vendues.
Les nombres {small}, {day}, {small} et {day} sont faux.""",
}


def made(language: str, lines: int) -> list[str]:
    """Returns lines with random numbers, always the same."""
    number, english = random.Random(1).randint, language == "en"
    forms = FORMS[language].split("\n")
    kinds: dict[str, Callable[[], str]] = {
        "digit": lambda: str(number(1, 9)),
        "day": lambda: str(number(1, 28)),
        "small": lambda: str(number(30, 999)),
        "year": lambda: str(number(1900, 2026)),
        "score": lambda: f"{number(0, 6)}-{number(0, 6)}",
        "range": lambda: f"{(first := number(1, 200))}-{first + number(1, 99)}",
        "decimal": lambda: f"{number(0, 99)}{'.' if english else ','}{number(1, 99)}",
        "many": lambda: f"{number(1001, 10 ** number(4, 8)):,}".replace(
            ",", "," if english else " "
        ),
        "time": lambda: f"{number(6, 23)}{':' if english else 'h'}{number(0, 59):02}",
        "phone": lambda: " ".join(["+33 1", *(str(number(10, 99)) for _ in range(4))]),
    }
    return [
        re.sub(r"\{(\w+)\}", lambda found: kinds[found[1]](), forms[line % len(forms)])
        for line in range(lines)
    ]


def numbers(line: str) -> Counter[str]:
    """Returns the numbers of a line: how often each occurs. Parts count singly."""
    line = re.sub(r"\b([IVX]+)e\b", lambda found: str(roman(found[1])), line)
    line = re.sub(
        r"\b(\d{1,3}) (?:thousand|mille) (\d{1,3})\b",
        lambda found: found[1] + found[2].zfill(3),
        line,
    )
    line = re.sub(r"(\d) (?:thousand|mille)\b(?! million)", r"\1 000", line)  # else it is a billion
    grouped = r"(?<![\d.,])[1-9]\d{0,2}(?:[ ,.'\u00a0\u202f]\d{3}(?!\d))+"
    line = re.sub(grouped, lambda found: re.sub(r"\D", "", found[0]), line)
    clock = r"\b(\d{1,2})((?:(?:[:.]| ?h ?)\d\d)?) ?p\.?m\b"
    line = re.sub(clock, lambda found: f"{int(found[1]) % 12 + 12}{found[2]}", line)
    return Counter(found.lstrip("0") or "0" for found in re.findall(r"\d+", line))


def roman(letters: str) -> int:
    ones = [{"I": 1, "V": 5, "X": 10}[letter] for letter in letters]
    return sum(
        -one if one < later else one for one, later in zip(ones, [*ones[1:], 0], strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("file", nargs="?", help="a text of the source language")
    parser.add_argument("--lines", type=int, default=500, help="lines to make")
    arguments = parser.parse_args()
    translator = Translator.load(arguments.model)
    language = translator.source.tokeniser.language
    if arguments.file:
        lines = [line for line in read_lines(arguments.file) if re.search(r"\d", line)]
    else:
        lines = made(language, arguments.lines)
    results = translator.translate(lines)
    pairs = list(zip(lines, results, strict=True))
    differ = [(line, one) for line, one in pairs if numbers(line) != numbers(one.text)]
    for line, one in differ:
        if not one.doubtful_numbers:
            print(f"{line}\n  → {one.text}")
    named = sum(bool(one.doubtful_numbers) for one in results)
    silent = sum(not one.doubtful_numbers for _, one in differ)
    print(f"{len(lines)} lines, {len(differ)} differ, {silent} of them not named; {named} named")


if __name__ == "__main__":
    main()
