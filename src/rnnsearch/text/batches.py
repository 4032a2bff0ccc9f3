"""Chooses the pairs of every batch by the paper's procedure (B.2), which can be resumed at any
batch, and makes padded batches of tensors from them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int64, Integer, UInt
from torch import Tensor

from rnnsearch.batch import Batch, pad
from rnnsearch.errors import InputError
from rnnsearch.settings import TrainingSettings
from rnnsearch.text.dataset import Pairs

PairNumbers = Int64[np.ndarray, " _"]


class Position(NamedTuple):
    """A position between two batches: `batch` batches of epoch `epoch` are done. Epochs count from
    0."""

    epoch: int = 0
    batch: int = 0


_START = Position()


class BatchOrder:
    """The pairs of every batch. They depend only on lengths, settings and position, so that a run
    resumes exactly.

    Pairs of at most `max_length` words per side are read in the order of the dataset (shuffled
    there once), or with `reshuffle` in a new order every epoch. Pools of batch_size × pool_batches
    pairs are sorted by length and cut into batches; the last pool of an epoch holds what is left.
    Memory: one pool, and 8 bytes for each pair. kept: the indices of the pairs that are short
    enough.

    source_lengths, target_lengths: of all pairs, the end of sentence included, as `Pairs` has them.
    Raises InputError if no pair is short enough, or one is longer than `batch_tokens`.
    """

    def __init__(
        self,
        source_lengths: Integer[np.ndarray, " pairs"],
        target_lengths: Integer[np.ndarray, " pairs"],
        settings: TrainingSettings,
    ) -> None:
        self.settings = settings
        self._source, self._target = source_lengths, target_lengths
        longest = np.maximum(source_lengths, target_lengths)
        self.kept: PairNumbers = np.flatnonzero(longest <= settings.max_length + 1)
        self.pairs = len(self.kept)
        if not self.pairs:
            within = f"within training.max_length = {settings.max_length}"
            what = f"none of the {len(source_lengths)} pairs has both sides {within}"
            raise InputError(what, "raise training.max_length, or prepare another corpus")
        positions = int(longest[self.kept].max())
        if settings.batch_tokens is not None and positions > settings.batch_tokens:
            raise InputError(
                f"training.batch_tokens = {settings.batch_tokens} cannot hold a pair of {positions}"
                " positions",
                "raise training.batch_tokens or lower training.max_length",
            )

    def __len__(self) -> int:
        """Counts the batches of an epoch. With `batch_tokens` it takes a pass over the lengths;
        with `reshuffle` as well, the number is that of the first epoch."""
        if self.settings.batch_tokens is None:
            return -(-self.pairs // self.settings.batch_size)
        return self._batches_by_tokens

    def batches(self, start: Position = _START) -> Iterator[tuple[PairNumbers, Position]]:
        """Yields the batches from `start` on, epoch after epoch without end: (indices of the pairs,
        the position after this batch).

        Raises InputError if `start` is beyond the end of its epoch, which happens if settings or
        corpus have changed.
        """
        epoch, skipped = start
        while True:
            done = -1
            for done, batch, is_last in self._epoch(epoch, skipped):
                yield batch, Position(epoch + 1, 0) if is_last else Position(epoch, done)
            if done < 0:
                what = "the dataset or batch settings have changed: "
                what += f"epoch {epoch} has no batch {skipped + 1}"
                raise InputError(what, "resume with those that the run began with")
            epoch, skipped = epoch + 1, 0

    @functools.cached_property
    def _batches_by_tokens(self) -> int:
        return sum(1 for _ in self._epoch(0, 0))

    def _epoch(self, epoch: int, skipped: int) -> Iterator[tuple[int, PairNumbers, bool]]:
        """Yields (batches done including this one, its pairs, whether it is the epoch's last),
        without the first `skipped`."""
        settings, order, first = self.settings, self.kept, 0
        size = settings.batch_size * settings.pool_batches
        pools = -(-self.pairs // size)
        if not settings.batch_tokens:
            # All pools give the same number of batches, so earlier pools need not be cut.
            first = min(skipped // settings.pool_batches, pools - 1)
        if settings.reshuffle:
            order = self._random(epoch, 0).permutation(order)
        done = first * settings.pool_batches
        for number in range(first, pools):
            batches = self._cut(order[number * size : (number + 1) * size])
            if settings.reshuffle:
                places = self._random(epoch, number + 1).permutation(len(batches))
                batches = [batches[i] for i in places]
            for batch in batches:
                done += 1
                if done > skipped:
                    yield done, batch, number == pools - 1 and batch is batches[-1]

    def _random(self, epoch: int, use: int) -> np.random.Generator:
        """Returns independent random generators for the reading order of an epoch (use 0) and for
        each of its pools (1, 2, …)."""
        return np.random.default_rng([self.settings.seed % 2**32, epoch, use])

    def _cut(self, pool: PairNumbers) -> list[PairNumbers]:
        """Sorts a pool by length and cuts it into batches, short ones first."""
        longest = np.maximum(self._source[pool], self._target[pool])
        by_length = np.argsort(longest, kind="stable")  # stable: the same order on every machine
        if self.settings.batch_tokens is None:
            starts = list(range(0, len(pool), self.settings.batch_size))
        else:
            starts = _starts_within(longest[by_length].tolist(), self.settings.batch_tokens)
        return np.split(pool[by_length], starts[1:])


def _starts_within(longest: list[int], tokens: int) -> list[int]:
    """Returns the starts of batches such that every batch of n pairs has n × its longest side ≤
    tokens. `longest` ascends, so the last pair of a batch is the longest."""
    starts = [0]
    for i, length in enumerate(longest):
        if (i - starts[-1] + 1) * length > tokens:
            starts.append(i)
    return starts


def collate(pairs: Pairs, indices: Sequence[int] | PairNumbers, *, linked: bool = False) -> Batch:
    """Returns the batch of these pairs, in this order. linked: with their known alignment; the
    pairs must have links."""
    numbers = list(map(int, indices))
    source, source_lengths = pad([pairs.source[i] for i in numbers])
    target, target_lengths = pad([pairs.target[i] for i in numbers])
    known = None
    if linked:
        assert pairs.links is not None
        links = [pairs.links[i].reshape(-1, 2) for i in numbers]
        known = known_alignment(links, source_lengths, target_lengths)
    return Batch(source, source_lengths, target, target_lengths, known)


def known_alignment(
    links: Sequence[UInt[np.ndarray, "_ 2"]],
    source_lengths: Int64[Tensor, " batch"],
    target_lengths: Int64[Tensor, " batch"],
) -> Float32[Tensor, "batch target source"]:
    """Converts links (source, target) to rows of weights: the links of a target position have equal
    weights with sum 1.

    A position without links has a row of zeros: its alignment is unknown. The ends of sentence are
    linked to each other, except in a pair without any links, whose alignment is unknown.
    """
    weights = np.zeros(
        (len(links), int(target_lengths.max()), int(source_lengths.max())), dtype=np.float32
    )
    ends = zip(source_lengths.tolist(), target_lengths.tolist(), strict=True)
    for rows, pair, (source, target) in zip(weights, links, ends, strict=True):
        rows[pair[:, 1], pair[:, 0]] = 1.0
        if len(pair):
            rows[target - 1, source - 1] = 1.0
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1.0)
    return torch.from_numpy(weights)
