"""A service on a socket of this machine, for tests that speak to it byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import json
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import uvicorn

from rnnsearch.serve.commands import bound_socket
from rnnsearch.serve.server import SHUTDOWN_SECONDS, address, make_config


class Loopback:
    """A service on a socket of this machine, in a thread of this process."""

    def __init__(self, app: Any) -> None:
        self._bound = bound_socket("127.0.0.1", 0)
        self.address = address(self._bound)
        self.port = int(self.address.rpartition(":")[2])
        self.server = uvicorn.Server(make_config(app))
        self._skipped = 0.0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        while not self.server.started:
            time.sleep(0.01)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.time = lambda: time.monotonic() + self._skipped
        await self.server.serve(sockets=[self._bound])

    def skip(self, seconds: float) -> None:
        """Sets the clock of the service forward: what it would do within these seconds, it does now."""
        self._skipped += seconds
        self._loop.call_soon_threadsafe(lambda: None)  # else it sleeps on

    def connect(self, timeout: float = 300) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def answer(self, sent: bytes) -> bytes:
        """Returns what comes, until the connection ends, after these bytes."""
        with self.connect() as client:
            with contextlib.suppress(OSError):
                client.sendall(sent)
            return read_to_end(client)

    def post(
        self, path: str = "/v1/translate", **fields: Any
    ) -> tuple[int, Mapping[str, str], Any]:
        """Asks as `posted` does."""
        return posted(self.address + path, **fields)

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    def end(self) -> None:
        """Ends the service, which may take all of the time that it gives its requests."""
        self.server.should_exit = True
        self._thread.join(60 + SHUTDOWN_SECONDS)
        if self._thread.is_alive():
            faulthandler.dump_traceback()
            state = self.server.server_state
            raise AssertionError(f"has not ended: {state.connections}, {state.tasks}")


def read_to_end(client: socket.socket) -> bytes:
    """Returns what comes until the other side closes."""
    parts = []
    try:
        while part := client.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def posted(url: str, key: str = "", **fields: Any) -> tuple[int, Mapping[str, str], Any]:
    """Returns status, headers and JSON, or text, of the answer to these fields, or to GET without any."""
    body = json.dumps(fields).encode() if fields else None
    headers = {"Content-Type": "application/json"} | (
        {"Authorization": f"Bearer {key}"} if key else {}
    )
    try:
        answer = urlopen(Request(url, body, headers), timeout=300)
    except HTTPError as error:
        answer = error
    with answer:
        text = answer.read().decode()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, answer.headers, json.loads(text) if is_json else text
