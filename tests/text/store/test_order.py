"""What several processes that train together read; the order itself is tested in test_batches.py."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from rnnsearch.config import TrainingSettings
from rnnsearch.text.store import order as ordering
from rnnsearch.text.store.order import BatchOrder, Position

VARIANTS = [{}, {"reshuffle": True}, {"batch_tokens": 60}, {"batch_tokens": 60, "reshuffle": True}]


def order(pairs: int = 90, **values: object) -> BatchOrder:
    random = np.random.default_rng(0)
    settings = TrainingSettings.model_validate({"max_length": 24, "batch_size": 4, "pool_batches": 3, **values})
    return BatchOrder(random.integers(1, 31, pairs), random.integers(1, 31, pairs), settings)


def read(start: Position, count: int, rank: int, world: int, **values: object) -> list[tuple[list[int], Position]]:
    stream = order(**values).batches(start, rank=rank, world=world)
    return [(batch.tolist(), position) for batch, position in islice(stream, count)]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("world", [1, 2, 3, 7])
def test_the_ranks_together_read_what_one_process_reads(variant: dict[str, object], world: int) -> None:
    alone = read(Position(), 10 * world, 0, 1, **variant)
    ranks = [read(Position(), 10, rank, world, **variant) for rank in range(world)]
    together = [ranks[rank][step][0] for step in range(10) for rank in range(world)]
    assert together == [batch for batch, _ in alone]
    for step in range(10):
        assert {ranks[rank][step][1] for rank in range(world)} == {alone[(step + 1) * world - 1][1]}


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_any_number_of_processes_may_go_on_from_a_step(variant: dict[str, object]) -> None:
    _, position = read(Position(), 5, 1, 3, **variant)[-1]
    expected = [batch for batch, _ in read(Position(), 15 + 8, 0, 1, **variant)[15:]]
    for world in (1, 2, 4):
        ranks = [read(position, 8 // world, rank, world, **variant) for rank in range(world)]
        assert [ranks[rank][step][0] for step in range(8 // world) for rank in range(world)] == expected


@pytest.mark.parametrize(("rank", "world"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_that_is_none_is_refused(rank: int, world: int) -> None:
    with pytest.raises(ValueError, match=f"rank {rank} of {world}"):
        next(order().batches(rank=rank, world=world))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("scanned", [1, 2, 7, 89])
def test_lengths_are_read_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch, variant: dict[str, object], scanned: int) -> None:
    whole = read(Position(), 60, 0, 1, **variant)
    kept, size = order(**variant).kept.tolist(), len(order(**variant))
    monkeypatch.setattr(ordering, "_SCANNED", scanned)
    assert read(Position(), 60, 0, 1, **variant) == whole
    assert (order(**variant).kept.tolist(), len(order(**variant))) == (kept, size)
    assert read(Position(0, 5), 10, 0, 1, **variant) == whole[5:15]
