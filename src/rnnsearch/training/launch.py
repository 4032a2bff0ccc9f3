"""Where ranks come from: a launcher such as torchrun has started them, or this process starts the others on its machine."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import torch
from torch import distributed, multiprocessing

from rnnsearch.errors import InputError
from rnnsearch.system.workers import end_with_parent
from rnnsearch.training.ranks import SHORTEST_START, RankLostError, Ranks

ELASTIC = "TORCHELASTIC_RUN_ID"
"""The environment variable by which torchrun shows itself."""
BAD_END = 2
"""Exit code of a rank that has ended for a reason that rank 0 tells."""
LAUNCHERS_STORE = "TORCHELASTIC_USE_AGENT_STORE"
"""`True` in the environment if the ranks meet at a launcher's own store, which is there before they are."""
CONNECTING = 30.0
"""Seconds in which such a store must answer, so that ranks whose launcher was killed while they imported do not wait for it for long."""
PATIENCE = 20.0
"""Seconds that a rank may take to end when it is told to; then it is killed."""


class Launch(NamedTuple):
    """What a launcher has put into the environment. on_host: ranks on this machine. restarts: how often it has started them again."""

    rank: int
    world: int
    local_rank: int
    on_host: int
    restarts: int


def launched() -> Launch | None:
    """None if this process was started alone."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if any(name not in os.environ for name in names):
        return None
    try:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        local, on_host = int(os.environ.get("LOCAL_RANK", rank)), int(os.environ.get("LOCAL_WORLD_SIZE", world))
        restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    except ValueError:
        raise InputError("RANK, WORLD_SIZE or LOCAL_RANK in the environment is no number", remedy="start with torchrun") from None
    if not 0 <= rank < world:
        raise InputError(f"RANK = {rank} and WORLD_SIZE = {world} in the environment do not fit", remedy="start with torchrun")
    return Launch(rank, world, local, on_host, restarts) if world > 1 else None


def is_elastic() -> bool:
    return ELASTIC in os.environ


def use_device(name: str, launch: Launch) -> None:
    """Makes `cuda` this rank's own GPU. Raises InputError if there are not as many as ranks on this machine."""
    if name == "cpu":
        return
    if name != "cuda":
        raise InputError(f"training.device = {name!r} is one GPU for {launch.on_host} processes", remedy='set training.device = "cuda"')
    if launch.local_rank >= torch.cuda.device_count():
        what = f"{launch.on_host} processes on a machine with {torch.cuda.device_count()} GPUs"
        raise InputError(what, remedy="torchrun --nproc-per-node is the number of GPUs")
    torch.cuda.set_device(launch.local_rank)


@contextmanager
def joined(launch: Launch, timeout: float, device: str, alarmed: Callable[[], bool]) -> Iterator[Ranks]:
    """The ranks that a launcher has started, this one among them. Raises RankLostError if there is no meeting point, or none any more.

    alarmed: whether this process has been told to end. Before all have met there is nothing to save: then it raises KeyboardInterrupt.
    """
    started = timedelta(seconds=max(timeout, SHORTEST_START))
    if is_elastic():
        threading.Thread(target=_end_after_launcher, args=(os.getppid(),), daemon=True).start()
    launchers = os.environ.get(LAUNCHERS_STORE) == "True"
    try:
        store, rank, world = next(distributed.rendezvous("env://", timeout=timedelta(seconds=CONNECTING) if launchers else started))
    except (RuntimeError, ValueError) as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        line = str(error).splitlines()[0]
        raise RankLostError(
            f"no meeting point of the ranks at {where}: {line}", remedy="is that machine reachable, and rank 0 started?"
        ) from None
    try:
        store.set_timeout(started)
        ours = _meeting(store, rank, world, started.total_seconds(), alarmed)
    except RuntimeError:
        raise RankLostError(f"{'the launcher of rank 0' if launchers else 'rank 0'} has ended", remedy="go on with --resume") from None
    ranks = None
    try:
        make = _gloo(ours, rank, world, timeout) if device == "cpu" else _gloo_and_nccl(ours, rank, world, timeout)
        ranks = Ranks(rank, world, ours, make, timeout, torch.device(device), keeper=None if is_elastic() else 0, alarmed=alarmed)
        yield ranks
    finally:
        if ranks is not None:
            ranks.close()
        if distributed.is_initialized() and device != "cpu":
            distributed.destroy_process_group()


def _meeting(store: distributed.Store, rank: int, world: int, patience: float, alarmed: Callable[[], bool]) -> distributed.Store:
    """The part of the launcher's store that is this training's alone."""
    return distributed.PrefixStore(_meet(distributed.PrefixStore("rnnsearch", store), rank, world, patience, alarmed), store)


def _meet(store: distributed.Store, rank: int, world: int, patience: float, alarmed: Callable[[], bool]) -> str:
    """A name of this training alone. A launcher's store outlives its ranks: what those of before have written must not be taken for new.

    Rank 0 makes the name up; whoever reads it leaves a sign that is new too, and goes on when rank 0 has confirmed that sign.
    """
    sign, name = uuid.uuid4().hex, uuid.uuid4().hex
    deadline = time.monotonic() + patience
    signs = [f"{name}/sign/{other}" for other in range(1, world)]
    if not rank:
        store.set("name", name)
    while True:
        if not rank and store.check(signs):
            store.set(f"{name}/met", json.dumps([store.get(one).decode() for one in signs]))
            return name
        if rank and store.check(["name"]):
            name = store.get("name").decode()
            store.set(f"{name}/sign/{rank}", sign)
            if store.check([f"{name}/met"]) and sign in json.loads(store.get(f"{name}/met")):
                return name
        if alarmed():
            raise KeyboardInterrupt("the other processes had not come yet")
        if time.monotonic() > deadline:
            missing = [str(other) for other, one in enumerate(signs, 1) if not rank and not store.check([one])]
            who = f"rank {', '.join(missing)}" if missing else "rank 0"
            raise InputError(f"{who} did not come within {patience:g} seconds", remedy="were all ranks started, and what do they say?")
        time.sleep(0.05)


@contextmanager
def started(world: int, timeout: float, work: Callable[..., int], *arguments: Any) -> Iterator[Ranks]:
    """The other ranks as processes of their own on this machine, each of which does work(ranks, *arguments); this process is rank 0.

    They end with this process, however it ends, and when the context is left: each is waited for, or killed if it was left by an error.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # rank 0 says what is wrong
    with socket.socket() as meeting:
        meeting.bind(("127.0.0.1", 0))  # torch's own would listen on every interface
        meeting.listen(2 * world)
        port = meeting.getsockname()[1]
        limit = timedelta(seconds=max(timeout, SHORTEST_START))
        store = distributed.TCPStore("127.0.0.1", port, None, True, limit, False, master_listen_fd=meeting.detach())
    context = multiprocessing.get_context("spawn")
    target = (_rank, world, port, timeout, work, arguments)
    children = {rank: context.Process(target=target[0], args=(rank, *target[1:]), daemon=True) for rank in range(1, world)}

    def kill() -> None:
        for child in children.values():
            if child.pid is not None:
                child.kill()

    def ended() -> dict[int, str]:
        codes = {rank: child.exitcode for rank, child in children.items()}
        return {rank: _how(code) for rank, code in codes.items() if code is not None and code != BAD_END}

    atexit.register(kill)  # before multiprocessing asks them to end, which they ignore
    ranks, done = None, False
    try:
        for child in children.values():
            child.start()
        with _loopback():
            ranks = Ranks(0, world, store, _gloo(store, 0, world, timeout), timeout, ended=ended, share_memory=True)
        yield ranks
        done = True
    finally:
        deadline = time.monotonic() + PATIENCE
        while done and any(child.is_alive() for child in children.values()) and time.monotonic() < deadline:
            time.sleep(0.01)
        kill()
        if ranks is not None:
            ranks.close()
        for child in children.values():
            if child.pid is not None:
                child.join()
        atexit.unregister(kill)


def _rank(rank: int, world: int, port: int, timeout: float, work: Callable[..., int], arguments: tuple[Any, ...]) -> None:
    """The life of a rank that `started` has started."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to all processes, they are for the first, which ends after the update at hand
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    code = BAD_END
    with contextlib.suppress(RuntimeError, RankLostError):  # rank 0 has gone, or tells
        limit = timedelta(seconds=max(timeout, SHORTEST_START))
        store = distributed.TCPStore("127.0.0.1", port, None, False, limit, False)
        with _loopback():
            ranks = Ranks(rank, world, store, _gloo(store, rank, world, timeout), timeout, share_memory=True)
        try:
            code = work(ranks, *arguments)
        except RankLostError:
            raise
        except Exception as error:
            ranks.fault(error)
    sys.stderr.flush()
    os._exit(code)  # at once: torch's threads may wait for what never comes


def _gloo(store: distributed.Store, rank: int, world: int, timeout: float) -> Callable[[], Any]:
    # An object of its own: a script may have a default process group for other things.
    return lambda: distributed.ProcessGroupGloo(distributed.PrefixStore("gloo", store), rank, world, timedelta(seconds=timeout))


def _gloo_and_nccl(store: distributed.Store, rank: int, world: int, timeout: float) -> Callable[[], Any]:
    def make() -> Any:
        limit = timedelta(seconds=timeout)
        distributed.init_process_group("cpu:gloo,cuda:nccl", store=store, rank=rank, world_size=world, timeout=limit)
        return distributed.group.WORLD

    return make


@contextmanager
def _loopback() -> Iterator[None]:
    """gloo talks through this machine's own interface, whatever its name resolves to."""
    name = "GLOO_SOCKET_IFNAME"
    before = os.environ.get(name)
    own = [interface for _, interface in socket.if_nameindex() if interface in ("lo", "lo0")]
    if own and before is None:
        os.environ[name] = own[0]
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)


def _end_after_launcher(launcher: int) -> None:
    """Nobody else would end a rank whose launcher was killed: as after SIGTERM, it saves what it has, if the others let it."""
    while os.getppid() == launcher:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(BAD_END)


def _how(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
