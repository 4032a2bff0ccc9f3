"""How many different words a text has after so many words, at points that stand at equal distances however long the text is."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from rnnsearch.text.store.blocks import SideBlock

POINTS = 60
"""At least half as many points, if the text has so many words, and at most so many and the last."""


class Growth:
    """Follows the blocks of a text. words: read so far. distinct: different ones among them."""

    def __init__(self) -> None:
        self.words = self.distinct = 0
        self._step = 1
        self._points: list[tuple[int, int]] = []

    def add(self, block: SideBlock, known: Container[str]) -> None:
        """The next block. known: the words of all blocks before it."""
        values = block.sentences.values
        first = np.full(len(block.words), len(values), dtype=np.int64)
        first[values[::-1]] = np.arange(len(values))[::-1]  # where each word of the block occurs first
        new = [place for place, word in enumerate(block.words) if word not in known]
        begins = np.sort(first[new])
        total = self.words + len(values)
        while total // self._step > POINTS:
            self._step *= 2
        self._points = [point for point in self._points if point[0] % self._step == 0]
        places = np.arange(self.words // self._step + 1, total // self._step + 1) * self._step
        found = self.distinct + np.searchsorted(begins, places - self.words)
        self._points += zip(places.tolist(), found.tolist(), strict=True)
        self.words, self.distinct = total, self.distinct + int((begins < len(values)).sum())

    def points(self) -> list[tuple[int, int]]:
        """(words read, different words among them), the end of the text included."""
        end = (self.words, self.distinct)
        return [*self._points, *([end] if self.words % self._step or not self._points else [])]
