"""Seeded choices that are the same in every version of Python: only `Random.random` promises that, so all else is built on it."""

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
        """Evenly drawn from 0 to 1, without 1."""
        return self._random.random()

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely as the others."""
        return options[int(self._random.random() * len(options))]

    def between(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return low + int(self._random.random() * (high - low + 1))
