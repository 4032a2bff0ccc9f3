"""How often every word occurs, in a table that never grows beyond a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

LIMIT = 2_000_000
"""Entries of a table: some 300 MB."""


class WordCounts:
    """Frequencies of words, of which the rarest are forgotten when there are too many.

    counts: word → how often it was met since it entered the table. missed: no word that is not in the table was met more often than
    this, and no count is too low by more than this; 0 as long as nothing was forgotten. Which words stay depends on the words and
    their order alone.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.counts: dict[str, int] = {}
        self.missed = 0

    def add(self, words: Sequence[str], counts: Iterable[int]) -> None:
        """Adds so many occurrences of each of these different words; none of a word with count 0."""
        table, get = self.counts, self.counts.get
        for word, count in zip(words, counts, strict=True):
            if count:
                table[word] = get(word, 0) + count
        if len(table) > self.limit:
            self._forget()

    def recount(self, blocks: Iterable[tuple[Sequence[str], Iterable[int]]]) -> None:
        """Makes every count exact, by going through all that was added once more."""
        exact = dict.fromkeys(self.counts, 0)
        for words, counts in blocks:
            for word, count in zip(words, counts, strict=True):
                if word in exact:
                    exact[word] += count
        self.counts = exact

    def _forget(self) -> None:
        """Forgets the words up to the lowest frequency that brings the table down to half its limit."""
        counts = np.fromiter(self.counts.values(), dtype=np.int64, count=len(self.counts))
        rare = int(np.partition(counts, len(counts) - self.limit // 2 - 1)[len(counts) - self.limit // 2 - 1])
        self.counts = {word: count for word, count in self.counts.items() if count > rare}
        self.missed += rare
