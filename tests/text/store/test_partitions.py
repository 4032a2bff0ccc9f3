"""Partitions of an epoch, against the procedure written out: what they hold, their words, and any position to go on from."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.text.store.batches import collate
from rnnsearch.text.store.corpus import Pairs, SentenceIds
from rnnsearch.text.store.order import BatchOrder, Position
from rnnsearch.text.store.partitions import ChosenPairs, batches_from

WORDS, PAIRS, SIZE = 200, 90, 60
VARIANTS = [{}, {"reshuffle": True}, {"batch_tokens": 60}, {"batch_tokens": 60, "reshuffle": True}, {"pool_batches": 1}]
variants = pytest.mark.parametrize("variant", VARIANTS, ids=str)


def pairs_and_order(**values: object) -> tuple[Pairs, BatchOrder]:
    """Few frequent words, and many rare ones."""
    random = np.random.default_rng(3)
    sides = [
        [[*(2 + random.geometric(0.03, length) % (WORDS - 2)).tolist(), 0] for length in random.integers(1, 30, PAIRS)] for _ in range(2)
    ]
    pairs = Pairs(*(SentenceIds.of(side) for side in sides), words=(WORDS, WORDS))
    settings = TrainingSettings.model_validate({"max_length": 24, "batch_size": 4, "pool_batches": 3, **values})
    return pairs, BatchOrder(pairs.source_lengths, pairs.target_lengths, settings)


def words_of(pairs: Pairs, batch: np.ndarray) -> set[int]:
    return {int(word) for i in batch for word in pairs.target(int(i))}


def read(start: Position, count: int, size: int = SIZE, **variant: object) -> list[tuple[ChosenPairs, Position]]:
    pairs, order = pairs_and_order(**variant)
    return list(islice(batches_from(order, start, pairs, size), count))


@variants
def test_partitions_hold_the_batches_of_every_epoch_in_their_order(variant: dict[str, object]) -> None:
    _, order = pairs_and_order(**variant)
    expected = list(islice(order.batches(), 70))  # three epochs or more
    assert expected[-1][1].epoch >= 2
    for (chosen, after), (indices, position) in zip(read(Position(), 70, **variant), expected, strict=True):
        assert chosen.indices.tolist() == indices.tolist()
        assert after == position


@variants
def test_words_of_a_partition(variant: dict[str, object]) -> None:
    """As many batches as have at most SIZE words, the words of their targets, and others up to SIZE; a new partition in every epoch."""
    pairs, order = pairs_and_order(**variant)
    found = read(Position(), 70, **variant)
    expected: list[list[np.ndarray]] = [[]]
    epoch, used = 0, set[int]()
    for indices, after in islice(order.batches(), 70):
        mine = words_of(pairs, indices)
        if expected[-1] and (epoch is None or len(used | mine) > SIZE):
            expected.append([])
            used = set()
        used |= mine
        expected[-1].append(indices)
        epoch = None if after.batch == 0 else after.epoch
    stream = iter(found)
    for number, batches in enumerate(expected[:-1]):  # the last one goes on after what was read
        inside = [next(stream)[0] for _ in batches]
        assert len({one.words.tobytes() for one in inside if one.words is not None}) == 1, number
        words = inside[0].words
        assert words is not None
        assert len(words) == SIZE
        assert words.tolist() == sorted(set(words.tolist()))
        assert words[-1] < WORDS
        for indices in batches:
            assert words_of(pairs, indices) <= set(words.tolist())
    assert len(expected) > 6
    assert max(map(len, expected)) > 1


@variants
def test_from_any_position_as_without_a_stop(variant: dict[str, object]) -> None:
    whole = read(Position(), 60, **variant)
    for number in range(1, 50):
        for (chosen, after), (other, position) in zip(read(whole[number - 1][1], 8, **variant), whole[number:], strict=False):
            assert after == position
            np.testing.assert_array_equal(chosen.indices, other.indices)
            np.testing.assert_array_equal(chosen.words, other.words)


def test_other_words_are_drawn_anew_for_every_partition_and_epoch() -> None:
    """All of the vocabulary comes in, also words that no target has."""
    found = read(Position(), 3 * 22)
    drawn = [frozenset(one.words.tolist()) for one, _ in found if one.words is not None]
    assert len(set(drawn)) > 12
    pairs, _ = pairs_and_order()
    unused = set(range(WORDS)) - words_of(pairs, np.arange(PAIRS))
    assert unused & set().union(*drawn)


def test_a_batch_of_more_words_than_asked_for() -> None:
    pairs, _ = pairs_and_order()
    for chosen, _ in read(Position(), 30, size=2):
        assert chosen.words is not None
        assert chosen.words.tolist() == sorted(words_of(pairs, chosen.indices))


@pytest.mark.parametrize("size", [WORDS, WORDS + 1])
def test_a_vocabulary_that_is_not_larger_is_taken_whole(size: int) -> None:
    for chosen, _ in read(Position(0, 3), 40, size=size):
        np.testing.assert_array_equal(chosen.words, np.arange(WORDS))


def test_off_nothing_is_read() -> None:
    _, order = pairs_and_order()
    found = list(islice(batches_from(order, Position(0, 2), None, 0), 30))  # type: ignore[arg-type]
    assert [one.indices.tolist() for one, _ in found] == [batch.tolist() for batch, _ in islice(order.batches(Position(0, 2)), 30)]
    assert all(one.words is None for one, _ in found)


def test_a_target_outside_the_words_is_refused() -> None:
    pairs, _ = pairs_and_order()
    batch = collate(pairs, [0, 1], words=np.array(sorted(words_of(pairs, np.array([0, 1])))))
    assert batch.words is not None
    with pytest.raises(ValueError, match="outside the words of its partition"):
        collate(pairs, [0, 1], words=batch.words.numpy()[:-1])


def test_a_damaged_store_is_one_clear_line() -> None:
    pairs, order = pairs_and_order()
    pairs.words = (WORDS, 50)
    with pytest.raises(InputError, match=r"the store is damaged: a target sentence has id \d+, and there are 50 words"):
        list(islice(batches_from(order, Position(), pairs, 20), 30))
