"""The processes of the service: they load the models, serve a socket, and finish running requests
at the end.

Several processes are uvicorn's workers on one socket: a worker that dies is replaced, and only its
requests are lost.
"""

from __future__ import annotations

import logging
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import h11
import h11._readers
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.supervisors import Multiprocess

from rnnsearch.errors import InputError
from rnnsearch.serve.app import LOG, SHARED, make_app
from rnnsearch.serve.service import Options, Service, load_models
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import LastingStream, is_quiet
from rnnsearch.system.workers import end_with_parent

HEAD_SECONDS = 20.0
"""Seconds in which a request's head must arrive."""
SHUTDOWN_SECONDS = 30
"""Seconds in which running requests may finish when the service is told to end."""
RETRY_SECONDS = 10
"""Seconds after which a worker that could not begin is started again."""

_EXTENSION = b";.*", rb";[^\r\n]*"  # h11 lets a bare CR through
h11._readers.chunk_header_re = re.compile(h11._readers.chunk_header_re.pattern.replace(*_EXTENSION))


class Connection(H11Protocol):
    """uvicorn's connection, with a time limit for the head of a request. A body that is not valid
    HTTP, or has a chunk of more than `body` bytes, ends its request."""

    body = Options().body

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._check_head, None)

    def _check_head(self, before: RequestResponseCycle | None) -> None:
        """Closes the connection if no request has come since the last time, and none is at work."""
        if self.cycle is before and (before is None or before.response_complete):
            self.transport.abort()
        elif not self.transport.is_closing():
            self.loop.call_later(HEAD_SECONDS, self._check_head, self.cycle)

    def handle_events(self) -> None:
        super().handle_events()
        if getattr(self.conn._reader, "_bytes_in_chunk", 0) > self.body:
            self.send_400_response(f"A chunk of the body has more than {self.body} bytes.")

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None:  # its application must not answer, too
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # an answer is being sent
            self.transport.close()


def address(bound: socket.socket) -> str:
    """Returns the URL at which the socket listens."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(bound: socket.socket, options: Options, say: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT; running requests are then finished.

    The models are first loaded in this process, so that an error is one line. Workers load copies
    of their files, whatever becomes of the runs. say: receives messages. Raises InputError if a
    model cannot be served.
    """
    set_up_log()
    with tempfile.TemporaryDirectory(prefix="rnnsearch-serve-") as folder:
        if options.workers > 1:
            os.environ[SHARED] = folder
            copies = [place.copied(Path(folder, str(n))) for n, place in enumerate(options.places)]
            options = replace(options, places=copies)
        service = make_service(options)
        listed = ", ".join(model.described for model in service.models)
        if options.workers == 1:
            server = uvicorn.Server(make_config(make_app(service)))
            # uvicorn handles signals once it has started, and raises them again at the end
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: None if server.started else sys.exit())
            run: Callable[[], None] = partial(server.run, [bound])
        else:
            del service
            config = make_config(
                partial(worker_app, options), factory=True, workers=options.workers
            )
            run = Multiprocess(config, [bound]).run  # it handles signals from now on
        say(f"serving {listed} at {address(bound)} (Ctrl-C to end)")
        run()


def worker_app(options: Options) -> ASGIApp:
    """Makes the application in a worker of uvicorn. If this fails, the other workers go on."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    set_up_log()
    try:
        return make_app(make_service(options))
    except InputError as error:
        LOG.error("%s", error)
        time.sleep(RETRY_SECONDS)
        sys.exit(1)


def make_service(options: Options) -> Service:
    """Loads the models, and sets up this process for them. Raises InputError if a model cannot be
    served."""
    set_up_cpu(options.threads, options.workers)
    Connection.body = options.body
    return Service(load_models(options), options)


def make_config(app: Any, **options: Any) -> uvicorn.Config:
    """Returns uvicorn's settings: our limits, and without features that the service does not
    use."""
    return uvicorn.Config(
        app,
        http=Connection,
        h11_max_incomplete_event_size=128 * 1024,  # of a head; a text may be in its query
        limit_concurrency=max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 128),
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=60,
        **options,
    )


def set_up_log() -> None:
    """Sets up logging to stderr, one line per event. A closed or full stderr does not end the
    service."""
    handler = logging.StreamHandler(cast(Any, LastingStream(sys.stderr)))
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(process)d %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    )
    levels = {"rnnsearch.serve": logging.INFO, "uvicorn": logging.ERROR, "asyncio": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR if is_quiet() else level)
