"""Displays the progress of training: one live line on a terminal, or occasional lines in a file."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Self, TextIO, cast

from rich.console import Console
from rich.progress import Progress, TextColumn

from rnnsearch.figure3 import printable, shorten
from rnnsearch.system.progress import LastingStream, is_quiet

PLAIN_INTERVAL = 30.0
"""Seconds between progress lines where there is no terminal."""
ESTIMATE_SECONDS = 600.0
"""The time left is estimated from the speed in the last so many seconds, because other programs
change it."""


class Display:
    """The progress of a training, on stderr or another `stream`.

    quiet: show nothing; the default follows `--quiet`.
    """

    def __init__(self, stream: TextIO | None = None, quiet: bool | None = None) -> None:
        quiet = is_quiet() if quiet is None else quiet
        lasting = LastingStream(stream or sys.stderr)  # training continues if the stream is closed
        self.console = Console(
            file=cast(TextIO, lasting), highlight=False, soft_wrap=True, quiet=quiet
        )
        self.total, self.ends, self.last_line = 0, math.inf, time.monotonic()
        self.live = Progress(
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
            speed_estimate_period=ESTIMATE_SECONDS,
            get_time=lambda: time.monotonic(),
        )
        self.task = self.live.add_task("training begins", total=None)

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def begin(self, total: int, done: int, seconds: float = math.inf) -> None:
        """Sets the total number of updates (0 if unknown), the number already done, and in how many
        seconds training ends at the latest."""
        self.total, self.ends = total, time.monotonic() + seconds
        self.live.reset(self.task, total=total or None, completed=done)

    def update(
        self, update: int, epochs: float, nll_per_word: float, tokens_per_second: float
    ) -> None:
        """Shows the progress; without a terminal, only every PLAIN_INTERVAL seconds."""
        self.live.update(self.task, completed=update)
        left = self.live.tasks[0].time_remaining  # at the recent speed; None if unknown
        limit = max(0.0, self.ends - time.monotonic())
        if limit < math.inf:
            left = limit if left is None else min(left, limit)
        line = f"update {update:,}"
        line += f" of {self.total:,}" if self.total else ""
        line += "" if left is None else f"  {timedelta(seconds=int(left))} left"
        line += f"  epoch {epochs:.2f}  nll/word {nll_per_word:.3f}"
        line += f"  {tokens_per_second:,.0f} tokens/s"
        if self.console.is_terminal:
            self.live.update(self.task, description=shorten(line, self.console.width))
        elif time.monotonic() - self.last_line > PLAIN_INTERVAL:
            self.last_line = time.monotonic()
            self.say(line)

    def say(self, text: str) -> None:
        """Writes a line."""
        self.console.print(text, markup=False)

    def samples(self, triples: Sequence[tuple[str, str, str]]) -> None:
        """Shows development sentences: (source, reference, translation). On a terminal each takes
        one line; long ones are truncated."""
        for triple in triples:
            for name, text in zip(("source", "reference", "translation"), triple, strict=True):
                line = f"  {name:11}  {text}"
                if self.console.is_terminal:
                    line = shorten(printable(line), self.console.width)
                self.say(line)
