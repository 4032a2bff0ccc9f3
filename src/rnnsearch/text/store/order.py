"""Which pairs make which batch: the paper's procedure (B.2), which can be resumed at any batch and shared by several processes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, Integer
from numpy.typing import NDArray

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError

Indices = Int64[NDArray[np.int64], " _"]
Lengths = Integer[NDArray[np.integer], " _"]


class Position(NamedTuple):
    """A place between two batches: `batch` of them are done in epoch `epoch`, both counted from 0."""

    epoch: int = 0
    batch: int = 0


_START = Position()
_SCANNED = 1 << 16  # lengths read at a time: those of a large store stay on the disk


class BatchOrder:
    """Which pairs make which batch: a function of lengths, settings and position alone, so that a run can be resumed exactly.

    Pairs of at most `max_length` words per side are read in the order of the store (shuffled there once), or with `reshuffle` in a
    new order every epoch. Pools of batch_size × pool_batches pairs are sorted by length and cut into batches; the last pool of an
    epoch holds what is left. Only one pool is worked on at a time, and nothing is held for each pair; `reshuffle` holds 8 bytes.

    source_lengths, target_lengths: of all pairs, the end of sentence included, as `Pairs` has them.
    Raises InputError if no pair is short enough, or one is longer than `batch_tokens`.
    """

    def __init__(
        self,
        source_lengths: Integer[NDArray[np.integer], " pairs"],
        target_lengths: Integer[NDArray[np.integer], " pairs"],
        settings: TrainingSettings,
    ) -> None:
        self.settings = settings
        self._source, self._target = source_lengths, target_lengths
        self._starts = range(0, len(source_lengths), _SCANNED)
        self._kept_in = functools.lru_cache(maxsize=2)(self._scan)  # most pools lie within the block of the one before
        counts, longest = np.zeros(len(self._starts), dtype=np.int64), 0
        for number, start in enumerate(self._starts):
            lengths = self._longest(slice(start, start + _SCANNED))
            kept = lengths[lengths <= settings.max_length + 1]
            counts[number], longest = len(kept), max(longest, int(kept.max(initial=0)))
        self._kept_before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])  # the blocks that begin at _starts
        self.pairs = int(self._kept_before[-1])
        if not self.pairs:
            what = f"none of the {len(source_lengths)} pairs has both sides within training.max_length = {settings.max_length}"
            raise InputError(what, remedy="raise training.max_length, or prepare another corpus")
        longest = rounded_up(longest, settings.length_multiple)
        if settings.batch_tokens is not None and longest > settings.batch_tokens:
            what = f"training.batch_tokens = {settings.batch_tokens} cannot hold a pair of {longest} positions"
            raise InputError(what, remedy="raise training.batch_tokens or lower training.max_length")

    def __len__(self) -> int:
        """Batches of an epoch. With `batch_tokens` it takes a pass over the lengths, and with `reshuffle` too it is the first epoch's."""
        if self.settings.batch_tokens is None:
            return -(-self.pairs // self.settings.batch_size)
        return self._batches_by_tokens

    @property
    def kept(self) -> Indices:
        """The indices of the pairs that are short enough; 8 bytes for each."""
        return self._kept(0, self.pairs)

    def batches(self, start: Position = _START, *, rank: int = 0, world: int = 1) -> Iterator[tuple[Indices, Position]]:
        """The batches from `start` on, epoch after epoch without end: (indices of the pairs, the position after this batch).

        Of several processes that train together, each gives its rank and their number, `world`. Every `world` successive batches are
        one step, of which each process reads the one of its rank: no pair is read twice, none is left out, and batches of a step
        are about equally long. The position after is that of the step, the same for all, and any `world` may go on from there.
        Raises InputError if `start` lies beyond the end of its epoch, as it may when settings or corpus have changed.
        """
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank} of {world}")
        mine: Indices | None = None
        for number, (batch, position) in enumerate(self._stream(start)):
            if number % world == rank:
                mine = batch
            if number % world == world - 1 and mine is not None:
                yield mine, position

    def padding_share(self) -> float:
        """The share of an epoch's positions, of both sides, that are padding."""
        real = padded = 0
        for _, batch, _ in self._epoch(0, 0):
            real += int(self._source[batch].sum(dtype=np.int64) + self._target[batch].sum(dtype=np.int64))
            longest = (int(side[batch].max()) for side in (self._source, self._target))
            padded += len(batch) * sum(rounded_up(length, self.settings.length_multiple) for length in longest)
        return 1 - real / padded

    @functools.cached_property
    def _batches_by_tokens(self) -> int:
        return sum(1 for _ in self._epoch(0, 0))

    def _stream(self, start: Position) -> Iterator[tuple[Indices, Position]]:
        epoch, skipped = start
        while True:
            done = -1
            for done, batch, is_last in self._epoch(epoch, skipped):
                yield batch, Position(epoch + 1, 0) if is_last else Position(epoch, done)
            if done < 0:
                what = f"epoch {epoch} has fewer than {skipped + 1} batches, so training cannot go on from there"
                raise InputError(what, remedy="resume with the corpus and the batch settings that the run began with")
            epoch, skipped = epoch + 1, 0

    def _epoch(self, epoch: int, skipped: int) -> Iterator[tuple[int, Indices, bool]]:
        """(batches done after this one, its pairs, whether it is the epoch's last), without the first `skipped`."""
        size = self.settings.batch_size * self.settings.pool_batches
        pools = -(-self.pairs // size)
        # Pools cut by sentences all make the same number of batches, so those before `skipped` need not be cut.
        first = 0 if self.settings.batch_tokens is not None else min(skipped // self.settings.pool_batches, pools - 1)
        shuffled = self._random(epoch, 0).permutation(self.kept) if self.settings.reshuffle else None
        done = first * self.settings.pool_batches
        for number in range(first, pools):
            begin, end = number * size, min((number + 1) * size, self.pairs)
            batches = self._cut(self._kept(begin, end) if shuffled is None else shuffled[begin:end])
            if self.settings.reshuffle:
                batches = [batches[i] for i in self._random(epoch, number + 1).permutation(len(batches))]
            for batch in batches:
                done += 1
                if done > skipped:
                    yield done, batch, number == pools - 1 and batch is batches[-1]

    def random_words(self, epoch: int, partition: int) -> np.random.Generator:
        """Numbers for the words of a partition of an epoch, independent of those that order the pairs."""
        return np.random.default_rng([self.settings.seed % 2**32, epoch, 0, partition])

    def _kept(self, begin: int, end: int) -> Indices:
        """The indices of the pairs that are short enough, from the begin-th to the one before the end-th."""
        first = int(np.searchsorted(self._kept_before, begin, side="right")) - 1
        last = int(np.searchsorted(self._kept_before, end, side="left"))
        parts = [self._kept_in(start) for start in self._starts[first:last]]
        offset = int(self._kept_before[first])
        return np.concatenate(parts)[begin - offset : end - offset]

    def _scan(self, start: int) -> Indices:
        """The indices of the pairs that are short enough, of one block."""
        return start + np.flatnonzero(self._longest(slice(start, start + _SCANNED)) <= self.settings.max_length + 1)

    def _longest(self, pairs: slice | Indices) -> Lengths:
        longest: Lengths = np.maximum(self._source[pairs], self._target[pairs])
        return longest

    def _random(self, epoch: int, use: int) -> np.random.Generator:
        """Independent numbers for the reading order of an epoch (use 0) and for each of its pools (1, 2, …)."""
        return np.random.default_rng([self.settings.seed % 2**32, epoch, use])

    def _cut(self, pool: Indices) -> list[Indices]:
        """One pool, sorted by length, as batches from short to long."""
        longest = self._longest(pool)
        by_length = np.argsort(longest, kind="stable")  # stable: the same order on every machine
        if self.settings.batch_tokens is None:
            starts = list(range(0, len(pool), self.settings.batch_size))
        else:
            padded = [rounded_up(length, self.settings.length_multiple) for length in longest[by_length].tolist()]
            starts = _starts_within(padded, self.settings.batch_tokens)
        return np.split(pool[by_length], starts[1:])


def rounded_up(length: int, multiple: int) -> int:
    """The next multiple, or the length itself."""
    return -(-length // multiple) * multiple


def _starts_within(longest: list[int], tokens: int) -> list[int]:
    """Where batches start, such that no batch of n pairs has n × its longest side > tokens; `longest` rises, so its last is the longest."""
    starts = [0]
    for i, length in enumerate(longest):
        if (i - starts[-1] + 1) * length > tokens:
            starts.append(i)
    return starts
