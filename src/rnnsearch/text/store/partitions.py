"""Partitions of an epoch, each with its subset V' of the target vocabulary (Jean et al. 2015, Sec. 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.text.codec import Side
from rnnsearch.text.store.corpus import Pairs
from rnnsearch.text.store.order import BatchOrder, Indices, Position
from rnnsearch.text.store.store import AGAIN

Words = Int64[NDArray[np.int64], " words"]


class ChosenPairs(NamedTuple):
    """The pairs of a batch. words: V' of its partition, ascending; None for the whole vocabulary."""

    indices: Indices
    words: Words | None = None


def batches_from(order: BatchOrder, position: Position, pairs: Pairs, size: int) -> Iterator[tuple[ChosenPairs, Position]]:
    """The batches of `order.batches`, the same in the same order. size: of V'; 0 for no partitions, when the pairs are not read.

    A partition is as many successive batches of an epoch as have at most `size` different target words together. V' is these words, and
    words drawn from all others until there are `size`: the last batches of an epoch meet as many words as any other. A batch with more
    words than that is a partition of its own, and V' its words. A vocabulary of at most `size` words is V' itself.
    All follows from the pairs, the order and the epoch: from a position in the middle of an epoch, the target is read again up to there.
    """
    if not size:
        yield from ((ChosenPairs(indices), after) for indices, after in order.batches(position))
        return
    if pairs.words is None:
        raise ValueError("partitions of pairs whose vocabulary is not known")
    total = pairs.words[1]
    if total <= size:
        every = np.arange(total)
        yield from ((ChosenPairs(indices, every), after) for indices, after in order.batches(position))
        return
    epoch, done = position
    while True:
        number = 0
        for batches, words in _partitions(order, epoch, pairs, size, total):
            for indices, after in batches:
                number += 1
                if number > done:
                    yield ChosenPairs(indices, words), after
        epoch, done = epoch + 1, 0


Batches = list[tuple[Indices, Position]]


def _partitions(order: BatchOrder, epoch: int, pairs: Pairs, size: int, total: int) -> Iterator[tuple[Batches, Words]]:
    """The partitions of an epoch: its batches, and V'."""
    number = 0
    batches: Batches = []
    used = np.zeros(total, dtype=np.bool_)
    count = 0
    for indices, after in order.batches(Position(epoch)):
        words = _words_of(pairs, indices)
        check_ids("target", int(words[-1]), total)
        new = words[~used[words]]
        if batches and count + len(new) > size:
            yield batches, _filled(used, count, size, order.random_words(epoch, number))
            number, batches, count, new = number + 1, [], 0, words
            used[:] = False
        used[new] = True
        count += len(new)
        batches.append((indices, after))
        if after.epoch > epoch:
            break
    yield batches, _filled(used, count, size, order.random_words(epoch, number))


def check_ids(side: Side, largest: int, total: int) -> None:
    """Raises InputError if a store holds an id that its vocabulary of `total` words has not."""
    if largest >= total:
        what = f"the store is damaged: a {side} sentence has id {largest}, and there are {total:,} words"
        raise InputError(what, remedy=AGAIN)


def _words_of(pairs: Pairs, indices: Indices) -> Words:
    """The different target words of these pairs."""
    return np.unique(np.concatenate([pairs.target(int(i)) for i in indices])).astype(np.int64)


def _filled(used: NDArray[np.bool_], count: int, size: int, random: np.random.Generator) -> Words:
    """The used words, and so many others drawn that there are `size`, if there are not as many already."""
    words: NDArray[Any] = np.flatnonzero(used)
    if count >= size:
        return words
    others = random.choice(np.flatnonzero(~used), size - count, replace=False, shuffle=False)
    return np.sort(np.concatenate([words, others]))
