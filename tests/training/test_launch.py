"""How long a rank waits for the point where all ranks meet."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from torch import distributed

from rnnsearch.errors import InputError
from rnnsearch.training import launch
from rnnsearch.training.launch import Launch, joined
from rnnsearch.training.ranks import RankLostError


@pytest.mark.parametrize(("launchers_store", "expected"), [("True", launch.CONNECTING), ("False", 500.0), (None, 500.0)])
def test_a_launchers_store_is_not_waited_for(launchers_store: str | None, expected: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was there before the rank: if it is not, its launcher was killed. Other ranks may come later, and rank 0 with its store."""
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(launch.ELASTIC, raising=False)
    monkeypatch.delenv(launch.LAUNCHERS_STORE, raising=False)
    if launchers_store is not None:
        monkeypatch.setenv(launch.LAUNCHERS_STORE, launchers_store)
    waited = []

    def rendezvous(url: str, timeout: timedelta) -> Iterator[None]:
        waited.append(timeout.total_seconds())
        raise RuntimeError("nobody answers")

    monkeypatch.setattr(distributed, "rendezvous", rendezvous)
    place = joined(Launch(rank=1, world=2, local_rank=1, on_host=2, restarts=0), 500.0, "cpu", lambda: False)
    with pytest.raises(InputError, match=r"no meeting point of the ranks at 127\.0\.0\.1:1: nobody answers"), place:
        pass
    assert waited == [expected]


def test_a_store_that_goes_while_the_ranks_meet_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its launcher was killed then."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", launch.LAUNCHERS_STORE: "True"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(launch.ELASTIC, raising=False)

    def meet(*_: object) -> str:
        raise RuntimeError("Connection reset by peer")

    monkeypatch.setattr(launch, "_meet", meet)
    monkeypatch.setattr(distributed, "rendezvous", lambda url, timeout: iter([(distributed.HashStore(), 0, 2)]))
    place = joined(Launch(rank=0, world=2, local_rank=0, on_host=2, restarts=0), 500.0, "cpu", lambda: False)
    with pytest.raises(RankLostError, match=r"^the launcher of rank 0 has ended"), place:
        pass
