"""Which number has a key: a hash table in arrays, that is asked many keys at once and can be mapped into memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int32, Int64
from numpy.typing import NDArray

Ids = Int64[NDArray[np.int64], " _"]

ABSENT = -1

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio (Knuth): the upper bits of a product with it are well mixed


class Keys:
    """Different keys, each of which has its place among them as its number.

    keys: number. slots: numbers, or ABSENT where a slot is empty; a power of two of them, at most half of them taken. A key stands in the
    first slot that was free from its own on.
    """

    def __init__(self, keys: Ids, slots: Int32[NDArray[np.int32], " slots"]) -> None:
        self.keys, self.slots = keys, slots

    @classmethod
    def of(cls, keys: Ids) -> Keys:
        bits = max(2 * len(keys), 2).bit_length()
        slots = np.full(1 << bits, ABSENT, np.int32)
        numbers = np.arange(len(keys))
        wished = _own_slots(keys, bits)
        while len(numbers):
            free = slots[wished] == ABSENT
            slots[wished[free]] = numbers[free]  # of several that wish for one slot, the last has it
            refused = slots[wished] != numbers
            numbers, wished = numbers[refused], _next(wished[refused], slots)
        return cls(keys, slots)

    def __len__(self) -> int:
        return len(self.keys)

    def numbers(self, wanted: Int64[NDArray[np.int64], " wanted"]) -> Int64[NDArray[np.int64], " wanted"]:
        """The number of each wanted key, or ABSENT."""
        if not len(self):
            return np.full(len(wanted), ABSENT)
        at = _own_slots(wanted, len(self.slots).bit_length() - 1)
        numbers = self.slots[at].astype(np.int64)
        others = np.flatnonzero((numbers != ABSENT) & (self.keys[numbers] != wanted))  # a taken slot, but by another key
        at = at[others]
        while len(others):
            at = _next(at, self.slots)
            numbers[others] = found = self.slots[at]
            again = (found != ABSENT) & (self.keys[found] != wanted[others])
            others, at = others[again], at[again]
        return numbers


def _own_slots(keys: Ids, bits: int) -> Ids:
    return ((keys.view(np.uint64) * _MULTIPLIER) >> np.uint64(64 - bits)).view(np.int64)


def _next(at: Ids, slots: NDArray[Any]) -> Ids:
    return (at + 1) & (len(slots) - 1)
