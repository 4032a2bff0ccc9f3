from __future__ import annotations

import math
import os
from collections.abc import Iterator

import pytest
from refusals import refusal

from rnnsearch.system.workers import ordered_map


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order_and_few_items_are_read_ahead(workers: int) -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(30):
            taken.append(item)
            yield item

    for number, (item, result) in enumerate(ordered_map(math.factorial, items(), workers)):
        assert (item, result) == (number, math.factorial(number))
        assert len(taken) <= number + 2 * workers + 1
    assert len(taken) == 30


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_function_is_raised(workers: int) -> None:
    with pytest.raises(ValueError, match="factorial"):
        list(ordered_map(math.factorial, [1, -1, 2], workers))


@pytest.mark.processes
def test_a_worker_that_dies_is_one_clear_line() -> None:
    with refusal("a worker process ended before its work was done"):
        list(ordered_map(os._exit, [1], 2))
