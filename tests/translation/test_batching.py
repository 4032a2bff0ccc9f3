"""Batches of items: of one size, or as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest
from refusals import refusal

from rnnsearch.errors import InputError
from rnnsearch.translation.batching import batches, in_halves, stream_batches


def numbers(end: int, error: Exception | None = None) -> Iterator[int]:
    yield from range(end)
    if error is not None:
        raise error


@pytest.mark.parametrize(
    ("end", "expected"),
    [(0, []), (3, [[0, 1, 2]]), (4, [[0, 1, 2], [3]]), (6, [[0, 1, 2], [3, 4, 5]])],
)
def test_lists_of_one_size(end: int, expected: list[list[int]]) -> None:
    assert list(batches(numbers(end), 3)) == expected
    found = batches(numbers(end, InputError("stop")), 3)
    assert [next(found) for _ in expected] == expected  # what came before a fault comes before it
    with refusal("stop"):
        next(found)


def test_a_batch_is_halved_until_its_padded_size_is_allowed() -> None:
    worked: list[list[int]] = []

    def work(some: list[int]) -> list[int]:
        worked.append(some)
        return [-item for item in some]

    lengths = [90, 9, 8, 7, 6]
    found = in_halves(lengths, lambda some: len(some) * max(some), 30, work)
    assert (found, worked) == ([-length for length in lengths], [[90], [9], [8, 7, 6]])


def test_all_items_arrive_in_their_order_in_groups_that_are_not_too_large() -> None:
    groups = list(stream_batches(range(100), 7))
    assert [item for group in groups for item in group] == list(range(100))
    assert all(1 <= len(group) <= 7 for group in groups)
    assert list(stream_batches([], 7)) == []


def test_an_item_that_comes_alone_waits_for_no_other() -> None:
    """Each item is sent only after the answer to the one before: a reader that waited for two would wait for
    ever."""
    sent: queue.Queue[int | None] = queue.Queue()
    groups = stream_batches(iter(sent.get, None), 10)
    for number in range(5):
        sent.put(number)
        assert next(groups) == [number]
    sent.put(None)
    assert list(groups) == []


def test_what_the_items_raise_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2, 3)
        raise InputError("the fourth is bad")

    groups = stream_batches(items(), 2)
    assert [item for _ in range(2) for item in next(groups)] == [1, 2, 3]
    with refusal("the fourth is bad"):
        next(groups)


def test_nothing_is_read_far_ahead_and_nobody_reads_after_the_end() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    before = set(threading.enumerate())
    groups = stream_batches(items(), 5)
    next(groups)
    [thread] = set(threading.enumerate()) - before
    groups.close()  # type: ignore[attr-defined]
    thread.join(10)
    assert not thread.is_alive()
    assert len(read) < 20
