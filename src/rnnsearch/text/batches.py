"""Pairs to padded batches, in the order of the paper's procedure (B.2), which can be resumed at any batch."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.text.corpus import Pairs
from rnnsearch.text.vocabulary import EOS

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs of one update. Lengths count the end of sentence; what lies beyond them is padding, whatever its id."""

    source: Int64[Tensor, "batch source"]
    source_lengths: Int64[Tensor, " batch"]
    target: Int64[Tensor, "batch target"]
    target_lengths: Int64[Tensor, " batch"]

    def to(self, device: torch.device | str) -> Batch:
        return Batch(*(part.to(device) for part in (self.source, self.source_lengths, self.target, self.target_lengths)))


class Position(NamedTuple):
    """A place between two batches: `batch` of them are done in epoch `epoch`, both counted from 0."""

    epoch: int = 0
    batch: int = 0


_START = Position()


def pad(
    sentences: Sequence[Sequence[int] | NDArray[np.unsignedinteger]],
) -> tuple[Int64[Tensor, "batch position"], Int64[Tensor, " batch"]]:
    """Sentences of ids, each with its end of sentence → (ids, lengths); filled up on the right with id 0."""
    lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.int64)
    ids = np.full((len(sentences), int(lengths.max())), EOS, dtype=np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.from_numpy(ids), lengths


def collate(pairs: Pairs, indices: Sequence[int] | Indices) -> Batch:
    """The batch of these pairs, in this order."""
    return Batch(*pad([pairs.source(int(i)) for i in indices]), *pad([pairs.target(int(i)) for i in indices]))


class BatchOrder:
    """Which pairs make which batch: a function of lengths, settings and position alone, so that a run can be resumed exactly.

    Pairs of at most `max_length` words a side are read in the order of the store (shuffled there once), or with `reshuffle` in a
    new order every epoch. Pools of batch_size × pool_batches pairs are sorted by length and cut into batches; the last pool of an
    epoch holds what is left. Only one pool is worked on at a time.

    source_lengths, target_lengths: of all pairs, the end of sentence included, as `Pairs` has them.
    kept: the indices of the pairs that are short enough. Raises InputError if there are none, or one is longer than `batch_tokens`.
    """

    def __init__(self, source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer], settings: TrainingSettings) -> None:
        self.settings = settings
        self._source, self._target = source_lengths, target_lengths
        longest = np.maximum(source_lengths, target_lengths)
        self.kept: Indices = np.flatnonzero(longest <= settings.max_length + 1)
        if not len(self.kept):
            what = f"none of the {len(longest)} pairs has both sides within training.max_length = {settings.max_length}"
            raise InputError(what, remedy="raise training.max_length, or prepare another corpus")
        if settings.batch_tokens is not None and int(longest[self.kept].max()) > settings.batch_tokens:
            what = f"training.batch_tokens = {settings.batch_tokens} cannot hold a pair of {int(longest[self.kept].max())} positions"
            raise InputError(what, remedy="raise training.batch_tokens or lower training.max_length")

    def __len__(self) -> int:
        """Batches of an epoch. With `batch_tokens` it takes a pass over the lengths, and with `reshuffle` too it is the first epoch's."""
        if self.settings.batch_tokens is None:
            return -(-len(self.kept) // self.settings.batch_size)
        return self._batches_by_tokens

    def batches(self, start: Position = _START) -> Iterator[tuple[Indices, Position]]:
        """The batches from `start` on, epoch after epoch without end: (indices of the pairs, the position after this batch).

        Raises InputError if `start` lies beyond the end of its epoch, as it may when settings or corpus have changed.
        """
        epoch, skipped = start
        while True:
            done = -1
            for done, batch, is_last in self._epoch(epoch, skipped):
                yield batch, Position(epoch + 1, 0) if is_last else Position(epoch, done)
            if done < 0:
                what = f"epoch {epoch} has fewer than {skipped + 1} batches, so training cannot go on from there"
                raise InputError(what, remedy="resume with the corpus and the batch settings that the run began with")
            epoch, skipped = epoch + 1, 0

    def padding_share(self) -> float:
        """The share of an epoch's positions, of both sides, that are padding."""
        real = int(self._source[self.kept].sum(dtype=np.int64) + self._target[self.kept].sum(dtype=np.int64))
        padded = sum(len(batch) * int(self._source[batch].max() + self._target[batch].max()) for _, batch, _ in self._epoch(0, 0))
        return 1 - real / padded

    @functools.cached_property
    def _batches_by_tokens(self) -> int:
        return sum(1 for _ in self._epoch(0, 0))

    def _epoch(self, epoch: int, skipped: int) -> Iterator[tuple[int, Indices, bool]]:
        """(batches done after this one, its pairs, whether it is the epoch's last), without the first `skipped`."""
        size = self.settings.batch_size * self.settings.pool_batches
        pools = -(-len(self.kept) // size)
        # Pools cut by sentences all make the same number of batches, so those before `skipped` need not be cut.
        first = 0 if self.settings.batch_tokens is not None else min(skipped // self.settings.pool_batches, pools - 1)
        order = self._reading_order(epoch)
        done = first * self.settings.pool_batches
        for number in range(first, pools):
            batches = self._cut(order[number * size : (number + 1) * size])
            if self.settings.reshuffle:
                batches = [batches[i] for i in self._random(epoch, number + 1).permutation(len(batches))]
            for batch in batches:
                done += 1
                if done > skipped:
                    yield done, batch, number == pools - 1 and batch is batches[-1]

    def _reading_order(self, epoch: int) -> Indices:
        return self._random(epoch, 0).permutation(self.kept) if self.settings.reshuffle else self.kept

    def _random(self, epoch: int, use: int) -> np.random.Generator:
        """Independent numbers for the reading order of an epoch (use 0) and for each of its pools (1, 2, …)."""
        return np.random.default_rng([self.settings.seed % 2**32, epoch, use])

    def _cut(self, pool: Indices) -> list[Indices]:
        """One pool, sorted by length, as batches from short to long."""
        longest = np.maximum(self._source[pool], self._target[pool])
        by_length = np.argsort(longest, kind="stable")  # stable: the same order on every machine
        if self.settings.batch_tokens is None:
            starts = list(range(0, len(pool), self.settings.batch_size))
        else:
            starts = _starts_within(longest[by_length].tolist(), self.settings.batch_tokens)
        return np.split(pool[by_length], starts[1:])


def _starts_within(longest: list[int], tokens: int) -> list[int]:
    """Where batches start, such that no batch of n pairs has n × its longest side > tokens; `longest` rises, so its last is the longest."""
    starts = [0]
    for i, length in enumerate(longest):
        if (i - starts[-1] + 1) * length > tokens:
            starts.append(i)
    return starts
