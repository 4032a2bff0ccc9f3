"""Ctrl-C while training: the first ends it after the update at hand, with a checkpoint; the second ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """asked: whether somebody wants training to end."""

    asked = False


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Catches SIGINT and SIGTERM in the main thread; elsewhere the caller's own arrangements stay."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if interrupt.asked:
            raise KeyboardInterrupt
        interrupt.asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
