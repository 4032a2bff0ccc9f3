"""Which training pairs are dropped, and the tally of why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rnnsearch.config import DataSettings

Words = Sequence[str]
Filter = Callable[[Words, Words, DataSettings], bool]
"""(source words, target words, settings) → whether the pair is dropped. Its name, with blanks for underscores, is the reason given."""

_EXAMPLES = 3
_SHOWN = 120  # characters of an example


def empty_side(source: Words, target: Words, settings: DataSettings) -> bool:
    """A sentence without words has no translation to learn."""
    return not source or not target


def too_long(source: Words, target: Words, settings: DataSettings) -> bool:
    """Longer than `max_words` on either side: mostly lines that were never cut into sentences."""
    return max(len(source), len(target)) > settings.max_words


FILTERS: list[Filter] = [empty_side, too_long]
"""In the order in which they are asked; the first that answers yes is the reason."""


@dataclass(frozen=True, slots=True)
class Example:
    """A dropped pair: its line (1-based) and the beginnings of its raw sides."""

    line: int
    source: str
    target: str


@dataclass(slots=True)
class Dropped:
    """How many pairs one filter dropped, and the first few of them."""

    reason: str
    pairs: int = 0
    examples: list[Example] = field(default_factory=list)

    def note(self, line: int, source: str, target: str) -> None:
        self.pairs += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(Example(line, _beginning(source), _beginning(target)))


def reason(drops: Filter) -> str:
    return getattr(drops, "__name__", type(drops).__name__).replace("_", " ")


def _beginning(line: str) -> str:
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
