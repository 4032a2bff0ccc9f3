"""The processes that train together, each with its rank: what they send each other, and what is said when one of them is lost."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, distributed

from rnnsearch.errors import InputError, one_line
from rnnsearch.training.heartbeat import Heartbeat

SHORTEST_START = 120.0
"""Seconds that ranks wait at least for each other at the start, when each imports, opens and makes what it needs."""
GRACE = 5.0
"""Seconds after an exchange failed in which the other ranks may say that it failed for them too."""
LONGEST_LOOK = 0.05
"""Seconds between two looks for the next command while nothing comes; at first it is looked for more often."""

Part = tuple[int, Tensor]
"""A rank, and what it is sent, or what is filled with what it sends."""


class Work(Protocol):
    def wait(self) -> object: ...


class RankLostError(InputError):
    """A rank has ended or does not answer. speaks: whether this process should say so; of the others on its host, one does."""

    def __init__(self, what: str, *, remedy: str = "", speaks: bool = True) -> None:
        super().__init__(what, remedy=remedy)
        self.speaks = speaks


class Place(NamedTuple):
    """Of a rank: its machine and the number of its process."""

    host: str
    process: int


class Ranks:
    """rank: of this process, from 0; world: how many there are. Tensors are sent from and to `device`, numbers always from the CPU.

    store: of this training alone. make_group: of torch, for tensors of either kind; it is made when all
    ranks have come, so that it waits for none. timeout: seconds to wait for an exchange.
    ended: ranks that are known to have ended, and how; for the process that started them. keeper: the rank whose process holds the store;
    None if it is the launcher. alarmed: whether this process has been told to end, which it does while it waits for ranks that begin, or
    when rank 0 is seen to have ended. share_memory: whether all are on one machine, and may see the same memory.
    Every exchange raises RankLostError, which names the rank, if it fails.
    """

    def __init__(
        self,
        rank: int,
        world: int,
        store: distributed.Store,
        make_group: Callable[[], distributed.ProcessGroup],
        timeout: float,
        device: torch.device | None = None,
        ended: Callable[[], dict[int, str]] = dict,
        keeper: int | None = 0,
        alarmed: Callable[[], bool] = bool,
        share_memory: bool = False,
    ) -> None:
        self.rank, self.world, self.store = rank, world, store
        self.timeout, self.device, self.ended, self.keeper = timeout, device or torch.device("cpu"), ended, keeper
        self.commands = 0
        self.alarmed, self.share_memory = alarmed, share_memory
        self.places: list[Place] = []
        with self._watched():
            self.heartbeat = Heartbeat(store, rank)
        self.places = [Place(str(host), int(process)) for host, process in self.said("place", [socket.gethostname(), os.getpid()])]
        with self._watched():
            self.group = make_group()

    def name(self, rank: int) -> str:
        """For a person."""
        if not self.places:  # they are about to say where they are
            return f"rank {rank}"
        place = self.places[rank]
        return f"rank {rank} (process {place.process} on {place.host})"

    # What tensors and numbers are sent.

    def swap(self, out: Sequence[Part], into: Sequence[Part]) -> None:
        """Sends and receives; every part that is sent must be received, in the same order between any two ranks. No part may be empty."""
        with self._watched():
            if self.device.type == "cuda" and any(tensor.is_cuda for _, tensor in (*out, *into)):
                pairs = [(distributed.irecv, part) for part in into] + [(distributed.isend, part) for part in out]
                operations = [distributed.P2POp(operation, tensor, rank) for operation, (rank, tensor) in pairs]
                works: list[Work] = list(distributed.batch_isend_irecv(operations))
            else:
                works = [self.group.recv([tensor], rank, 0) for rank, tensor in into]
                works += [self.group.send([tensor], rank, 0) for rank, tensor in out]
            for work in works:
                work.wait()

    @property
    def others(self) -> list[int]:
        """In an order in which not all begin with the same."""
        return [(self.rank + distance) % self.world for distance in range(1, self.world)]

    def everyone(self, numbers: Sequence[float]) -> list[list[float]]:
        """The numbers of every rank, by rank; each must give as many. All ranks get the same, bit for bit."""
        own = torch.tensor(numbers, dtype=torch.float64)
        every = own.repeat(self.world, 1)
        self.swap([(rank, own) for rank in self.others], [(rank, every[rank]) for rank in self.others])
        return every.tolist()

    def from_first(self, tensor: Tensor) -> None:
        """Fills the tensor of every rank with that of rank 0."""
        if not tensor.numel():
            return
        whole = tensor if tensor.is_contiguous() else tensor.contiguous()
        self.swap(*(([(rank, whole) for rank in self.others], []) if not self.rank else ([], [(0, whole)])))
        if whole is not tensor and self.rank:
            tensor.copy_(whole)

    def numbers_from_first(self, numbers: Sequence[float]) -> list[float]:
        """Those of rank 0; each must give as many."""
        tensor = torch.tensor(numbers, dtype=torch.float64)
        self.from_first(tensor)
        return tensor.tolist()

    def to_first(self, part: Tensor) -> Tensor | None:
        """The parts of all ranks, end to end, in rank 0; None elsewhere. All must have the same shape."""
        if self.rank:
            self.swap([(0, part)], [])
            return None
        every = part.new_empty(self.world, *part.shape)
        every[0] = part
        self.swap([], [(rank, every[rank]) for rank in self.others])
        return every.flatten(0, 1)

    def parts_of_first(self, whole: Tensor | None, part: Tensor) -> None:
        """The opposite of `to_first`: fills each rank's part with its part of what rank 0 has."""
        if self.rank:
            self.swap([], [(0, part)])
            return
        assert whole is not None
        parts = whole.chunk(self.world)
        part.copy_(parts[0])
        self.swap([(rank, parts[rank]) for rank in self.others], [])

    # What is said through the store.

    def said(self, topic: str, value: Any) -> list[Any]:
        """What every rank says of this topic, by rank: anything that JSON knows. A topic can be used once."""
        keys = [f"said/{topic}/{rank}" for rank in range(self.world)]
        deadline, pause = time.monotonic() + max(self.timeout, SHORTEST_START), 0.001
        with self._watched():
            self.store.set(keys[self.rank], json.dumps(value))
            while not self.store.check(keys):
                time.sleep(pause)
                pause = min(1.5 * pause, LONGEST_LOOK)
                if self.alarmed():
                    raise KeyboardInterrupt("the other processes had not begun yet")
                if (how := self.ended()) or time.monotonic() > deadline or self.store.check(["fault"]):
                    missing = [rank for rank, key in enumerate(keys) if not self.store.check([key])]
                    raise self._said_fault(missing) or self._lost("closed" if how else "timeout", sorted(how) or missing, how)
            return [json.loads(self.store.get(key)) for key in keys]

    def tell(self, command: str) -> None:
        """The next command to the other ranks, which `hear` it."""
        with self._watched():
            self.store.set(f"command/{self.commands}", command)
            if self.commands >= 2:  # all have heard it: they have answered one that came after it
                self.store.delete_key(f"command/{self.commands - 2}")
        self.commands += 1

    def hear(self) -> str:
        """Waits for the next command of rank 0, however long it takes. Raises RankLostError if rank 0 gives no sign of life meanwhile."""
        key, pause = f"command/{self.commands}", 0.0002
        sign, since = -1, time.monotonic()
        with self._watched():
            while not self.store.check([key]):
                time.sleep(pause)
                pause = min(1.5 * pause, LONGEST_LOOK)
                if pause == LONGEST_LOOK:
                    self._check_first()
                if time.monotonic() - since > self.timeout:
                    now = self.heartbeat.count(0)
                    if now == sign:
                        raise self._lost("timeout", [0])
                    sign, since = now, time.monotonic()
            self.commands += 1
            return str(self.store.get(key), "utf-8")

    def _check_first(self) -> None:
        """Raises RankLostError if rank 0 has said that it ends, or if everybody is told to end and it has ended already."""
        if fault := self._said_fault([]):
            raise fault
        if self.alarmed() and self.heartbeat.silent([0]):
            raise self._lost("closed", [0])

    def fault(self, error: BaseException) -> None:
        """Tells the others why this process is about to end."""
        with contextlib.suppress(RuntimeError):
            self.store.set(f"lost/{self.rank}", "closed")
            self.store.set("fault", f"{self.name(self.rank)}: {str(error) or type(error).__name__}")

    def speaks(self) -> bool:
        """Whether this process says what all of them find wrong: one of each host does."""
        return self._speaks([])

    def close(self) -> None:
        self.heartbeat.close()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:  # whatever torch says of it, a rank is the reason
            raise self.who_is_lost(error) from error

    def who_is_lost(self, error: Exception) -> RankLostError:
        """Asks the store and the others. An exchange fails for all who take part in it: whoever does not say so is the one."""
        kind = "timeout" if "timed out" in str(error).lower() or "timeout" in str(error).lower() else "closed"
        try:
            self.store.set(f"lost/{self.rank}", kind)
            missing = self._missing()
            if fault := self._said_fault(missing):
                return fault
            kinds = [self.store.get(f"lost/{rank}").decode() for rank in range(self.world) if rank not in missing]
            how = self.ended()
            gone = sorted(how) or (self.heartbeat.silent(missing) if len(missing) > 1 else missing) or missing
            return self._lost("timeout" if "timeout" in kinds and not how else "closed", gone, how)
        except RuntimeError:  # the store has gone, with the process that held it
            if self.keeper is not None:
                return self._lost("closed", [self.keeper])
            return RankLostError("the launcher of rank 0 has ended", remedy="go on with --resume", speaks=self.speaks())

    def _said_fault(self, missing: Sequence[int]) -> RankLostError | None:
        """Why a rank says that it has ended, if one does."""
        if not self.store.check(["fault"]):
            return None
        return RankLostError(one_line(self.store.get("fault").decode()), speaks=self._speaks(missing))

    def _missing(self) -> list[int]:
        """The ranks for which the exchange did not fail."""
        deadline = time.monotonic() + GRACE
        while True:
            missing = [rank for rank in range(self.world) if not self.store.check([f"lost/{rank}"])]
            if not missing or self.ended() or self.store.check(["fault"]) or time.monotonic() > deadline:
                return missing
            time.sleep(0.1)

    def _lost(self, kind: str, ranks: Sequence[int], how: dict[int, str] | None = None) -> RankLostError:
        names = [self.name(rank) + (f" was ended by {how[rank]}" if how and how.get(rank) else "") for rank in ranks]
        who = " and ".join(names) or "another rank"
        have = "have" if len(ranks) > 1 else "has"
        if kind == "timeout":
            waited = self.timeout if self.places else max(self.timeout, SHORTEST_START)
            what = f"{who} {have} not answered for {waited:g} seconds"
            remedy = "look there what holds it; training.exchange_timeout is how long the others wait; go on with --resume"
        else:
            what = who if how else f"{who} {have} ended"
            remedy = "its own output may say why; go on with --resume, with fewer processes if memory is short"
        return RankLostError(what, remedy=remedy, speaks=self._speaks(ranks))

    def _speaks(self, gone: Sequence[int]) -> bool:
        """Whether this is the first rank of its host that is not lost."""
        if not self.places:
            return True
        here = [rank for rank, place in enumerate(self.places) if place.host == self.places[self.rank].host and rank not in gone]
        return self.rank == min(here, default=self.rank)
