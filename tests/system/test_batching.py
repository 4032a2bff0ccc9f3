from __future__ import annotations

from collections.abc import Iterator

import pytest

from rnnsearch.errors import InputError
from rnnsearch.system.batching import batches, in_halves


def numbers(end: int, error: Exception | None = None) -> Iterator[int]:
    yield from range(end)
    if error is not None:
        raise error


@pytest.mark.parametrize(("end", "expected"), [(0, []), (3, [[0, 1, 2]]), (4, [[0, 1, 2], [3]]), (6, [[0, 1, 2], [3, 4, 5]])])
def test_lists_of_one_size(end: int, expected: list[list[int]]) -> None:
    assert list(batches(numbers(end), 3)) == expected
    found = batches(numbers(end, InputError("stop")), 3)
    assert [next(found) for _ in expected] == expected  # what came before a fault comes before it
    with pytest.raises(InputError, match="stop"):
        next(found)


def test_other_errors_are_raised_at_once() -> None:
    with pytest.raises(ZeroDivisionError):
        next(batches(numbers(2, ZeroDivisionError()), 3))


@pytest.mark.parametrize(("limit", "sizes"), [(10, [5]), (4, [2, 3]), (2, [2, 1, 2]), (0, [1] * 5)])
def test_halves_of_what_costs_too_much(limit: int, sizes: list[int]) -> None:
    seen = []

    def work(items: list[int]) -> list[int]:
        seen.append(len(items))
        return [item * 10 for item in items]

    assert in_halves(list(range(5)), len, limit, work) == [0, 10, 20, 30, 40]
    assert seen == sizes
