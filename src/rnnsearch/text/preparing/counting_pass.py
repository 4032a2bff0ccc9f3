"""The second pass of `prepare`: counts the words of the pairs that stay, and makes the vocabularies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import Codec, Side, side_tokeniser
from rnnsearch.text.preparing.cleaning import CleanedCorpus
from rnnsearch.text.preparing.preparation_report import SideReport
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.vocabulary import Vocabulary, WordFilter

LIMIT = 2_000_000
"""Entries of a table of counts: some 300 MB."""


class WordCounts:
    """Frequencies of words, of which the rarest are forgotten when there are too many.

    counts: word → occurrences since it entered the table. missed: the most occurrences that a word outside
    the table can have, and that any count can lack; 0 as long as nothing was forgotten. The words that stay
    depend on the words and their order alone.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.counts: dict[str, int] = {}
        self.missed = 0

    def add(self, words: Sequence[str], counts: Iterable[int]) -> None:
        """Adds the occurrences of different words. A word with count 0 does not enter the table."""
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
        place = len(counts) - self.limit // 2 - 1
        rare = int(np.partition(counts, place)[place])
        self.counts = {word: count for word, count in self.counts.items() if count > rare}
        self.missed += rare


def count(side: Side, cleaned: CleanedCorpus, progress: Progress) -> tuple[WordCounts, SideReport]:
    """Returns the frequencies of the words of one side, and what the report says of them."""
    counts, report = WordCounts(), SideReport()
    lengths = np.zeros(1, dtype=np.int64)
    for block in cleaned.blocks(side):
        counts.add(block.words, block.counts())
        here = np.bincount(block.sentences.lengths, minlength=len(lengths))
        here[: len(lengths)] += lengths
        lengths = here
        report.sentences += len(block.sentences.lengths)
        report.words += int(block.sentences.lengths.sum())
        report.distinct_words = max(report.distinct_words, len(counts.counts))
        progress(f"counting the {side} words", report.sentences, cleaned.pairs)
    if counts.missed:
        counts.recount((block.words, block.counts()) for block in cleaned.blocks(side))
    report.uncounted, report.longest, report.lengths = counts.missed, len(lengths) - 1, lengths.tolist()
    report.coverage = _coverage(counts, report.words)
    return counts, report


def _coverage(counts: WordCounts, words: int) -> list[tuple[int, float]]:
    """Returns the share of the running words that the 1, 2, 5, 10, 20, … most frequent words are."""
    covered = np.cumsum(sorted(counts.counts.values(), reverse=True))
    sizes = [digit * 10**power for power in range(8) for digit in (1, 2, 5)]
    sizes = [*(size for size in sizes if size < len(covered)), len(covered)]
    return [(size, round(int(covered[size - 1]) / max(words, 1), 6)) for size in sizes]


def make_codec(
    side: Side, counts: WordCounts, settings: DataSettings, progress: Progress, known: Codec | None
) -> Codec:
    """Returns the side's codec. known: one whose vocabulary and subwords are kept.

    Raises InputError if the text has too few words to learn from.
    """
    if known is not None:
        vocabulary, subwords = known.vocabulary, known.subwords
    elif settings.subwords == "none":
        subwords = None
        vocabulary = Vocabulary.from_counts(counts.counts, settings.vocabulary_size, settings.minimum_count)
        if len(vocabulary) == 2:
            what = f"no {side} word occurs at least {settings.minimum_count} times"
            raise InputError(what, remedy="lower data.minimum_count")
    else:
        progress(f"training {side} subwords", 0, None)
        subwords = Subwords.train(counts.counts, settings.subwords, settings.vocabulary_size)
        vocabulary = Vocabulary(subwords.vocabulary())
    met = None
    if side == "target":
        before = None if known is None else known.known
        met = WordFilter.of(counts.counts) if before is None else before.with_words(counts.counts)
    return Codec(side_tokeniser(side, settings), vocabulary, subwords, met)
