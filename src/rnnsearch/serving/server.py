"""One process of the service: models loaded, socket served, everything finished at the end."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import platform
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import uvicorn

from rnnsearch.errors import InputError, printed
from rnnsearch.serving.app import AppOptions, make_app
from rnnsearch.serving.connection import Connection
from rnnsearch.serving.guard import App
from rnnsearch.serving.languages import check_identifier
from rnnsearch.serving.limits import IDLE_SECONDS, SHUTDOWN_SECONDS, Limits
from rnnsearch.serving.metrics import Metrics
from rnnsearch.serving.paragraphs import check_splitter
from rnnsearch.serving.served_models import ModelPlace, Models, load_models
from rnnsearch.serving.service import Service
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import is_quiet
from rnnsearch.system.streams import LastingStream

SPARE_FILES = 64
"""Descriptors that connections leave to models, logs and libraries."""
BACKLOG = 2_048
"""Connections that the system keeps until they are accepted."""
M_ARENA_MAX = -8
SWITCH_SECONDS = 0.0005
"""After which a thread lets another one run; Python's own is 0.005."""


@dataclass(frozen=True)
class ProcessOptions:
    """What a process of the service is told; it can be pickled. threads: CPU threads of the models, 0 = all cores over `workers`."""

    places: tuple[ModelPlace, ...]
    limits: Limits
    app: AppOptions
    device: str = "cpu"
    precision: str | None = None
    threads: int = 0
    workers: int = 1


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises InputError if that cannot be."""
    bound: socket.socket | None = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        if bound is not None:
            bound.close()
        what = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen at {host} port {port}: {what}", remedy="name another --host or --port") from None
    return bound


def address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def make_service(options: ProcessOptions) -> Service:
    """Loads the models. Raises InputError for what cannot be served."""
    check_splitter()
    check_identifier()
    if platform.libc_ver()[0] == "glibc":
        # The thread of the models shares the arena of the main thread: an arena of its own would keep what it frees as well, and
        # would give large tensors back to the system after each step.
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    set_up_cpu(options.threads, options.workers)
    service = Service(Models(load_models(options.places, device=options.device, precision=options.precision)), options.limits, Metrics())
    service.warm_up()
    return service


def serve(bound: socket.socket, options: ProcessOptions, ready: Callable[[], None] = lambda: None) -> None:
    """Answers until SIGTERM or SIGINT; what is running then is finished. ready: called once the models are loaded."""
    set_up_log()
    service = make_service(options)
    Connection.most = allowed_connections()
    server = make_server(make_app(service, options.app))
    # While requests are read and written, the thread of the models waits so long after each of its products for its turn.
    sys.setswitchinterval(SWITCH_SECONDS)
    ready()
    asyncio.run(server.serve(sockets=[bound]))


def make_server(app: App) -> Server:
    """uvicorn with our connections, and nothing that the service does not use."""
    config = uvicorn.Config(
        cast(Any, app),
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return Server(config)


class Server(uvicorn.Server):
    """Ends at the first signal when all is finished, and at the second at once; it does not raise them again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is threading.main_thread():
            for each in (signal.SIGINT, signal.SIGTERM):
                signal.signal(each, self._told_to_end)
        yield

    def _told_to_end(self, number: int, frame: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


def set_up_log() -> None:
    """One line on stderr for what happens; a closed or full stderr ends nothing."""
    handler = logging.StreamHandler(cast(Any, LastingStream(sys.stderr)))
    handler.setFormatter(_OneLine("%(asctime)s %(process)d %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    for name, level in (("rnnsearch.serving", logging.INFO), ("uvicorn", logging.ERROR), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR if is_quiet() else level)


class _OneLine(logging.Formatter):
    """Nothing that a client sends can begin a line of its own, or tell the terminal anything. A traceback of ours keeps its lines."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(printed(line) for line in super().format(record).split("\n"))


def allowed_connections() -> int:
    """As many as the system allows this process to have open, some descriptors left over; asks for all that it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(16, most - SPARE_FILES - len(os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ()))
