"""Batches against the procedure written out: the order of pairs, collating, and any position to go on
from."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.batch import pad
from rnnsearch.settings import TrainingSettings
from rnnsearch.text.batches import BatchOrder, Position, collate
from rnnsearch.text.dataset import Pairs, SentenceIds, offsets_of


def lengths(pairs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lengths from 1 to 30, the end of sentence included."""
    random = np.random.default_rng(seed)
    return random.integers(1, 31, pairs), random.integers(1, 31, pairs)


def settings(**values: object) -> TrainingSettings:
    return TrainingSettings.model_validate(
        {"max_length": 24, "batch_size": 4, "pool_batches": 3, **values}
    )


def sentences(rows: list[list[int]]) -> SentenceIds:
    return SentenceIds(
        (np.concatenate(rows).astype(np.uint16), offsets_of(np.array(list(map(len, rows)))))
    )


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
    whole = [
        (batch.tolist(), position)
        for batch, position in islice(order.batches(), 2 * len(order) + 5)
    ]
    for done, (_, position) in enumerate(whole[:-1], 1):
        resumed = BatchOrder(*lengths(50), settings(**variant)).batches(Position(*position))
        assert [
            (batch.tolist(), after) for batch, after in islice(resumed, len(whole) - done)
        ] == whole[done:]


def test_a_position_beyond_the_end_of_its_epoch_is_refused() -> None:
    with refusal(r"settings have changed: epoch 3 has no batch 9 .*resume"):
        next(BatchOrder(*lengths(20), settings()).batches(Position(3, 8)))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=60),
    st.integers(9, 40),
)
def test_batches_by_tokens_are_as_full_as_they_may_be(
    pairs: list[tuple[int, int]], tokens: int
) -> None:
    source, target = np.array(pairs).T
    order = BatchOrder(source, target, settings(batch_tokens=tokens, batch_size=30, pool_batches=1))
    batches = epoch(order)
    for number, batch in enumerate(batches):
        assert len(batch) * source[batch].max() <= tokens
        assert len(batch) * target[batch].max() <= tokens
        # one pool: the next pair would have been too much
        if number + 1 < len(batches) and len(pairs) <= 30:
            more = [*batch, batches[number + 1][0]]
            assert len(more) * max(source[more].max(), target[more].max()) > tokens


def test_reshuffling_changes_every_epoch_and_the_order_within_pools() -> None:
    source, target = lengths(600)
    order = BatchOrder(source, target, settings(reshuffle=True, batch_size=5, pool_batches=20))
    assert epoch(order, 0) != epoch(order, 1)
    other = BatchOrder(
        source, target, settings(reshuffle=True, batch_size=5, pool_batches=20, seed=2)
    )
    assert epoch(order) != epoch(other)
    longest = [max(source[batch].max(), target[batch].max()) for batch in epoch(order)[:20]]
    assert longest != sorted(longest)
    for batch in epoch(order)[:20]:  # pools are still sorted before they are cut
        assert np.ptp(np.maximum(source[batch], target[batch])) <= 6


@pytest.mark.parametrize(
    ("source", "values", "message"),
    [
        (
            [26, 3],
            {},
            r"none of the 2 pairs .* training.max_length = 24 \(raise training.max_length",
        ),
        ([], {}, "none of the 0 pairs"),
        ([3, 12, 30], {"batch_tokens": 10}, "= 10 cannot hold a pair of 12 positions"),
    ],
)
def test_lengths_that_make_no_batch_are_refused(
    source: list[int], values: dict[str, object], message: str
) -> None:
    sides = np.array(source, dtype=int), np.array(source[::-1], dtype=int)
    with refusal(message):
        BatchOrder(*sides, settings(**values))


def test_collating_pads_on_the_right_and_keeps_the_order() -> None:
    pairs = Pairs(sentences([[5, 0], [6, 7, 0], [0]]), sentences([[8, 9, 2, 0], [3, 0], [4, 0]]))
    batch = collate(pairs, np.array([2, 1]))
    assert pad([[5, 0], np.array([0], dtype=np.uint16)])[0].tolist() == [[5, 0], [0, 0]]
    assert batch.source.tolist() == [[0, 0, 0], [6, 7, 0]]
    assert batch.source_lengths.tolist() == [1, 3]
    assert batch.target.tolist() == [[4, 0], [3, 0]]
    assert batch.target_lengths.tolist() == [2, 2]
    assert batch.source.dtype == batch.target_lengths.dtype == torch.int64
    assert batch.to("cpu").target.tolist() == batch.target.tolist()


def test_links_become_rows_that_share_1() -> None:
    source = sentences([[5, 6, 7, 0], [5, 0], [6, 7, 0]])
    target = sentences([[8, 9, 3, 4, 0], [4, 0], [3, 0]])
    links = sentences([[0, 0, 0, 2, 1, 2, 2, 3], [], [1, 0]])  # source and target alternating
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
