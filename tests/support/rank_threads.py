"""Ranks as threads of one process: they exchange through the same sockets as processes, and start in no time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from torch import distributed

from rnnsearch.training.ranks import Ranks


def together(world: int, work: Callable[[Ranks], Any], timeout: float = 15.0, share_memory: bool = False) -> list[Any]:
    """What work(ranks) returns in every rank, or the exception that it raises. share_memory: instead of messages."""
    store = distributed.HashStore()
    found: list[Any] = [None] * world

    def live(rank: int) -> None:
        ranks = None
        try:
            meeting = distributed.PrefixStore("gloo", store)
            limit = timedelta(seconds=timeout)
            group = partial(distributed.ProcessGroupGloo, meeting, rank, world, limit)
            ranks = Ranks(rank, world, store, group, timeout, share_memory=share_memory)
            found[rank] = work(ranks)
        except Exception as error:
            found[rank] = error
            if ranks is not None:
                ranks.fault(error)
        finally:
            if ranks is not None:
                ranks.close()

    threads = [threading.Thread(target=live, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found


def by_rank(monkeypatch: pytest.MonkeyPatch, where: object, name: str, values: list[str]) -> Callable[[int], None]:
    """Replaces a function without arguments by one that returns another value in each rank.

    Returns what each rank must call with its number first.
    """
    here = threading.local()
    monkeypatch.setattr(where, name, lambda: values[here.rank])
    return lambda rank: setattr(here, "rank", rank)
