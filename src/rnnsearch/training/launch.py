"""Connects the processes that train together, whether torchrun or `launched` has started them; and handles
signals that end training."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import distributed

from rnnsearch.config import Settings, TrainingSettings, by_name
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.extras import package_version
from rnnsearch.system.files import file_checksum
from rnnsearch.system.workers import end_with_parent
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.store.store import CHECKSUMS
from rnnsearch.training.processes import DistributedProcesses, Processes, RankLostError

SHORTEST_START = 120.0
"""Minimum timeout, in seconds, for ranks to connect at the start, while they import modules."""
CONNECTING = 30.0
"""Timeout, in seconds, for the launcher's store, which exists before the ranks start."""
MAY_DIFFER = {"training.threads", "training.processes"}
"""Settings that may differ between machines."""
LAUNCHERS_STORE = "TORCHELASTIC_USE_AGENT_STORE"
UNUSED_GROUPS: list[Any] = []
"""Process groups that are no longer used, kept until the process ends. A group's destructor holds the GIL
while it waits for its threads, and a thread that frees its last tensor needs the GIL: a deadlock."""
RELEASE_SECONDS = 0.5
"""Seconds before the interpreter exits in which the threads of groups can free their last tensors. A thread
that requests the GIL during exit is terminated inside C++, which aborts the process."""


class Launch(NamedTuple):
    """The environment variables of a launcher. on_host: number of ranks on this machine. restarts: how often
    the launcher has restarted them."""

    rank: int
    world: int
    local_rank: int
    on_host: int
    restarts: int


def launch_of_environment() -> Launch | None:
    """Reads the environment variables; None if this process was started alone. Raises InputError for invalid
    numbers."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if any(name not in os.environ for name in names):
        return None
    try:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        local = int(os.environ.get("LOCAL_RANK", rank))
        on_host = int(os.environ.get("LOCAL_WORLD_SIZE", world))
        restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    except ValueError:
        raise InputError(
            "RANK, WORLD_SIZE or LOCAL_RANK in the environment is not a number", remedy="start with torchrun"
        ) from None
    if not 0 <= rank < world:
        raise InputError(
            f"RANK = {rank} and WORLD_SIZE = {world} in the environment do not fit",
            remedy="start with torchrun",
        )
    return Launch(rank, world, local, on_host, restarts) if world > 1 else None


@contextmanager
def joined(launch: Launch | None, training: TrainingSettings, interrupt: Interrupt) -> Iterator[Processes]:
    """Yields the processes that train together: only this one without a launch. Raises RankLostError if the
    others do not connect, or one of them is lost.

    If all ranks that torchrun has started on a machine meet the same error, one raises it and the others exit
    with code 2.
    """
    if launch is None:
        yield Processes()
        return
    use_device(training.device, launch)
    store = rendezvous(launch, training.exchange_timeout, interrupt)
    timeout, device = training.exchange_timeout, training.device
    processes = DistributedProcesses(launch.rank, launch.world, store, timeout, device)
    try:
        with processes.explained():
            yield processes
    except Exception:
        if (
            multiprocessing.parent_process() or processes.reports_errors()
        ):  # `launched` reads the errors of all its ranks
            raise
        sys.exit(2)
    finally:
        UNUSED_GROUPS.extend((processes.group, distributed.group.WORLD))
        atexit.register(time.sleep, RELEASE_SECONDS)
        distributed.destroy_process_group()


def use_device(name: str, launch: Launch) -> None:
    """Makes `cuda` this rank's own GPU. Raises InputError if there are fewer than ranks on this machine."""
    if name == "cpu":
        return
    if name != "cuda":
        raise InputError(
            f"training.device = {name!r} is one GPU for {launch.on_host} processes",
            remedy='set training.device = "cuda"',
        )
    if launch.local_rank >= torch.cuda.device_count():
        what = f"{launch.on_host} processes on a machine with {torch.cuda.device_count()} GPUs"
        raise InputError(what, remedy="torchrun --nproc-per-node is the number of GPUs")
    torch.cuda.set_device(launch.local_rank)


def rendezvous(launch: Launch, timeout: float, interrupt: Interrupt) -> distributed.Store:
    """Waits for all ranks, and returns a part of the launcher's store that only this training uses.

    Raises RankLostError if the store cannot be reached, and KeyboardInterrupt after a signal, since there is
    nothing to save yet.
    """
    patience = max(timeout, SHORTEST_START)
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    of_launcher = os.environ.get(LAUNCHERS_STORE) == "True"
    try:
        if of_launcher:  # it existed before this process: if it does not answer, it was killed
            socket.create_connection((address, port), CONNECTING).close()
        limit = timedelta(seconds=CONNECTING if of_launcher else patience)
        store, rank, world = next(distributed.rendezvous("env://", timeout=limit))
    except (OSError, RuntimeError, ValueError) as error:
        raise RankLostError(
            f"no meeting point of the ranks at {address}:{port}: {str(error).splitlines()[0]}",
            remedy="is that machine reachable, and rank 0 started?",
        ) from None
    try:
        store.set_timeout(timedelta(seconds=patience))
        name = _unique_name(distributed.PrefixStore("rnnsearch", store), rank, world, patience, interrupt)
    except RuntimeError:
        who = "the launcher of rank 0" if of_launcher else "rank 0"
        raise RankLostError(f"{who} has ended", remedy="go on with --resume") from None
    return distributed.PrefixStore(name, store)


def _unique_name(
    store: distributed.Store, rank: int, world: int, patience: float, interrupt: Interrupt
) -> str:
    """Agrees with the other ranks on a unique name for this training, and returns it. A launcher's store
    outlives its ranks, so that it may have entries of earlier ranks.

    Rank 0 chooses the name. Every other rank that reads it writes a new token, and continues when rank 0 has
    confirmed that token.
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
        if interrupt.signal:
            raise KeyboardInterrupt("the other processes had not come yet")
        if time.monotonic() > deadline:
            missing = [str(n) for n, one in enumerate(signs, 1) if not rank and not store.check([one])]
            raise InputError(
                f"rank {', '.join(missing) or 0} did not connect within {patience:g} seconds",
                remedy="were all ranks started, and what do they say?",
            )
        time.sleep(0.05)


def check_agreement(processes: Processes, settings: Settings, corpus: Corpus) -> None:
    """Raises InputError, in every rank, if versions, settings or prepared datasets differ."""
    if processes.world == 1:
        return
    first, *others = processes.gather(_facts(settings, corpus))
    for rank, facts in enumerate(others, 1):
        for name, value in first.items():
            if facts.get(name) != value:
                raise InputError(
                    f"{name} is {facts.get(name)} in {processes.name(rank)}, and {value} in "
                    f"{processes.name(0)}",
                    remedy="start all ranks with the same versions, settings and prepared dataset",
                )


def _facts(settings: Settings, corpus: Corpus) -> dict[str, Any]:
    """Returns description → value of everything that must be equal in all ranks."""
    facts: dict[str, Any] = {
        "the version of rnnsearch": package_version(),
        "the version of torch": torch.__version__.partition("+")[0],
        # Minor versions of Python and numpy do not change the order of pairs.
        "the version of numpy": np.__version__.partition(".")[0],
        "the checksum of the prepared dataset": file_checksum(corpus.path / CHECKSUMS)[:16],
    }
    if settings.training.device == "cpu":  # every rank updates all parameters, so all must round alike
        facts["torch's CPU capability (ATEN_CPU_CAPABILITY)"] = torch.backends.cpu.get_cpu_capability()
    return facts | {name: value for name, value in by_name(settings).items() if name not in MAY_DIFFER}


def launched(count: int, work: Callable[..., Any], *arguments: Any) -> Any:
    """Starts `count` processes as torchrun does; each calls work(*arguments). Returns rank 0's result.

    They end when this process ends. The first signal is passed on to them; a second one kills them. Raises
    InputError with the message of the first that fails.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # the message below replaces torch's
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    logging.getLogger("torch.multiprocessing").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="rnnsearch") as folder, _passing_signals_on() as interrupt:
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=count,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint="127.0.0.1:0",
            local_addr="127.0.0.1",
            max_restarts=0,
            signals_to_handle="SIGQUIT",
            logs_specs=DefaultLogsSpecs(log_dir=folder),
        )
        try:
            return elastic_launch(config, _rank)(work, *arguments)[0]
        except ChildFailedError as failed:
            rank, failure = failed.get_first_failure()
            said = failure.error_file_data.get("message")
            said = said if isinstance(said, dict) else {"message": str(failure.message)}
            kind, _, line = said["message"].partition(": ")
            if kind in ("InputError", "RankLostError"):
                raise InputError(line) from None
            if interrupt.signal:
                raise KeyboardInterrupt from None
            if failure.exitcode < 0:
                raise RankLostError(
                    f"rank {rank} (process {failure.pid} on {socket.gethostname()}) was ended by "
                    f"{signal.Signals(-failure.exitcode).name}",
                    remedy="its own output may say why; go on with --resume, with fewer processes if memory "
                    "is short",
                ) from None
            trace = said.get("extraInfo", {}).get("py_callstack", "")
            raise RuntimeError(f"{said['message']}\n{trace}") from None


def _rank(work: Callable[..., Any], *arguments: Any) -> Any:
    """The main function of each process that `launched` starts."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    if own := [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", own[0])  # independent of what the host name resolves to
    try:
        return work(*arguments)
    except KeyboardInterrupt:  # torch would wait for a result that never comes
        sys.exit(128 + signal.SIGINT)


@contextmanager
def _passing_signals_on() -> Iterator[Interrupt]:
    """Passes SIGINT and SIGTERM on to the processes started meanwhile; a second one kills them."""
    before = set(multiprocessing.active_children())
    interrupt = Interrupt()

    def pass_on(number: int) -> None:
        children = set(multiprocessing.active_children()) - before
        for child in children:
            with contextlib.suppress(OSError, ValueError):
                os.kill(child.pid or 0, signal.SIGKILL if interrupt.signal else number)
        if interrupt.signal or not children:
            raise KeyboardInterrupt
        interrupt.signal = number

    try:
        with signals_to(pass_on):
            yield interrupt
    finally:
        for child in set(multiprocessing.active_children()) - before:
            child.kill()


class TrainingInterrupted(KeyboardInterrupt):
    """Training was ended by a signal, and has saved a checkpoint. run: the run so far. signal: number of the
    signal."""

    def __init__(self, run: Run, number: int) -> None:
        super().__init__()
        self.run: Run = run
        self.signal: int = number


class Interrupt:
    """A request to end training. signal: the number of the signal that made it; 0 if there was none."""

    signal = 0


@contextmanager
def interruptible(insisting: bool = True) -> Iterator[Interrupt]:
    """Handles Ctrl-C and SIGTERM: training ends after the current update, with a checkpoint.

    insisting: whether a second signal ends training at once, as a person expects. A launcher may send several
    signals, and kills the process when it must end.
    """
    interrupt = Interrupt()

    def ask(number: int) -> None:
        if interrupt.signal and insisting:
            raise KeyboardInterrupt
        interrupt.signal = number

    with signals_to(ask):
        yield interrupt


@contextmanager
def signals_to(handle: Callable[[int], None]) -> Iterator[None]:
    """Handles SIGINT and SIGTERM in the main thread; in other threads, handlers are not changed."""
    in_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if in_main else ()
    before = {number: signal.signal(number, lambda number, _: handle(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
