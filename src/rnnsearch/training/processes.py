"""The processes that train together, each a rank of torch.distributed: their communication, and the share of
pairs of each.

The loop and the trainer do not depend on the number of processes. `launch` starts them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from rnnsearch.config import TrainingSettings
from rnnsearch.errors import InputError, one_line
from rnnsearch.text.store.batches import Batch, collate
from rnnsearch.text.store.corpus import Pairs
from rnnsearch.text.store.order import BatchOrder, ChosenPairs, Position, batches_from
from rnnsearch.training.alignment_loss import needs_links

Value = TypeVar("Value")

NO_LIMIT = timedelta(days=30)
"""Timeout of exchanges that wait for rank 0 while it validates or saves, which may take any time."""
HEARTBEATS_PER_TIMEOUT = 4
"""Number of heartbeats of rank 0 within an exchange's timeout, while the others wait for it."""
GRACE = 5.0
"""Seconds after a failed exchange in which the other ranks can report that it failed for them too."""


class RankLostError(InputError):
    """Raised when a rank has ended or does not answer."""


class Processes:
    """This process alone: rank 0 of a world of 1."""

    rank, world = 0, 1

    @property
    def is_first(self) -> bool:
        """Tells whether this process is rank 0, which validates, saves and displays."""
        return not self.rank

    def wrap(self, loss: nn.Module, sparse: Sequence[nn.Parameter]) -> nn.Module:
        """Returns the module with gradients averaged over the processes. sparse: parameters with sparse
        gradients."""
        return loss

    def without_exchange(self, loss: nn.Module) -> AbstractContextManager[None]:
        """Returns a context in which backward passes accumulate gradients without exchanging them."""
        return nullcontext()

    def gather(self, value: Value) -> list[Value]:
        """Returns the values of all processes, by rank, in every process. Values must be picklable."""
        return [value]

    def from_first(self, value: Callable[[], Value]) -> Value:
        """Calls `value` in rank 0 only, however long that takes, and returns its result in every process."""
        return value()

    def seed_dropout(self, seed: int, update: int) -> None:
        """Seeds dropout from seed, update and rank, so that each of several processes has its own masks. A
        process alone does nothing."""

    def name(self, rank: int) -> str:
        """Returns the name of a process in messages."""
        return f"rank {rank}"


class DistributedProcesses(Processes):
    """One of several processes, with torch's default process group.

    store: a store that only this training uses. timeout: seconds to wait for an exchange. A failed exchange
    raises torch's error, which `explained` converts to a message.
    """

    def __init__(self, rank: int, world: int, store: distributed.Store, timeout: float, device: str) -> None:
        self.rank, self.world, self.store, self.timeout = rank, world, store, timeout
        backend = "gloo" if device == "cpu" else "cpu:gloo,cuda:nccl"
        # Two groups: in the first, processes wait for rank 0; in the second, no longer than the timeout.
        distributed.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=NO_LIMIT)
        self.group = distributed.new_group(timeout=timedelta(seconds=timeout), backend=backend)
        self.places = self.gather((socket.gethostname(), os.getpid()))
        self.lost: list[int] = []

    def wrap(self, loss: nn.Module, sparse: Sequence[nn.Parameter]) -> nn.Module:
        # DDP expects sparse gradients only for parameters of an `nn.Embedding(sparse=True)`.
        holders = nn.ModuleList(nn.Embedding(1, 1, sparse=True) for _ in sparse)
        for holder, parameter in zip(holders, sparse, strict=True):
            holder.weight = parameter
        return DistributedDataParallel(
            _WithHolders(holders, loss), process_group=self.group, find_unused_parameters=True
        )

    def without_exchange(self, loss: nn.Module) -> AbstractContextManager[None]:
        return cast(DistributedDataParallel, loss).no_sync()

    def gather(self, value: Value) -> list[Value]:
        every: list[Any] = [None] * self.world
        distributed.all_gather_object(every, value, self.group)
        return every

    def from_first(self, value: Callable[[], Value]) -> Value:
        box: list[Any] = [None]
        if self.is_first:
            with self._heartbeats():
                box = [value()]
        self._wait(distributed.broadcast(torch.zeros(1), 0, async_op=True))
        distributed.broadcast_object_list(box, group=self.group, device=torch.device("cpu"))
        return cast(Value, box[0])

    @contextmanager
    def _heartbeats(self) -> Iterator[None]:
        """Sends heartbeats: a thread increments a counter in the store while the others wait for this
        process."""
        ended = threading.Event()

        def count() -> None:
            with contextlib.suppress(RuntimeError):  # the store is gone: the main thread reports it
                while not ended.wait(self.timeout / HEARTBEATS_PER_TIMEOUT):
                    self.store.add("signs", 1)

        thread = threading.Thread(target=count, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _wait(self, work: distributed.Work) -> None:
        """Waits for an exchange. Raises DistStoreError if rank 0 sends no heartbeat within the timeout."""
        while True:
            before = self.store.add("signs", 0)
            try:
                work.wait(timedelta(seconds=self.timeout))
                return
            except RuntimeError as error:
                if "timed out" not in str(error):
                    raise
                if self.store.add("signs", 0) == before:
                    raise distributed.DistStoreError("timed out without a sign of life") from None

    def seed_dropout(self, seed: int, update: int) -> None:
        words = np.random.SeedSequence([seed, update, self.rank]).generate_state(1, np.uint64)
        torch.manual_seed(int(words[0]) >> 1)

    def name(self, rank: int) -> str:
        host, process = self.places[rank]
        return f"rank {rank} (process {process} on {host})"

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Converts the error of a failed exchange to RankLostError, and tells the others why this process
        ends."""
        try:
            yield
        except RuntimeError as error:
            if not is_exchange(error):
                self._tell_fault(error)
                raise
            raise self._lost(error) from error
        except Exception as error:
            self._tell_fault(error)
            raise

    def reports_errors(self) -> bool:
        """Tells whether this process reports errors that all have: it is the first of its host that is not
        lost."""
        host = self.places[self.rank][0]
        here = [rank for rank, place in enumerate(self.places) if place[0] == host and rank not in self.lost]
        return self.rank == min(here)

    def _tell_fault(self, error: Exception) -> None:
        with contextlib.suppress(RuntimeError):
            self.store.set(f"failed/{self.rank}", "fault")
            self.store.set("fault", f"{self.name(self.rank)}: {str(error) or type(error).__name__}")

    def _lost(self, error: RuntimeError) -> RankLostError:
        """Finds the lost ranks: an exchange fails in all ranks, so those that do not report a failure are
        lost."""
        timed_out = "timed out" in str(error).lower() or "timeout" in str(error).lower()
        try:
            self.store.set(f"failed/{self.rank}", "timeout" if timed_out else "closed")
            deadline, ranks = time.monotonic() + GRACE, range(self.world)
            while True:
                silent = [rank for rank in ranks if not self.store.check([f"failed/{rank}"])]
                if self.store.check(["fault"]):
                    return RankLostError(one_line(self.store.get("fault").decode()))
                if not silent or time.monotonic() > deadline:
                    break
                time.sleep(0.1)
            said = [self.store.get(f"failed/{rank}").decode() for rank in ranks if rank not in silent]
        except RuntimeError:  # the store is gone, with the process that had it
            return RankLostError("the launcher or rank 0 has ended", remedy="go on with --resume")
        self.lost = silent
        who = " and ".join(map(self.name, silent)) or "another rank"
        who += " have" if len(silent) > 1 else " has"
        if "timeout" in said:
            return RankLostError(
                f"{who} not answered for {self.timeout:g} seconds",
                remedy="look there what holds it; training.exchange_timeout is how long the others wait; "
                "go on with --resume",
            )
        return RankLostError(
            f"{who} ended",
            remedy="its own output may say why; go on with --resume, with fewer processes if memory is short",
        )


class _WithHolders(nn.Module):
    """A loss, preceded by modules that mark its parameters with sparse gradients for DDP."""

    def __init__(self, holders: nn.ModuleList, loss: nn.Module) -> None:
        super().__init__()
        self.holders, self.loss = holders, loss

    def forward(self, *inputs: Any) -> Any:
        return self.loss(*inputs)


def is_exchange(error: RuntimeError) -> bool:
    """Tells whether torch raised this because another process could not be reached."""
    signs = ("gloo", "Connection", "pair closure")  # the last after another exchange timed out
    return isinstance(error, distributed.DistError) or any(sign in str(error) for sign in signs)


def updates_from(
    order: BatchOrder, position: Position, pairs: Pairs, training: TrainingSettings
) -> Iterator[tuple[list[ChosenPairs], Position]]:
    """Yields the pairs of each update from `position` on, and the position after it."""
    stream = batches_from(order, position, pairs, training.sampled_softmax)
    while part := list(islice(stream, training.accumulate)):
        yield [chosen for chosen, _ in part], part[-1][1]


def share_of(
    pairs: Pairs, chosen: Sequence[ChosenPairs], training: TrainingSettings, processes: Processes
) -> list[Batch]:
    """Returns this process's share of every batch of an update."""
    form: dict[str, Any] = {"linked": needs_links(training), "multiple": training.length_multiple}
    whole = [collate(pairs, one.indices, words=one.words, **form) for one in chosen]
    return [part_of(batch, processes).to(training.device) for batch in whole]


def part_of(batch: Batch, processes: Processes) -> Batch:
    """Returns this process's share of a batch. All processes need the same number of batches: one without
    pairs gets a batch that counts nothing."""
    if processes.rank < len(batch.source):
        return batch.share(processes.rank, processes.world)
    return without_words(batch.share(0, len(batch.source)))


def without_words(batch: Batch) -> Batch:
    """Returns the batch with empty targets: its loss and gradients are 0."""
    links = batch.known_alignment
    return replace(
        batch,
        target_lengths=batch.target_lengths * 0,
        known_alignment=None if links is None else links * 0.0,
    )


def pairs_checksum(chosen: Sequence[ChosenPairs]) -> int:
    """Returns a checksum of the pairs of an update."""
    numbers = [numbers for one in chosen for numbers in one if numbers is not None]
    return zlib.crc32(b"".join(np.asarray(each).tobytes() for each in numbers))
