"""What a person sees while a study is at work: what each process says last, and how much is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rnnsearch.studies.processes import Task, last_line
from rnnsearch.studies.run_states import RunState, time_left
from rnnsearch.system.progress import is_quiet

LOOK = 1.0
"""Seconds between two looks at the logs on a terminal."""
PLAIN_LOOK = 60.0
"""And where there is no terminal."""


class Watch:
    """runs: that are to be done. states: where all runs stand. say: gets lines that stay."""

    def __init__(self, runs: int, states: Callable[[], list[RunState]], side_by_side: int, say: Callable[[str], None]) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        is_live = self.console.is_terminal and not is_quiet()
        self.live = Live(console=self.console, transient=True, auto_refresh=False) if is_live else None
        self.runs, self.states, self.side_by_side, self._say = runs, states, side_by_side, say
        self.done, self.next_look = 0, 0.0
        self.shown: dict[str, str] = {}

    def __enter__(self) -> Self:
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def say(self, text: str) -> None:
        if self.live:
            self.console.print(text, markup=False)
        else:
            self._say(text)

    def ended(self, name: str, error: str) -> None:
        """Of a run: a line that stays."""
        self.done += 1
        left = "" if self.done == self.runs else time_left(self.states(), self.side_by_side)
        self.say(f"[{self.done} of {self.runs}] {name}: {f'failed: {error}' if error else 'done'}{f'; {left}' if left else ''}")

    def show(self, running: Sequence[Task]) -> None:
        """The last line of each process's log, now and then."""
        if time.monotonic() < self.next_look:
            return
        self.next_look = time.monotonic() + (LOOK if self.live else PLAIN_LOOK)
        lines = {task.name: f"{task.name}: {last_line(task.log) or 'begins'}" for task in running}
        if self.live:
            self.live.update(Text("\n".join(lines.values()), no_wrap=True, overflow="ellipsis"), refresh=True)
            return
        for name, line in lines.items():
            if self.shown.get(name) != line:
                self.shown[name] = line
                self.say(line)
