"""Bands of sentence lengths, for scores by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LENGTH_BOUNDS = (0, 10, 20, 30, 40, 50, 60)
"""Bounds of the bands: 1–10, 11–20, …, 51–60, and longer."""


@dataclass(frozen=True, slots=True)
class LengthBand:
    """The sentences in a range of lengths. shortest, longest: in words, both included; None for no
    limit.
    chosen: one boolean per sentence."""

    shortest: int
    longest: int | None
    chosen: NDArray[np.bool_] = field(compare=False)

    @property
    def sentences(self) -> int:
        return int(self.chosen.sum())

    def __str__(self) -> str:
        return f"{self.shortest}+" if self.longest is None else f"{self.shortest}–{self.longest}"


def buckets(lengths: Sequence[int], bounds: Sequence[int] = LENGTH_BOUNDS) -> list[LengthBand]:
    """Returns adjacent bands: from above one bound to the next one, and above the last. A length of
    0 counts as 1.

    lengths: of every source sentence, in words.
    """
    words = np.maximum(np.asarray(lengths, np.int64), 1)
    bands = []
    for low, high in pairwise([*bounds, None]):
        assert low is not None
        chosen = words > low if high is None else (words > low) & (words <= high)
        bands.append(LengthBand(low + 1, high, chosen))
    return bands
