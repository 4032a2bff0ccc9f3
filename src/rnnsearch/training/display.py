"""What a person sees of a training: one live line on a terminal, a line now and then in a file."""

from __future__ import annotations

import sys
import time
from typing import Self, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rnnsearch.system.streams import LastingStream

PLAIN_INTERVAL = 30.0
"""Seconds between progress lines where there is no terminal."""


class Display:
    """total: updates in all, 0 if unknown. Everything goes to `stream`, which is stderr unless a caller says otherwise."""

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None, quiet: bool = False) -> None:
        lasting = cast(TextIO, LastingStream(stream or sys.stderr))  # training outlives whoever watches it
        self.console = Console(file=lasting, highlight=False, soft_wrap=True, quiet=quiet)
        self.total, self.started, self.last_line = total, time.monotonic(), time.monotonic()
        self.done_before = done
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.completed:.0f}/{task.total}" if total else "{task.completed:.0f} updates"),
            TextColumn("{task.fields[rates]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.live = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.live.add_task("training", total=total or None, completed=done, rates="")

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def update(self, update: int, epochs: float, nll_per_word: float, tokens_per_second: float) -> None:
        rates = f"epoch {epochs:.2f}  nll/word {nll_per_word:.3f}  {tokens_per_second:,.0f} tokens/s"
        self.live.update(self.task, completed=update, rates=rates)
        if not self.console.is_terminal and time.monotonic() - self.last_line > PLAIN_INTERVAL:
            self.last_line = time.monotonic()
            self.say(f"update {update}{f' of {self.total}' if self.total else ''}  {rates}{self._time_left(update)}")

    def say(self, text: str) -> None:
        self.console.print(text, markup=False)

    def _time_left(self, update: int) -> str:
        if not self.total or update <= self.done_before:
            return ""
        seconds = (time.monotonic() - self.started) / (update - self.done_before) * (self.total - update)
        return f"  {seconds / 60:.0f} min left"
