"""Training in several processes that torchrun has started, by PyTorch's DistributedDataParallel (DDP)."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from rnnsearch.config import Settings
from rnnsearch.errors import InputError
from rnnsearch.installed import package_version
from rnnsearch.system.files import file_checksum
from rnnsearch.text.batches import Batch
from rnnsearch.text.dataset import CHECKSUMS, Corpus

Value = TypeVar("Value")

TIMEOUT = timedelta(hours=6)
"""Time after which an exchange fails. The other ranks wait as long for rank 0 to validate and to save."""
UNUSED_GROUPS: list[Any] = []
"""Process groups that are no longer used, kept until the process ends. A group's destructor holds the GIL
while it waits for its threads, and a thread that frees its last tensor needs the GIL: a deadlock."""
RELEASE_SECONDS = 0.5
"""Seconds before the interpreter exits in which the threads of groups can free their last tensors. A thread
that requests the GIL during exit is terminated inside C++, which aborts the process."""


class Ranks:
    """The processes that train together, as one of them sees them. rank: its number. world: how many they
    are; alone, a process is rank 0 of 1."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self.rank, self.world = rank, world

    @property
    def is_first(self) -> bool:
        """Tells whether this process is rank 0, which validates, saves and displays."""
        return not self.rank

    def wrap(self, loss: nn.Module, sparse: Sequence[nn.Parameter]) -> nn.Module:
        """Returns the module with gradients averaged over the ranks. sparse: parameters with sparse
        gradients."""
        if self.world == 1:
            return loss
        # DDP expects sparse gradients only for parameters of an `nn.Embedding(sparse=True)`.
        holders = nn.ModuleList(nn.Embedding(1, 1, sparse=True) for _ in sparse)
        for holder, parameter in zip(holders, sparse, strict=True):
            holder.weight = parameter
        return DistributedDataParallel(_WithHolders(holders, loss), find_unused_parameters=True)

    def gather(self, value: Value) -> list[Value]:
        """Returns the values of all ranks, in their order, in every rank. Values must be picklable."""
        if self.world == 1:
            return [value]
        every: list[Any] = [None] * self.world
        distributed.all_gather_object(every, value)
        return every

    def from_first(self, compute: Callable[[], Value]) -> Value:
        """Calls `compute` in rank 0 only, and returns its result in every rank. If it raises InputError, the
        others exit with code 2."""
        if self.world == 1:
            return compute()
        box: list[Any] = [None, None]
        if self.is_first:
            try:
                box[0] = compute()
            except InputError as error:
                box[1] = error
        distributed.broadcast_object_list(box, device=torch.device("cpu"))
        if box[1] is not None:
            raise box[1] if self.is_first else SystemExit(2)
        return cast(Value, box[0])

    def share(self, batch: Batch) -> Batch:
        """Returns this rank's pairs of a batch. All ranks need the same number of batches: without pairs, a
        rank gets a batch with empty targets, whose loss and gradients are 0."""
        if self.rank < len(batch.source):
            return batch.share(self.rank, self.world)
        one = batch.share(0, len(batch.source))
        links = None if one.known_alignment is None else one.known_alignment * 0.0
        return replace(one, target_lengths=one.target_lengths * 0, known_alignment=links)

    def seed_dropout(self, seed: int, update: int) -> None:
        """Seeds dropout from seed, update and rank, so that each of several ranks has its own masks."""
        if self.world > 1:
            words = np.random.SeedSequence([seed, update, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(words[0]) >> 1)


class _WithHolders(nn.Module):
    """A loss, preceded by modules that mark its parameters with sparse gradients for DDP."""

    def __init__(self, holders: nn.ModuleList, loss: nn.Module) -> None:
        super().__init__()
        self.holders, self.loss = holders, loss

    def forward(self, *inputs: Any) -> Any:
        return self.loss(*inputs)


def torchrun_value(name: str, alone: int) -> int:
    """Returns the number that torchrun has written into an environment variable; `alone` without
    torchrun."""
    return int(os.environ[name]) if distributed.is_torchelastic_launched() else alone


def _attempt() -> str:
    """Returns a prefix of the keys that this start of the ranks has in torchrun's store.

    torchrun keeps one store for all of its restarts. Without a prefix, a rank may read where a killed rank
    could be reached. Launchers of several machines count restarts differently, so they get none.
    """
    return os.environ["TORCHELASTIC_RESTART_COUNT"] if torchrun_value("GROUP_WORLD_SIZE", 1) == 1 else ""


@contextmanager
def connected_ranks(device: str) -> Iterator[Ranks]:
    """Connects the processes that torchrun has started. Rank i of a machine uses GPU i if the device is cuda.

    Raises InputError if there are not enough GPUs, and if an exchange fails because another rank has ended.
    """
    rank, world = torchrun_value("RANK", 0), torchrun_value("WORLD_SIZE", 1)
    if world == 1:
        yield Ranks()
        return
    local = torchrun_value("LOCAL_RANK", 0)
    if device != "cpu":
        if device != "cuda" or local >= torch.cuda.device_count():
            what = f'device "{device}" has no GPU {local} for rank {rank}'
            remedy = 'training.device = "cuda", and a rank per GPU: torchrun --nproc-per-node'
            raise InputError(what, remedy=remedy)
        torch.cuda.set_device(local)
    try:
        backend = "gloo" if device == "cpu" else "cpu:gloo,cuda:nccl"
        store, *_ = next(distributed.rendezvous("env://", timeout=TIMEOUT))
        store = distributed.PrefixStore(_attempt(), store)
        distributed.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=TIMEOUT)
        yield Ranks(rank, world)
    except RuntimeError as error:  # gloo has no error of its own
        remedy = "torchrun names the rank that ended first; go on with --resume"
        raise InputError(f"rank {rank} of {world} ends: {error}", remedy=remedy) from error
    finally:
        if distributed.is_initialized():
            UNUSED_GROUPS.append(distributed.group.WORLD)
            atexit.register(time.sleep, RELEASE_SECONDS)
            distributed.destroy_process_group()


def check_agreement(ranks: Ranks, settings: Settings, corpus: Corpus) -> None:
    """Raises InputError if the ranks differ in versions, settings or prepared datasets, or if their CPUs
    round differently."""
    facts = {
        "version of rnnsearch": package_version(),
        "version of torch": torch.__version__.partition("+")[0],
        "settings": settings.model_dump_json(),
        "prepared dataset": file_checksum(corpus.path / CHECKSUMS),
        # Every rank updates all parameters.
        "CPU capability of torch (ATEN_CPU_CAPABILITY)": torch.backends.cpu.get_cpu_capability(),
    }
    every = ranks.gather(facts)

    def compare() -> None:
        for rank, theirs in enumerate(every):
            for name in facts:
                if theirs[name] != facts[name]:
                    what = f"rank {rank} and rank 0 have not the same {name}"
                    raise InputError(what, remedy="start all ranks with the same command and dataset")

    ranks.from_first(compare)
