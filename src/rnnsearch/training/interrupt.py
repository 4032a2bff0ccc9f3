"""Ctrl-C while training: the first ends it after the update at hand, with a checkpoint; the second ends it at
once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rnnsearch.run import Run


class TrainingInterrupted(KeyboardInterrupt):
    """Training was ended by a signal, and has saved what it needs to go on. run: as far as it is trained;
    signal: the number."""

    def __init__(self, run: Run, number: int) -> None:
        super().__init__()
        self.run: Run = run
        self.signal: int = number


class Interrupt:
    """signal: the number of the signal that asked training to end; 0 if there was none."""

    signal = 0


@contextmanager
def interruptible(insisting: bool = True) -> Iterator[Interrupt]:
    """Catches SIGINT and SIGTERM in the main thread; elsewhere the caller's own arrangements stay.

    insisting: whether a second signal ends training at once, because a person cannot wait. A launcher sends
    several signals, and kills the process if it cannot wait.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if interrupt.signal and insisting:
            raise KeyboardInterrupt
        interrupt.signal = number

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
