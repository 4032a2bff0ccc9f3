"""IBM Model 1 (Brown et al. 1993, Sec. 4.2): t(target word | source word) from sentence pairs without links, by EM.

    p(y_i | x) ∝ Σ_j t(y_i | x_j)        j runs over the source words and NULL
    c(y | x) = Σ t(y | x_j) / Σ_j′ t(y | x_j′)        over all places of all sentences where x_j = x meets y
    t(y | x) = c(y | x) / Σ_y′ c(y′ | x)

The source's end of sentence plays NULL: every sentence has one, and it has a row of its own. The work goes through the source words, a
group of them at a time, and meets each in all its sentences: so a group's part of the table is dense and small, the rest is sparse,
and memory holds the corpus, one number for every target word of it, and the sparse table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Float64
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.system.progress import Progress
from rnnsearch.text.lexicon.table import Entries, LexicalTable, ranges
from rnnsearch.text.store.blocks import Integers, offsets_of
from rnnsearch.text.store.corpus import Pairs
from rnnsearch.text.vocabulary import EOS

DENSE = 1 << 19
"""Entries of a group's dense table: so few that it stays in the CPU's cache."""
CELLS = 1 << 20
"""Meetings of a source word with a target word that are worked on at once."""
SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True)
class Pruning:
    """What an iteration leaves out, of rows other than NULL's: expected counts up to `count`, and all but the `width` largest."""

    count: float = 1e-3
    width: int = 1000


class _Corpus(NamedTuple):
    """targets: all target words end to end, without ends of sentences; those of sentence n begin at offsets[n].

    words, sentences, times: which source word occurs in which sentence how often; sorted by word, then by sentence.
    """

    targets: Integers
    offsets: NDArray[np.int64]
    words: Integers
    sentences: Integers
    times: Integers

    def cells(self, first: int, last: int) -> tuple[Integers, Integers, Integers]:
        """The places in `targets` that occurrences first … last − 1 meet, and of each: source word, and how often it occurs there."""
        sentences = self.sentences[first:last]
        lengths = np.diff(self.offsets)[sentences]
        places = ranges(self.offsets[sentences], lengths)
        return places, np.repeat(self.words[first:last], lengths), np.repeat(self.times[first:last], lengths)


class _Group(NamedTuple):
    """Source words first_word … last_word − 1; cuts: where their occurrences are cut into pieces of some CELLS cells."""

    first_word: int
    last_word: int
    cuts: list[int]


def estimate(
    pairs: Pairs,
    source_words: int,
    target_words: int,
    *,
    most_pairs: int = 200_000,
    iterations: int = 5,
    pruning: Pruning | None = None,
    progress: Progress | None = None,
) -> LexicalTable:
    """The table of the first `most_pairs` pairs, a random sample since a store's pairs are shuffled. source_words, target_words: K_x, K_y.

    Raises InputError without pairs.
    """
    if not len(pairs):
        raise InputError("the corpus has no training pairs", remedy="prepare a corpus with training pairs")
    corpus = _read(pairs, min(len(pairs), most_pairs))
    groups = list(_groups(corpus, source_words, target_words))
    table: list[Entries | None] = [None] * len(groups)
    for iteration in range(iterations):
        totals = np.zeros(len(corpus.targets))  # Σ_j t(y_i | x_j) of every target place
        for number, group in enumerate(groups):
            _add_totals(totals, corpus, group, _dense(group, table[number], target_words))
            _say(progress, 2 * iteration * len(groups) + number, 2 * iterations * len(groups))
        for number, group in enumerate(groups):
            counts = _expected_counts(totals, corpus, group, _dense(group, table[number], target_words))
            table[number] = _normalised(group, counts, pruning or Pruning())
            _say(progress, (2 * iteration + 1) * len(groups) + number + 1, 2 * iterations * len(groups))
    return LexicalTable(Entries(*(np.concatenate(column) for column in zip(*filter(None, table), strict=True))), source_words)


def _read(pairs: Pairs, count: int) -> _Corpus:
    """The first pairs, the target's ends of sentences left out."""
    targets = [pairs.target(number)[:-1] for number in range(count)]
    sources = [pairs.source(number) for number in range(count)]
    sentence = np.repeat(np.arange(count, dtype=np.int64), [len(source) for source in sources])
    occurrences, times = np.unique(np.concatenate(sources).astype(np.int64) * count + sentence, return_counts=True)
    words, sentences = np.divmod(occurrences, count)
    offsets = offsets_of(np.array([len(target) for target in targets]))
    return _Corpus(
        np.concatenate(targets).astype(np.int32), offsets, words.astype(np.int32), sentences.astype(np.int32), times.astype(np.int32)
    )


def _groups(corpus: _Corpus, source_words: int, target_words: int) -> Iterator[_Group]:
    """All source words, so many at a time that their dense table stays small."""
    starts = np.searchsorted(corpus.words, np.arange(source_words + 1))
    cells = offsets_of(np.diff(corpus.offsets)[corpus.sentences])  # of all occurrences before each
    width = max(1, DENSE // target_words)
    for first in range(0, source_words, width):
        last = min(first + width, source_words)
        begin, end = int(starts[first]), int(starts[last])
        inner = np.searchsorted(cells, np.arange(cells[begin] + CELLS, cells[end], CELLS))
        yield _Group(first, last, [begin, *sorted({int(cut) for cut in inner} - {begin, end}), end])


def _dense(group: _Group, entries: Entries | None, target_words: int) -> Float32[NDArray[np.float32], "words target"]:
    """The group's rows; before the first iteration any constant will do, since only ratios matter."""
    shape = (group.last_word - group.first_word, target_words)
    if entries is None:
        return np.ones(shape, np.float32)
    table = np.zeros(shape, np.float32)
    table[entries.sources - group.first_word, entries.targets] = entries.probabilities
    return table


def _add_totals(
    totals: Float64[NDArray[np.float64], " places"], corpus: _Corpus, group: _Group, table: Float32[NDArray[np.float32], "words target"]
) -> None:
    for first, last in zip(group.cuts, group.cuts[1:], strict=False):
        places, words, times = corpus.cells(first, last)
        np.add.at(totals, places, table[words - group.first_word, corpus.targets[places]].astype(np.float64) * times)


def _expected_counts(
    totals: Float64[NDArray[np.float64], " places"], corpus: _Corpus, group: _Group, table: Float32[NDArray[np.float32], "words target"]
) -> Float64[NDArray[np.float64], "words target"]:
    """c(y | x), x being the words of the group."""
    counts = np.zeros(table.size)
    for first, last in zip(group.cuts, group.cuts[1:], strict=False):
        places, words, times = corpus.cells(first, last)
        entry = (words - group.first_word).astype(np.int64) * table.shape[1] + corpus.targets[places]
        shares = table.reshape(-1)[entry] * times / np.maximum(totals[places], SMALLEST)
        counts += np.bincount(entry, weights=shares, minlength=table.size)
    return counts.reshape(table.shape)


def _normalised(group: _Group, counts: Float64[NDArray[np.float64], "words target"], pruning: Pruning) -> Entries:
    """t(y | x) of the counts that are left after pruning."""
    keep = counts > pruning.count
    for row in np.flatnonzero(keep.sum(axis=1) > pruning.width):
        best = np.argpartition(counts[row], -pruning.width)[-pruning.width :]
        keep[row] &= np.isin(np.arange(counts.shape[1]), best)
    if group.first_word == EOS:  # NULL keeps all: so every target word always has a probability
        keep[EOS] = counts[EOS] > 0
    rows, targets = np.nonzero(keep)
    kept = counts[rows, targets]
    sums = np.bincount(rows, weights=kept, minlength=len(counts))
    return Entries((rows + group.first_word).astype(np.int32), targets.astype(np.int32), (kept / sums[rows]).astype(np.float32))


def _say(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress("IBM Model 1", done, total)
