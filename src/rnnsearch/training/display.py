"""What a person sees of a training: one live line on a terminal, a line now and then in a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Self, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from rnnsearch.drawing.characters import printable, shorten
from rnnsearch.system.progress import is_quiet
from rnnsearch.system.streams import LastingStream

PLAIN_INTERVAL = 30.0
"""Seconds between progress lines where there is no terminal."""
WIDE = 100
"""Columns of a terminal that has room for a bar beside the numbers."""
BAR = 20


class Display:
    """total: updates in all, 0 if unknown. Everything goes to `stream`, which is stderr unless a caller says otherwise.

    quiet: show nothing; what `--quiet` says if not given.
    """

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None, quiet: bool | None = None) -> None:
        quiet = is_quiet() if quiet is None else quiet
        lasting = cast(TextIO, LastingStream(stream or sys.stderr))  # training outlives whoever watches it
        self.console = Console(file=lasting, highlight=False, soft_wrap=True, quiet=quiet)
        self.total, self.started, self.last_line = total, time.monotonic(), time.monotonic()
        self.done_before = done
        bar = [BarColumn(bar_width=BAR, table_column=Column(no_wrap=True))] if self.console.width >= WIDE else []
        columns = (*bar, TextColumn("{task.description}", markup=False))
        self.live = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.live.add_task("training begins", total=total or None, completed=done)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def update(self, update: int, epochs: float, nll_per_word: float, tokens_per_second: float) -> None:
        rates = [f"epoch {epochs:.2f}", f"nll/word {nll_per_word:.3f}", f"{tokens_per_second:,.0f} tokens/s"]
        if self.console.is_terminal:
            self.live.update(self.task, completed=update, description=self._live_line(update, rates))
        elif time.monotonic() - self.last_line > PLAIN_INTERVAL:
            self.last_line = time.monotonic()
            left = [] if (seconds := self._seconds_left(update)) is None else [f"{seconds / 60:.0f} min left"]
            self.say("  ".join([f"update {update}{f' of {self.total}' if self.total else ''}", *rates, *left]))

    def say(self, text: str) -> None:
        self.console.print(text, markup=False)

    def samples(self, triples: Sequence[tuple[str, str, str]]) -> None:
        """Development sentences: (source, reference, translation). On a terminal each takes one line, and a long one loses its end."""
        for triple in triples:
            for name, text in zip(("source", "reference", "translation"), triple, strict=True):
                line = f"  {name:11}  {text}"
                self.say(shorten(printable(line), self.console.width) if self.console.is_terminal else line)

    def _live_line(self, update: int, rates: list[str]) -> str:
        """What fits beside the bar: how far training is and the time left always, of the rates the first that there is room for."""
        seconds = self._seconds_left(update)
        elapsed = timedelta(seconds=int(time.monotonic() - self.started))
        line = f"{update:,}/{self.total:,}" if self.total else f"{update:,} updates"
        line += f"  {elapsed} elapsed" if seconds is None else f"  {timedelta(seconds=int(seconds))} left"
        room = self.console.width - (BAR + 1 if len(self.live.columns) > 1 else 0)
        for rate in rates:
            if len(line) + 2 + len(rate) < room:
                line += f"  {rate}"
        return line

    def _seconds_left(self, update: int) -> float | None:
        """None while nobody can know."""
        if not self.total or update <= self.done_before:
            return None
        return (time.monotonic() - self.started) / (update - self.done_before) * (self.total - update)
