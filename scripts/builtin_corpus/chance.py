"""Seeded choices that are the same in every version of Python: only `Random.random` promises that, so all
else is built on it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """One stream of choices."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def fraction(self) -> float:
        """Returns a number drawn uniformly from [0, 1)."""
        return self._random.random()

    def pick(self, options: Sequence[T]) -> T:
        """Returns one of the options, all equally likely."""
        return options[int(self._random.random() * len(options))]

    def between(self, low: int, high: int) -> int:
        """Returns an integer from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))
