"""Writes text and gold sentences together, as words between spaces, for `rnnsearch links --words
given`. So word links are measured that an aligner makes of sentences without a translator for
them.

    python scripts/text_with_gold.py languages/es/train.es.xz languages/es/train.en.xz \\
        --gold languages/es/gold.dev.es languages/es/gold.dev.en --out es  # es.es, es.en

The first lines are pairs of the text, drawn at random, of at most 60 words a side, cut by the
tokeniser; Japanese is cut by janome (`pip install janome`). The last ones are the gold sentences,
as they are.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.languages import language_of
from rnnsearch.text.tokens import Tokeniser

LONGEST = 60


def cutter(language: str) -> Callable[[str], list[str]]:
    """Returns what cuts a line of the language into words."""
    if language == "ja":
        whole = import_module("janome.tokenizer").Tokenizer()
        return lambda line: [word for word in whole.tokenize(line, wakati=True) if word.strip()]
    return lambda line: list(Tokeniser("moses", language).words(line))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("text", nargs=2, help="source and target; their ends name the languages")
    parser.add_argument("--gold", nargs=2, required=True, help="the gold sentences of both sides")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--out", required=True, help="prefix of the files to write")
    arguments = parser.parse_args()
    languages = [language_of(Path(file)) for file in arguments.text]
    cut = [cutter(language) for language in languages]
    lines = list(read_pairs(*arguments.text))
    random.Random(1).shuffle(lines)
    pairs: list[list[str]] = []
    for pair in lines:
        sides = [words(line) for words, line in zip(cut, pair, strict=True)]
        if all(0 < len(side) <= LONGEST for side in sides):
            pairs.append([" ".join(side) for side in sides])
        if len(pairs) == arguments.pairs:
            break
    pairs += [list(pair) for pair in read_pairs(*arguments.gold)]
    for language, side in zip(languages, zip(*pairs, strict=True), strict=True):
        Path(f"{arguments.out}.{language}").write_text("\n".join([*side, ""]), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
