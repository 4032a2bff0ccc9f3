"""Training in several processes that torchrun has started, by PyTorch's DistributedDataParallel
(DDP)."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from rnnsearch.errors import InputError
from rnnsearch.training.ranks import Ranks

EXCHANGE_TIMEOUT = timedelta(hours=6)
"""Time after which an exchange fails. The other ranks wait as long for rank 0 to validate and to
save."""
UNUSED_GROUPS: list[Any] = []
"""Process groups that are no longer used, kept until the process ends. A group's destructor holds
the GIL while it waits for its threads, and a thread that frees its last tensor needs the GIL: a
deadlock."""
RELEASE_SECONDS = 30.0
"""Maximum time before the interpreter exits in which the threads of groups can free their last
tensors. A thread that requests the GIL during exit is terminated inside C++, which aborts the
process."""


def torchrun_value(name: str, alone: int) -> int:
    """Returns the number that torchrun has written into an environment variable; `alone` without
    torchrun."""
    return int(os.environ[name]) if distributed.is_torchelastic_launched() else alone


@contextmanager
def connected_ranks(device: str) -> Iterator[Ranks]:
    """Connects the processes that torchrun has started. Rank i of a machine uses GPU i if the
    device is cuda.

    Raises InputError if there are not enough GPUs, and if an exchange fails because another rank
    has ended.
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
            raise InputError(what, remedy)
        torch.cuda.set_device(local)
    try:
        backend = "gloo" if device == "cpu" else "cpu:gloo,cuda:nccl"
        store, *_ = next(distributed.rendezvous("env://", timeout=EXCHANGE_TIMEOUT))
        # torchrun keeps one store for all of its restarts. Without a prefix of its keys, a rank may
        # read where a killed rank could be reached. Launchers of several machines count restarts
        # differently, so they get none.
        alone = torchrun_value("GROUP_WORLD_SIZE", 1) == 1
        attempt = os.environ["TORCHELASTIC_RESTART_COUNT"] if alone else ""
        store = distributed.PrefixStore(attempt, store)
        distributed.init_process_group(
            backend, store=store, rank=rank, world_size=world, timeout=EXCHANGE_TIMEOUT
        )
        yield Ranks(rank, world)
    except RuntimeError as error:  # gloo has no error of its own
        remedy = "torchrun names the rank that ended first; go on with --resume"
        raise InputError(f"rank {rank} of {world} ends: {error}", remedy) from error
    finally:
        if distributed.is_initialized():
            UNUSED_GROUPS.append(distributed.group.WORLD)
            atexit.register(_await_threads)
            distributed.destroy_process_group()


def _await_threads() -> None:
    """Waits until all other threads have slept for some time: then they have no work left
    (Linux)."""
    until, asleep = time.monotonic() + RELEASE_SECONDS, 0
    while asleep < 5 and time.monotonic() < until:
        time.sleep(0.1)
        asleep = 0 if any(map(_is_awake, Path("/proc/self/task").glob("[0-9]*"))) else asleep + 1


def _is_awake(thread: Path) -> bool:
    """Tells whether a thread other than the main one runs, or could run if a core were free."""
    try:
        state = (thread / "stat").read_text("ascii", "replace").rpartition(") ")[2][:1]
    except OSError:  # it has ended
        return False
    return thread.name != str(os.getpid()) and state != "S"
