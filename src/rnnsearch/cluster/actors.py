"""Workers as Ray's actors: one for each core or GPU. An actor that dies is started anew by Ray, and its shard is given to it again."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from typing import Any, NamedTuple

from rnnsearch.cluster.answer_folder import AnswerFolder, Record
from rnnsearch.cluster.shards import Shard
from rnnsearch.cluster.tasks import Task
from rnnsearch.cluster.worker import Worker
from rnnsearch.errors import InputError
from rnnsearch.system.progress import is_quiet
from rnnsearch.system.version import package_version
from rnnsearch.system.workers import core_count

LOCAL = "local"
"""The address that stands for this machine alone: a Ray is started for the command, and ended with it."""
TRIES = 4
"""How often a shard is begun at most, if its worker dies each time."""
OBJECT_STORE = 100 << 20
"""Bytes of shared memory of a Ray of this machine: shards and records are a few hundred bytes, so Ray's minimum will do."""
ASKED_EVERY = 60.0
"""Seconds."""


class Outcome(NamedTuple):
    """Of a shard: either its record, or why it failed."""

    shard: Shard
    record: Record | None
    fault: Exception | None = None


class Workers(NamedTuple):
    """number: of workers; None = as many as there are cores or GPUs. threads: cores of each. gpu: whether each has a GPU to itself."""

    number: int | None
    threads: int
    gpu: bool


def imported() -> Any:
    """Ray. Raises InputError if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to Ray's authors
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else every worker without a GPU warns of a change to come
    try:
        return import_module("ray")
    except ImportError:
        raise InputError("--ray needs the package ray", remedy="pip install 'rnnsearch[ray]'") from None


@contextmanager
def connected(address: str, workers: Workers) -> Iterator[Any]:
    """Ray, connected to the cluster at the address, or started on this machine; disconnected or ended afterwards, whatever happens.

    Raises InputError if there is none.
    """
    if address.startswith("ray://"):
        raise InputError("--ray does not take ray:// addresses", remedy="give the command on a machine of the cluster, with --ray auto")
    ray = imported()
    with ExitStack() as stack:
        # Ray prints what becomes of its processes to stdout, which is for results.
        stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w")) if is_quiet() else sys.stderr))
        stack.callback(ray.shutdown)
        _connect(ray, address, workers)
        yield ray


def _connect(ray: Any, address: str, workers: Workers) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == LOCAL:
            cores = max(core_count(), (workers.number or 1) * workers.threads)
            ray.init(address=LOCAL, num_cpus=cores, object_store_memory=OBJECT_STORE, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError, AssertionError, ray.exceptions.RayError) as error:
        what = f"no Ray can be reached at {address}: {_first_line(error)}"
        raise InputError(what, remedy="start one with `ray start --head`, or leave the address out to use this machine") from None


def answered(
    ray: Any,
    task: Task,
    folder: AnswerFolder,
    shards: Sequence[Shard],
    workers: Workers,
    say: Callable[[str], None],
    started: Callable[[int], None] = lambda number: None,
) -> Iterator[Outcome]:
    """The outcome of every shard, as they come. say: told while workers wait for free cores. started: told how many have loaded the models.

    A shard is lost by nothing but a fault of its own: it is begun again where its worker died, up to TRIES times.
    Raises InputError if the cluster has no room for a worker, or a machine of it cannot load the models.
    """
    waiting = deque(shards)
    needed = {"num_cpus": workers.threads, "num_gpus": 1 if workers.gpu else 0}
    environment = {"env_vars": {"OMP_NUM_THREADS": str(workers.threads)}}
    kind = ray.remote(max_restarts=-1, max_task_retries=TRIES - 1, runtime_env=environment, **needed)(Worker)
    count = min(len(shards), _room(ray, workers))
    actors = [kind.remote(task, folder, package_version()) for _ in range(count)]
    running: dict[Any, tuple[Any, Shard | None]] = {actor.ready.remote(): (actor, None) for actor in actors}
    ready = 0
    while waiting or any(shard for _, shard in running.values()):  # a worker that found no core by then is not waited for
        done, _ = ray.wait(list(running), timeout=ASKED_EVERY)
        if not done and all(shard is None for _, shard in running.values()):
            say("still waiting for workers to start: are there free cores or GPUs in the cluster?")
        for reference in done:
            actor, shard = running.pop(reference)
            outcome = _outcome(ray, reference, shard)
            if not outcome:
                started(ready := ready + 1)
            following = waiting.popleft() if waiting else None
            if following:
                running[actor.answer.remote(following)] = actor, following
            if outcome:
                yield outcome
            if not following:
                ray.kill(actor)  # its core may be what one that was started anew waits for


def _outcome(ray: Any, reference: Any, shard: Shard | None) -> Outcome | None:
    """None of a worker that is ready for its first shard. Raises InputError if it never will be."""
    try:
        record = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        if shard is None:
            raise cause if isinstance(cause, InputError) else InputError(f"a worker could not start: {_first_line(cause)}") from None
        return Outcome(shard, None, cause)
    except ray.exceptions.RayError as error:  # it died, again and again
        if shard is None:
            raise InputError(f"a worker could not start: {_first_line(error)}", remedy="install rnnsearch on all machines") from None
        what = f"its worker died {TRIES} times: {_first_line(error)}"
        fault = InputError(what, file=shard.place, remedy="if memory ran out, use fewer workers or a smaller --batch-size")
        return Outcome(shard, None, fault)
    return Outcome(shard, record) if shard else None


def _room(ray: Any, workers: Workers) -> int:
    """How many workers to start. A number that was asked for may be more than there is room for now: some clusters grow."""
    if workers.number:
        return workers.number
    there = ray.cluster_resources()
    room = int(there.get("GPU", 0)) if workers.gpu else int(there.get("CPU", 0)) // workers.threads
    if not room:
        what = "the cluster has no GPU" if workers.gpu else f"the cluster has no {workers.threads} cores for a worker"
        raise InputError(what, remedy="use --device cpu" if workers.gpu else "use a smaller --threads")
    return room


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).split("\n") if line.strip()), type(error).__name__)[:300]
