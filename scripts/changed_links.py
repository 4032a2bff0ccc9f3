"""Changes the word links of a parallel text, to learn what their teaching depends on.

    python scripts/changed_links.py train.en train.fr train.links --moved 0.2 > moved.links
    python scripts/changed_links.py train.en train.fr train.links --single > single.links
    python scripts/changed_links.py train.en train.fr train.links --content 100 > content.links

Links are Pharaoh's, between the words of the Moses tokeniser, as `rnnsearch links` writes them.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter

from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.text.formats.links import parse_links
from rnnsearch.text.repairs import repair
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.word_links import Link, format_links


def moved(links: list[Link], positions: int, share: float, drawn: random.Random) -> list[Link]:
    """Returns the links, of which a share has a random source position."""
    return [
        (drawn.randrange(positions) if drawn.random() < share else source, target)
        for source, target in links
    ]


def single(links: list[Link]) -> list[Link]:
    """Returns the links of target words that have one link only."""
    count = Counter(target for _, target in links)
    return [link for link in links if count[link[1]] == 1]


def content(links: list[Link], words: list[str], frequent: set[str]) -> list[Link]:
    """Returns the links of target words that are no frequent words and have letters."""
    return [
        link
        for link in links
        if (word := words[link[1]].lower()).isalpha() and word not in frequent
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("links")
    parser.add_argument("--languages", nargs=2, default=("en", "fr"))
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--moved", type=float, metavar="SHARE")
    which.add_argument("--single", action="store_true")
    which.add_argument("--content", type=int, metavar="FREQUENT")
    options = parser.parse_args()
    if options.moved is not None and not 0 <= options.moved <= 1:
        parser.error("--moved is a share from 0 to 1")
    if options.content is not None and options.content < 1:
        parser.error("--content is at least 1")
    source, target = (Tokeniser("moses", language, french=True) for language in options.languages)
    drawn, frequent = random.Random(1), set[str]()
    if options.content:
        lines = (repair(line, target) for line in read_lines(options.target))
        words = (word.lower() for line in lines for word in target.words(line))
        frequent = {word for word, _ in Counter(words).most_common(options.content)}
    pairs = read_pairs(options.source, options.target)
    for number, (line, pair) in enumerate(zip(read_lines(options.links), pairs, strict=True), 1):
        here, there = (
            side.words(repair(text, side))
            for text, side in zip(pair, (source, target), strict=True)
        )
        links = sorted(parse_links(line, options.links, number))
        if options.moved is not None:
            links = moved(links, len(here), options.moved, drawn)
        elif options.single:
            links = single(links)
        else:
            links = content(links, there, frequent)
        print(format_links(sorted({*links})))


if __name__ == "__main__":
    main()
