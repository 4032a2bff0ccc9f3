"""Workers as Ray actors, one for each core or GPU. Ray restarts an actor that dies, and gives it its shard
again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

from rnnsearch.cluster.shards import Shard
from rnnsearch.cluster.tasks import Task
from rnnsearch.cluster.worker import AnswerFolder, Record, StartError, Worker
from rnnsearch.errors import InputError
from rnnsearch.system.extras import package_version
from rnnsearch.system.progress import is_quiet
from rnnsearch.system.workers import core_count

LOCAL = "local"
"""The address of a Ray that is started on this machine for the command, and ended with it."""
TRIES = 4
"""Maximum number of attempts at a shard whose worker dies."""
OBJECT_STORE = 100 << 20
"""Bytes of shared memory of a local Ray. Shards and records have a few hundred bytes, so Ray's minimum is
enough."""
ASKED_EVERY = 60.0
"""Seconds between two messages while workers wait for free cores."""


class Outcome(NamedTuple):
    """A shard with its record, or with the error by which it failed."""

    shard: Shard
    record: Record | None
    fault: Exception | None = None


class WorkerOptions(NamedTuple):
    """The workers that a user asks for. number: how many; None for one per core or GPU. threads: cores of
    each. gpu: whether each has its own GPU."""

    number: int | None
    threads: int
    gpu: bool


def import_ray() -> Any:
    """Returns the module ray. Raises InputError if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to Ray's authors
    # Without this every worker without a GPU warns of a future change.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return import_module("ray")
    except ImportError:
        raise InputError("--ray needs the package ray", remedy="pip install 'rnnsearch[ray]'") from None


@contextmanager
def connected(address: str, workers: WorkerOptions) -> Iterator[Any]:
    """Yields the module ray, connected to the cluster at the address or to a local one. Disconnects or ends
    it in any case. Raises InputError if it cannot be reached or started."""
    if address.startswith("ray://"):
        remedy = "give the command on a machine of the cluster, with --ray auto"
        raise InputError("--ray does not take ray:// addresses", remedy=remedy)
    ray = import_ray()
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    failed, remedy = (
        f"no Ray can be reached at {address}",
        "start one with `ray start --head`, or leave the address out to use this machine",
    )
    if address == LOCAL:
        cores = max(core_count(), (workers.number or 1) * workers.threads)
        options |= {"num_cpus": cores, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
        failed = "Ray cannot start here"
        remedy = "leave --ray out, or look at the logs in /tmp/ray/session_latest/logs"
    with ExitStack() as stack:
        # Ray reports on its processes to stdout, which is for results.
        nowhere = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(redirect_stdout(nowhere if is_quiet() else sys.stderr))
        stack.callback(ray.shutdown)
        try:
            ray.init(**options)
        except (Exception, SystemExit) as error:  # bare Exceptions, and an exit if one of its processes fails
            raise InputError(f"{failed}: {_first_line(error)}", remedy=remedy) from None
        yield ray


def answered(
    ray: Any,
    task: Task,
    folder: AnswerFolder,
    shards: Sequence[Shard],
    workers: WorkerOptions,
    say: Callable[[str], None],
) -> Iterator[Outcome]:
    """Yields the outcome of every shard, in order of completion. say: receives a message while workers wait
    for free cores.

    If a worker dies, its shard is tried again, up to TRIES times in all. Raises InputError if the cluster has
    no room for a worker, or one of its machines cannot load the models.
    """
    needed = {"num_cpus": workers.threads, "num_gpus": int(workers.gpu)}
    environment = {"env_vars": {"OMP_NUM_THREADS": str(workers.threads)}}
    kind = ray.remote(max_restarts=-1, max_task_retries=TRIES - 1, runtime_env=environment, **needed)(Worker)
    waiting, begun = iter(shards), False
    count = min(len(shards), workers.number or _capacity(ray, workers))
    running = {}
    for shard in islice(waiting, count):
        actor = kind.remote(task, folder, package_version())
        running[actor.answer.remote(shard)] = actor, shard
    while running:
        done, _ = ray.wait(list(running), timeout=ASKED_EVERY)
        if not done and not begun:
            say("still waiting for the first shard: are there free cores or GPUs in the cluster?")
        for reference in done:
            begun = True
            actor, shard = running.pop(reference)
            yield _outcome(ray, reference, shard)
            following = next(waiting, None)
            if following:
                running[actor.answer.remote(following)] = actor, following
            else:
                ray.kill(actor)  # a restarted actor may be waiting for this one's core


def _outcome(ray: Any, reference: Any, shard: Shard) -> Outcome:
    """Returns a shard's outcome. Raises InputError if its worker could not start."""
    try:
        return Outcome(shard, ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        if isinstance(cause, StartError):
            raise cause from None
        return Outcome(shard, None, cause)
    except ray.exceptions.RayError as error:  # it died TRIES times
        if getattr(error, "actor_init_failed", False):
            what = f"a worker could not start: {_first_line(error)}"
            raise InputError(what, remedy="install rnnsearch on all machines") from None
        what = f"its worker died {TRIES} times: {_first_line(error)}"
        remedy = "if memory ran out, use fewer workers or a smaller --batch-size"
        return Outcome(shard, None, InputError(what, file=shard.label, remedy=remedy))


def _capacity(ray: Any, workers: WorkerOptions) -> int:
    """Returns the number of workers for which the cluster has room now; a user may ask for more, because some
    clusters grow. Raises InputError if it is 0."""
    there = ray.cluster_resources()
    if workers.gpu:
        room, what, remedy = int(there.get("GPU", 0)), "GPU", "use --device cpu"
    else:
        room, what = int(there.get("CPU", 0)) // workers.threads, f"{workers.threads} cores for a worker"
        remedy = "use a smaller --threads"
    if not room:
        raise InputError(f"the cluster has no {what}", remedy=remedy)
    return room


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).split("\n") if line.strip()), type(error).__name__)[:300]
