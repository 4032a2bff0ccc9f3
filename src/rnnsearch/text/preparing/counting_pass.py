"""The second pass of `prepare`: counts the words of the pairs that stay, and makes the vocabularies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import Codec, Side, side_tokeniser
from rnnsearch.text.preparing.dropped import CleanedCorpus
from rnnsearch.text.preparing.growth import Growth
from rnnsearch.text.preparing.preparation_report import SideReport
from rnnsearch.text.preparing.word_counts import WordCounts
from rnnsearch.text.store.blocks import read_blocks
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.vocabulary import Vocabulary


def count(side: Side, cleaned: CleanedCorpus, work: Path, progress: Progress) -> tuple[WordCounts, SideReport]:
    """Frequencies of the words of one side, and what the report says of them."""
    counts, report = WordCounts(), SideReport(sentences=cleaned.pairs)
    lengths, growth = np.zeros(1, dtype=np.int64), Growth()
    for block in cleaned.without_repeated(read_blocks(work / side)):
        if not counts.missed:  # else a word may be in no table and not be new
            growth.add(block, counts.counts)
        counts.add(block.words, block.counts())
        here = np.bincount(block.sentences.lengths)
        lengths = _added(lengths, here)
        report.words += int(block.sentences.lengths.sum())
        progress(f"counting the {side} words", int(lengths.sum()), cleaned.pairs)
    report.distinct_words, report.uncounted = max(len(counts.counts), growth.distinct), counts.missed
    if counts.missed:
        counts.recount((block.words, block.counts()) for block in cleaned.without_repeated(read_blocks(work / side)))
    report.longest, report.lengths = len(lengths) - 1, lengths.tolist()
    report.growth = growth.points()
    report.coverage = _coverage(counts, report.words)
    return counts, report


def _added(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.zeros(max(len(left), len(right)), dtype=np.int64)
    total[: len(left)] += left
    total[: len(right)] += right
    return total


def _coverage(counts: WordCounts, words: int) -> list[tuple[int, float]]:
    """What share of the running words the 1, 2, 5, 10, 20, … most frequent words are."""
    frequencies = np.fromiter(counts.counts.values(), dtype=np.int64, count=len(counts.counts))
    covered = np.cumsum(np.sort(frequencies)[::-1])
    sizes = [digit * 10**power for power in range(8) for digit in (1, 2, 5)]
    sizes = [*(size for size in sizes if size < len(covered)), len(covered)]
    return [(size, round(int(covered[size - 1]) / max(words, 1), 6)) for size in sizes]


def make_codec(folder: Path, side: Side, counts: WordCounts, settings: DataSettings, progress: Progress) -> Codec:
    """The side's codec, saved."""
    subwords = None
    if settings.subwords == "none":
        vocabulary = Vocabulary.from_counts(counts.counts, settings.vocabulary_size, settings.minimum_count)
        if len(vocabulary) == 2:
            raise InputError(f"no {side} word occurs at least {settings.minimum_count} times", remedy="lower data.minimum_count")
    else:
        progress(f"training {side} subwords", 0, None)
        path = folder / f"subwords.{side}.model"
        subwords = Subwords.train(counts.counts, settings.subwords, settings.vocabulary_size, path)
        vocabulary = Vocabulary(subwords.vocabulary())
    codec = Codec(side_tokeniser(side, settings), vocabulary, subwords)
    codec.save(folder, side)
    return codec
