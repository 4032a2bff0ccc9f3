"""Makes the built-in corpus: `python scripts/builtin_corpus` writes the data files of `rnnsearch.builtin`."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from grammar import Grammar
from noun_phrases import Chance

from rnnsearch.builtin.corpus import OTHERS, USUAL, GeneratedPair
from rnnsearch.word_links import format_links

FOLDER = Path(__file__).parents[2] / "src" / "rnnsearch" / "builtin"
PAIRS = 13_159
"""Pairs of USUAL, from which 12,000 training pairs and twice 500 held-out pairs are chosen."""
EACH_LENGTH = 60
"""Number of pairs of OTHERS for each length, from SHORTEST to LONGEST words."""
SHORTEST, LONGEST = 3, 60  # the shortest, with its full stop: "Marie sleeps."
LENGTHS = ((0.04, 3, 4), (0.60, 5, 12), (0.26, 13, 20), (0.07, 21, 35), (0.03, 36, 60))
"""Share of the sentences of USUAL, and their range of English words: most are short, a few are long."""


def usual(seed: int = 1) -> Iterator[GeneratedPair]:
    """Yields pairs endlessly, with the lengths of LENGTHS."""
    chance = Chance(seed)
    while True:
        yield from _fitting(Grammar(chance), _length(LENGTHS, chance))


def others(known: Iterable[GeneratedPair], seed: int = 2) -> Iterator[GeneratedPair]:
    """Yields up to EACH_LENGTH pairs of each length, none of which shares a side with a known pair."""
    chance, seen = Chance(seed), {side for pair in known for side in (pair.source, pair.target)}
    for words in range(SHORTEST, LONGEST + 1):
        for _ in range(EACH_LENGTH):
            for pair in _fitting(Grammar(chance), words):
                if pair.source not in seen and pair.target not in seen:
                    seen |= {pair.source, pair.target}
                    yield pair


def packed(pairs: Iterable[GeneratedPair]) -> bytes:
    """Returns the content of a data file: source, target and links between tabs, one pair per line."""
    lines = (
        f"{' '.join(pair.source)}\t{' '.join(pair.target)}\t{format_links(pair.links)}\n" for pair in pairs
    )
    return "".join(lines).encode()


def _fitting(grammar: Grammar, words: int) -> Iterator[GeneratedPair]:
    phrase = grammar.sentence(words)
    if all(SHORTEST <= len(side) <= LONGEST for side in (phrase.source, phrase.target)):
        yield GeneratedPair(phrase.source, phrase.target, tuple(sorted(phrase.links)))


def _length(bands: Sequence[tuple[float, int, int]], chance: Chance) -> int:
    drawn = chance.fraction() * sum(share for share, _, _ in bands)
    *first, last = bands
    for share, low, high in first:
        drawn -= share
        if drawn < 0:
            return chance.between(low, high)
    return chance.between(*last[1:])


def main() -> None:
    pairs = list(islice(usual(), PAIRS))
    for name, content in ((USUAL, packed(pairs)), (OTHERS, packed(others(pairs)))):
        (FOLDER / name).write_bytes(gzip.compress(content, mtime=0))
        print(FOLDER / name)


if __name__ == "__main__":
    main()
