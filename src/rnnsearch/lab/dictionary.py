"""A dictionary from word links: the most frequent translation of each word or phrase, with its
probabilities.

A phrase and its translation are runs of words that are linked with each other and with no other
word (Koehn, Och & Marcu 2003)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from rnnsearch.system.files import written_whole
from rnnsearch.word_links import Link

Phrase = tuple[str, str]
"""A source phrase and its translation; spaces are between words."""
LinkedPair = tuple[Sequence[str], Sequence[str], Collection[Link]]
"""The words of both sides, and their links."""


def write_dictionary(pairs: Iterable[LinkedPair], out: Path, longest: int = 1) -> int:
    """Writes a line for each source phrase, with TABs between its fields, and returns the number of
    lines: phrase, most frequent translation, their count c, c / count of the phrase, c / count of
    the translation.

    Phrases are sorted by their frequency. All are in memory. longest: maximum number of words of a
    phrase.
    """
    counts = Counter(phrase for pair in pairs for phrase in phrases(*pair, longest))
    sides = Counter[str](), Counter[str]()
    for phrase, count in counts.items():
        for side, words in zip(sides, phrase, strict=True):
            side[words] += count
    best: dict[str, tuple[int, str]] = {}
    for (source, target), count in counts.items():
        best[source] = max(best.get(source, (0, "")), (count, target))
    with written_whole(out) as whole, whole.open("w", encoding="utf-8") as file:
        for source, of_source in sorted(sides[0].items(), key=lambda item: (-item[1], item[0])):
            count, target = best[source]
            shares = f"{count / of_source:.4f}\t{count / sides[1][target]:.4f}"
            print(f"{source}\t{target}\t{count}\t{shares}", file=file)
    return len(best)


def phrases(
    source: Sequence[str], target: Sequence[str], links: Collection[Link], longest: int
) -> Iterator[Phrase]:
    """Yields the phrases of a pair with at most `longest` words on each side. Their first and last
    words are linked."""
    targets: dict[int, set[int]] = {}
    sources: dict[int, set[int]] = {}
    for i, j in links:
        targets.setdefault(i, set()).add(j)
        sources.setdefault(j, set()).add(i)
    for first in sorted(targets):
        for last in range(first, min(first + longest, len(source))):
            if last not in targets:
                continue
            linked = set().union(*(targets.get(i, ()) for i in range(first, last + 1)))
            low, high = min(linked), max(linked)
            back = set().union(*(sources.get(j, ()) for j in range(low, high + 1)))
            if high - low < longest and first <= min(back) and max(back) <= last:
                yield " ".join(source[first : last + 1]), " ".join(target[low : high + 1])
