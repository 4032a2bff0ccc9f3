"""A sign of life: each rank writes one, again and again, so that the others can tell a rank at work from one that has ended or hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from torch.distributed import Store

EVERY = 1.0
"""Seconds between two signs."""


class Heartbeat:
    """A thread of this process that counts in the store. A stopped process counts no more; one that computes for long does."""

    def __init__(self, store: Store, rank: int) -> None:
        self._store, self._own = store.clone(), store.clone()  # type: ignore[attr-defined]  # one connection for each thread
        self._rank = rank
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def silent(self, ranks: Sequence[int]) -> list[int]:
        """Those of these ranks that give no sign now; it takes two or three seconds to tell."""
        before = self._counts(ranks)
        time.sleep(2.5 * EVERY)
        after = self._counts(ranks)
        return [rank for rank in ranks if before[rank] == after[rank]]

    def count(self, rank: int) -> int:
        """The signs of this rank so far."""
        return int(self._own.add(_key(rank), 0))

    def close(self) -> None:
        self._ended.set()
        self._thread.join(5)

    def _counts(self, ranks: Sequence[int]) -> dict[int, int]:
        return {rank: self.count(rank) for rank in ranks}

    def _beat(self) -> None:
        while not self._ended.wait(EVERY):
            try:
                self._store.add(_key(self._rank), 1)
            except RuntimeError:  # the store has gone, and with it the training
                return


def _key(rank: int) -> str:
    return f"alive/{rank}"
