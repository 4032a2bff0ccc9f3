"""Event files for TensorBoard, written by the thread that has something to write: its errors are then those of the caller."""

from __future__ import annotations

import io
import itertools
import os
import socket
import time
from pathlib import Path
from typing import Any

FLUSH_EVERY = 30.0
"""Seconds."""

_numbers = itertools.count()


class Curves:
    """An event file in `folder`. purge_from: TensorBoard then hides what earlier files say of this update and later ones.

    torch's SummaryWriter gives the same events to a thread of its own, which on a full disk ends with a traceback and is not heard of.
    Raises OSError if the file cannot be written; here and in every method.
    """

    def __init__(self, folder: Path, purge_from: int | None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event: Any = Event
        self._waiting = io.BytesIO()
        self._records = RecordWriter(self._waiting)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        self._file = (folder / name).open("ab", buffering=0)
        self._flushed = time.monotonic()
        self._add(file_version="brain.Event:2")
        if purge_from is not None:
            self._add(step=purge_from, session_log=SessionLog(status=SessionLog.START))
        self.flush()

    def scalars(self, values: dict[str, float], step: int) -> None:
        from torch.utils.tensorboard.summary import scalar

        for name, value in values.items():
            self._add(step=step, summary=scalar(name, value))
        if time.monotonic() - self._flushed > FLUSH_EVERY:
            self.flush()

    def texts(self, texts: dict[str, str], step: int) -> None:
        from torch.utils.tensorboard.summary import text

        for name, content in texts.items():
            self._add(step=step, summary=text(name, content))
        self.flush()

    def flush(self) -> None:
        content = memoryview(self._waiting.getvalue())
        while content:
            content = content[self._file.write(content) :]
        self._waiting.seek(0)
        self._waiting.truncate()
        self._flushed = time.monotonic()

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._file.close()

    def _add(self, **content: Any) -> None:
        self._records.write(self._event(wall_time=time.time(), **content).SerializeToString())
