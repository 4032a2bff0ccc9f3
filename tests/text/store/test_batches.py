"""Batches against the procedure written out: the order of pairs, partitions and their words, collating, and
any position to go on from."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.text.store.batches import collate, pad
from rnnsearch.text.store.corpus import Pairs, SentenceIds
from rnnsearch.text.store.order import BatchOrder, ChosenPairs, Position, batches_from


def lengths(pairs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lengths from 1 to 30, the end of sentence included."""
    random = np.random.default_rng(seed)
    return random.integers(1, 31, pairs), random.integers(1, 31, pairs)


def settings(**values: object) -> TrainingSettings:
    return TrainingSettings.model_validate({"max_length": 24, "batch_size": 4, "pool_batches": 3, **values})


def epoch(order: BatchOrder, number: int = 0) -> list[list[int]]:
    """All batches of an epoch."""
    batches = []
    for batch, position in order.batches(Position(number)):
        batches.append(batch.tolist())
        if position.epoch > number:
            return batches
    raise AssertionError("the order ended")


VARIANTS: list[dict[str, object]] = [
    {},
    {"reshuffle": True},
    {"batch_tokens": 60},
    {"batch_tokens": 60, "reshuffle": True},
    {"pool_batches": 1},
    {"batch_size": 1},
]
variants = pytest.mark.parametrize("variant", VARIANTS, ids=str)
some_variants = pytest.mark.parametrize("variant", VARIANTS[:-1], ids=str)


def test_the_papers_procedure() -> None:
    """B.2, written out: read, drop what is too long, sort every 3 × 4 pairs, cut."""
    source, target = lengths(100)
    read = [i for i in range(100) if source[i] - 1 <= 24 and target[i] - 1 <= 24]
    expected = []
    for start in range(0, len(read), 12):
        pool = sorted(read[start : start + 12], key=lambda i: max(source[i], target[i]))
        expected += [pool[i : i + 4] for i in range(0, len(pool), 4)]
    order = BatchOrder(source, target, settings())
    assert epoch(order) == epoch(order, 1) == expected
    positions = [position for _, position in islice(order.batches(), len(order) + 1)]
    assert positions == [*(Position(0, done) for done in range(1, len(expected))), (1, 0), (1, 1)]


@variants
@pytest.mark.parametrize("pairs", [1, 4, 11, 12, 13, 100])
def test_an_epoch_holds_every_short_pair_once(variant: dict[str, object], pairs: int) -> None:
    source, target = lengths(pairs, seed=5)
    source[0] = target[0] = 25  # exactly the limit, with the end of sentence
    order = BatchOrder(source, target, settings(**variant))
    kept = [i for i in range(pairs) if max(source[i], target[i]) <= 25]
    assert order.kept.tolist() == kept
    for number in (0, 1, 7):
        assert sorted(i for batch in epoch(order, number) for i in batch) == kept
    assert len(order) == len(epoch(order))


@variants
def test_it_resumes_at_every_position(variant: dict[str, object]) -> None:
    order = BatchOrder(*lengths(50), settings(**variant))
    whole = [(batch.tolist(), position) for batch, position in islice(order.batches(), 2 * len(order) + 5)]
    for done, (_, position) in enumerate(whole[:-1], 1):
        resumed = BatchOrder(*lengths(50), settings(**variant)).batches(Position(*position))
        assert [(batch.tolist(), after) for batch, after in islice(resumed, len(whole) - done)] == whole[
            done:
        ]


@variants
def test_a_position_beyond_its_epoch_is_refused(variant: dict[str, object]) -> None:
    order = BatchOrder(*lengths(50), settings(**variant))
    with pytest.raises(InputError, match="epoch 0 has fewer than 1001 batches"):
        next(order.batches(Position(0, 1000)))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=60), st.integers(9, 40))
def test_batches_by_tokens_are_as_full_as_they_may_be(pairs: list[tuple[int, int]], tokens: int) -> None:
    source, target = np.array(pairs).T
    order = BatchOrder(source, target, settings(batch_tokens=tokens, batch_size=30, pool_batches=1))
    batches = epoch(order)
    for number, batch in enumerate(batches):
        assert len(batch) * source[batch].max() <= tokens
        assert len(batch) * target[batch].max() <= tokens
        if number + 1 < len(batches) and len(pairs) <= 30:  # one pool: the next pair would have been too much
            more = [*batch, batches[number + 1][0]]
            assert len(more) * max(source[more].max(), target[more].max()) > tokens


def test_reshuffling_changes_every_epoch_and_the_order_within_pools() -> None:
    source, target = lengths(600)
    order = BatchOrder(source, target, settings(reshuffle=True, batch_size=5, pool_batches=20))
    assert epoch(order, 0) != epoch(order, 1)
    other = BatchOrder(source, target, settings(reshuffle=True, batch_size=5, pool_batches=20, seed=2))
    assert epoch(order) != epoch(other)
    longest = [max(source[batch].max(), target[batch].max()) for batch in epoch(order)[:20]]
    assert longest != sorted(longest)
    for batch in epoch(order)[:20]:  # pools are still sorted before they are cut
        assert np.ptp(np.maximum(source[batch], target[batch])) <= 6


def test_rounded_lengths_count_as_padding() -> None:
    """In the budget of a batch and in the share of padding, which sorting makes smaller."""
    source, target = lengths(200, seed=3)
    order = BatchOrder(source, target, settings(batch_tokens=64, length_multiple=8))
    shapes = [
        (len(batch), *(-(-int(side[batch].max()) // 8) * 8 for side in (source, target)))
        for batch in epoch(order)
    ]
    assert all(pairs * max(positions) <= 64 for pairs, *positions in shapes)
    assert max(pairs * max(positions) for pairs, *positions in shapes) == 64
    padded = sum(pairs * sum(positions) for pairs, *positions in shapes)
    assert order.padding_share() == pytest.approx(
        1 - (source[order.kept].sum() + target[order.kept].sum()) / padded
    )
    assert order.padding_share() < BatchOrder(source, target, settings(pool_batches=1)).padding_share()


@pytest.mark.parametrize(
    ("source", "values", "message"),
    [
        ([26, 3], {}, r"none of the 2 pairs .* training.max_length = 24 \(raise training.max_length"),
        ([], {}, "none of the 0 pairs"),
        ([3, 12, 30], {"batch_tokens": 10}, "= 10 cannot hold a pair of 12 positions"),
        ([3, 12], {"batch_tokens": 13, "length_multiple": 8}, "= 13 cannot hold a pair of 16 positions"),
    ],
)
def test_lengths_that_make_no_batch_are_refused(
    source: list[int], values: dict[str, object], message: str
) -> None:
    sides = np.array(source, dtype=int), np.array(source[::-1], dtype=int)
    with pytest.raises(InputError, match=message):
        BatchOrder(*sides, settings(**values))


def together(
    start: Position, steps: int, world: int, **values: object
) -> tuple[list[list[int]], list[Position]]:
    """The batches that processes read in turn, and the position after each step, the same for all."""
    order = BatchOrder(*lengths(90), settings(**values))
    ranks = [order.batches(start, rank=rank, world=world) for rank in range(world)]
    read = [[next(rank) for rank in ranks] for _ in range(steps)]
    assert all(len({position for _, position in step}) == 1 for step in read)
    return [batch.tolist() for step in read for batch, _ in step], [step[0][1] for step in read]


@variants
@pytest.mark.parametrize("world", [2, 3, 7])
def test_the_ranks_together_read_what_one_process_reads(variant: dict[str, object], world: int) -> None:
    batches, positions = together(Position(), 10, world, **variant)
    alone, after = together(Position(), 10 * world, 1, **variant)
    assert (batches, positions) == (alone, after[world - 1 :: world])


@variants
def test_any_number_of_processes_may_go_on_from_a_step(variant: dict[str, object]) -> None:
    _, positions = together(Position(), 5, 3, **variant)
    expected = together(Position(), 15 + 8, 1, **variant)[0][15:]
    for world in (1, 2, 4):
        assert together(positions[-1], 8 // world, world, **variant)[0] == expected


def test_a_rank_that_is_none_is_refused() -> None:
    for rank, world in ((2, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match=f"rank {rank} of {world}"):
            next(BatchOrder(*lengths(9), settings()).batches(rank=rank, world=world))


def test_collating_pads_on_the_right_and_keeps_the_order() -> None:
    pairs = Pairs(SentenceIds.of([[5, 0], [6, 7, 0], [0]]), SentenceIds.of([[8, 9, 2, 0], [3, 0], [4, 0]]))
    batch = collate(pairs, np.array([2, 1]))
    assert pad([[5, 0], np.array([0], dtype=np.uint16)])[0].tolist() == [[5, 0], [0, 0]]
    assert batch.source.tolist() == [[0, 0, 0], [6, 7, 0]]
    assert batch.source_lengths.tolist() == [1, 3]
    assert batch.target.tolist() == [[4, 0], [3, 0]]
    assert batch.target_lengths.tolist() == [2, 2]
    assert batch.source.dtype == batch.target_lengths.dtype == torch.int64
    assert batch.to("cpu").target.tolist() == batch.target.tolist()


def test_links_become_rows_that_share_1() -> None:
    source, target = (
        SentenceIds.of([[5, 6, 7, 0], [5, 0], [6, 7, 0]]),
        SentenceIds.of([[8, 9, 3, 4, 0], [4, 0], [3, 0]]),
    )
    links = SentenceIds.of([[0, 0, 0, 2, 1, 2, 2, 3], [], [1, 0]])  # source and target by turns
    batch = collate(Pairs(source, target, links), np.array([2, 0, 1]), linked=True)
    assert batch.known_alignment is not None
    assert batch.known_alignment.tolist() == [
        [
            [0, 1, 0, 0],
            [0, 0, 1, 0],
            [0] * 4,
            [0] * 4,
            [0] * 4,
        ],  # its end is linked to the source's; then padding
        [[1, 0, 0, 0], [0] * 4, [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        [[0] * 4] * 5,  # a pair without links: nothing is known, not even of its end
    ]
    assert batch.known_alignment.dtype == torch.float32
    assert batch.to("cpu").known_alignment is not None
    assert collate(Pairs(source, target, links), [0]).known_alignment is None
    with pytest.raises(InputError, match="no word links"):
        collate(Pairs(source, target), [0], linked=True)


WORDS, PAIRS, SIZE = 200, 90, 60


def pairs_and_order(**values: object) -> tuple[Pairs, BatchOrder]:
    """Few frequent words, and many rare ones."""
    random = np.random.default_rng(3)
    sides = [
        [
            [*(2 + random.geometric(0.03, length) % (WORDS - 2)).tolist(), 0]
            for length in random.integers(1, 30, PAIRS)
        ]
        for _ in range(2)
    ]
    pairs = Pairs(*(SentenceIds.of(side) for side in sides), words=(WORDS, WORDS))
    return pairs, BatchOrder(pairs.source_lengths, pairs.target_lengths, settings(**values))


def known(chosen: ChosenPairs) -> list[int]:
    assert chosen.words is not None
    words: list[int] = chosen.words.tolist()
    return words


def words_of(pairs: Pairs, batch: np.ndarray) -> set[int]:
    return {int(word) for i in batch for word in pairs.target(int(i))}


def read(
    start: Position, count: int, size: int = SIZE, **variant: object
) -> list[tuple[ChosenPairs, Position]]:
    pairs, order = pairs_and_order(**variant)
    return list(islice(batches_from(order, start, pairs, size), count))


@some_variants
def test_partitions_hold_the_batches_of_every_epoch_in_their_order(variant: dict[str, object]) -> None:
    pairs, order = pairs_and_order(**variant)
    expected = [(batch.tolist(), position) for batch, position in islice(order.batches(), 70)]
    assert expected[-1][1].epoch >= 2
    found = list(islice(batches_from(order, Position(), pairs, SIZE), 70))
    assert [(chosen.indices.tolist(), after) for chosen, after in found] == expected


@some_variants
def test_words_of_a_partition(variant: dict[str, object]) -> None:
    """As many batches as have at most SIZE words, the words of their targets, and others up to SIZE; a new
    partition in every epoch."""
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
    for batches in expected[:-1]:  # the last one goes on after what was read
        inside = [known(next(stream)[0]) for _ in batches]
        words = inside[0]
        assert all(one == words for one in inside)
        assert words == sorted(set(words))
        assert (len(words), words[-1] < WORDS) == (SIZE, True)
        assert all(words_of(pairs, indices) <= set(words) for indices in batches)
    assert len(expected) > 6
    assert max(map(len, expected)) > 1


@some_variants
def test_from_any_position_as_without_a_stop(variant: dict[str, object]) -> None:
    def plain(some: list[tuple[ChosenPairs, Position]]) -> list[tuple[list[int], list[int], Position]]:
        return [(chosen.indices.tolist(), known(chosen), after) for chosen, after in some]

    whole = read(Position(), 60, **variant)
    for number in range(1, 50):
        assert plain(read(whole[number - 1][1], 8, **variant)) == plain(whole[number : number + 8])


def test_other_words_are_drawn_anew_for_every_partition_and_epoch() -> None:
    """All of the vocabulary comes in, also words that no target has."""
    found = read(Position(), 3 * 22)
    drawn = {frozenset(known(chosen)) for chosen, _ in found}
    assert len(drawn) > 12
    pairs, _ = pairs_and_order()
    unused = set(range(WORDS)) - words_of(pairs, np.arange(PAIRS))
    assert unused & set().union(*drawn)


def test_a_batch_of_more_words_than_asked_for() -> None:
    pairs, _ = pairs_and_order()
    for chosen, _ in read(Position(), 30, size=2):
        assert known(chosen) == sorted(words_of(pairs, chosen.indices))


@pytest.mark.parametrize("size", [WORDS, WORDS + 1])
def test_a_vocabulary_that_is_not_larger_is_taken_whole(size: int) -> None:
    assert all(known(chosen) == list(range(WORDS)) for chosen, _ in read(Position(0, 3), 40, size=size))


def test_off_nothing_is_read() -> None:
    pairs, order = pairs_and_order()
    pairs.target = None  # type: ignore[assignment,method-assign]
    start = Position(0, 2)
    found = islice(batches_from(order, start, pairs, 0), 30)
    expected = [(batch.tolist(), None, after) for batch, after in islice(order.batches(start), 30)]
    assert [(one.indices.tolist(), one.words, after) for one, after in found] == expected


def test_a_target_outside_the_words_is_refused() -> None:
    pairs, _ = pairs_and_order()
    batch = collate(pairs, [0, 1], words=np.array(sorted(words_of(pairs, np.array([0, 1])))))
    assert batch.words is not None
    with pytest.raises(ValueError, match="outside the words of its partition"):
        collate(pairs, [0, 1], words=batch.words.numpy()[:-1])


def test_a_damaged_store_is_one_clear_line() -> None:
    pairs, order = pairs_and_order()
    pairs.words = (WORDS, 50)
    with pytest.raises(
        InputError, match=r"the dataset is damaged: a target sentence has id \d+, and there are 50 words"
    ):
        list(islice(batches_from(order, Position(), pairs, 20), 30))
