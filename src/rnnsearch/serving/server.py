"""The processes of the service: they load the models, serve a socket, and finish running requests at the end.

Several processes are uvicorn's workers on one socket: a worker that dies is replaced, and only its requests
are lost.
"""

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
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from typing import Any, cast

import h11
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from rnnsearch.errors import InputError, escaped
from rnnsearch.serving.app import Options, make_app
from rnnsearch.serving.guard import LOG, Guard
from rnnsearch.serving.limits import (
    HEAD_BYTES,
    IDLE_SECONDS,
    REQUEST_SECONDS,
    SHUTDOWN_SECONDS,
    WRITE_SECONDS,
)
from rnnsearch.serving.metrics import SHARED, Metrics
from rnnsearch.serving.served_models import ServedModels, load_models
from rnnsearch.serving.service import Service
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import LastingStream, is_quiet
from rnnsearch.system.workers import end_with_parent

HEALTH_SECONDS = 60
"""Seconds after which a worker that does not answer its supervisor is replaced."""
SPARE_FILES = 128
"""File descriptors reserved for models, logs and libraries."""
BACKLOG = 2_048
"""Connections that the system queues until they are accepted."""
M_ARENA_MAX = -8
SWITCH_SECONDS = 0.0005
"""Seconds after which a thread must let another one run; Python's default is 0.005."""


class Connection(H11Protocol):
    """A connection that is closed if the head of its request does not arrive in REQUEST_SECONDS.

    uvicorn would wait for ever, and there may be no proxy in front of it. uvicorn, h11 and the system have
    all other limits.
    """

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head(True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for_head(False)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        self._wait_for_head(self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0]))

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # an answer is being sent
            self.transport.close()

    def _wait_for_head(self, wait: bool) -> None:
        if wait and self._clock is None:
            self._clock = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
        elif self._clock is not None and not wait:
            self._clock.cancel()
            self._clock = None


def bound_socket(host: str, port: int) -> socket.socket:
    """Returns a socket that listens at this address. Raises InputError if that is impossible.

    The system closes a connection whose client reads nothing of its answer for WRITE_SECONDS.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # `::` is IPv4, too
        bound = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except (OSError, OverflowError, UnicodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        remedy = "name another --host or --port"
        raise InputError(f"cannot listen at {host} port {port}: {what}", remedy=remedy) from None
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # of Linux
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * WRITE_SECONDS))
    return bound


def address(bound: socket.socket) -> str:
    """Returns the URL at which the socket listens."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def allowed_hosts(bound: socket.socket, host: str, more: Sequence[str]) -> frozenset[str]:
    """Returns the accepted names in the Host header; empty for any.

    A loopback socket accepts only local names and those in `more`, against DNS rebinding. For other sockets
    `more` alone decides.
    """
    if not (more or ip_address(bound.getsockname()[0]).is_loopback):
        return frozenset()
    names = {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host, *more}
    return frozenset(name.lower() for name in names)


def serve(bound: socket.socket, options: Options, say: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT; running requests are then finished.

    The models are first loaded in this process, so that an error is one line. say: receives messages. Raises
    InputError if a model cannot be served, or a worker cannot begin.
    """
    set_up_log(logging.INFO if options.workers > 1 else logging.ERROR)
    options = replace(options, places=tuple(place.with_checksum() for place in options.places))
    service = make_service(options)
    listed = ", ".join(model.described for model in service.models)
    runs = ", ".join("+".join(place.runs) for place in options.places)
    say(f"loaded {runs}, and the model that identifies languages")
    say(f"serving {listed} at {address(bound)} (Ctrl-C to end)")
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn handles them, and raises them again at its end
        signal.signal(number, lambda *_: None)
    if options.workers == 1:
        make_server(make_app(service, options)).run([bound])
        return
    del service
    with tempfile.TemporaryDirectory(prefix="rnnsearch-metrics-") as folder:
        os.environ[SHARED] = folder
        config = make_config(partial(worker_app, options), factory=True, workers=options.workers)
        supervisor = Multiprocess(config, [bound])
        supervisor.run()
        os.environ.pop(SHARED)
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise InputError("the service has ended: a worker could not begin", remedy="its log says why")


def worker_app(options: Options) -> Guard:
    """Makes the application in a worker of uvicorn. If this fails, the whole service ends: the other workers
    may have other models."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    set_up_log()
    try:
        return make_app(make_service(options), options)
    except InputError as error:
        LOG.error("%s", error)
        sys.exit(STARTUP_FAILURE)


def make_service(options: Options) -> Service:
    """Loads the models, and sets up this process for them. Raises InputError if a model cannot be served."""
    if platform.libc_ver()[0] == "glibc":
        # The models' thread shares the main thread's arena. An arena of its own would keep its freed memory,
        # too, and return large tensors to the system after each step.
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    # While requests are read and written, the models' thread waits after each product, at most for this time.
    sys.setswitchinterval(SWITCH_SECONDS)
    set_up_cpu(options.threads, options.workers)
    models = ServedModels(load_models(options.places, device=options.device, precision=options.precision))
    service = Service(models, options.limits, Metrics())
    service.warm_up()
    return service


def make_config(app: Any, **options: Any) -> uvicorn.Config:
    """Returns uvicorn's settings: our limits, and without features that the service does not use."""
    return uvicorn.Config(
        app,
        http=Connection,
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=allowed_connections(),
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=HEALTH_SECONDS,
        **options,
    )


def make_server(app: Guard) -> uvicorn.Server:
    """Returns uvicorn's server for this process."""
    return uvicorn.Server(make_config(app))


def set_up_log(of_uvicorn: int = logging.ERROR) -> None:
    """Sets up logging to stderr, one line per event. A closed or full stderr does not end the service."""
    handler = logging.StreamHandler(cast(Any, LastingStream(sys.stderr)))
    handler.setFormatter(_OneLine("%(asctime)s %(process)d %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    levels = {"rnnsearch.serving": logging.INFO, "uvicorn": of_uvicorn, "asyncio": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR if is_quiet() else level)


class _OneLine(logging.Formatter):
    """Escapes control characters, so that a client can neither begin a line nor control the terminal. The
    service's own tracebacks keep their lines."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(escaped(line) for line in super().format(record).split("\n"))


def allowed_connections() -> int:
    """Raises this process's limit of open files to the largest possible. Returns the number of connections
    that it allows besides SPARE_FILES."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(16, most - SPARE_FILES)
