"""A progress bar on stderr for work that counts what it has done."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import Progress


class ProgressBar:
    """Called with (what is being done, how many are done, of how many or None); shows nothing where there is no terminal."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self.bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self.tasks: dict[str, object] = {}

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, text: str, done: int, total: int | None) -> None:
        if text not in self.tasks:
            self.tasks[text] = self.bar.add_task(text, total=total)
        self.bar.update(self.tasks[text], completed=done, total=total)  # type: ignore[arg-type]
