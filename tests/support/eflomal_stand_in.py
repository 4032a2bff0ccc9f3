"""What stands for eflomal in tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pairs import lines_of, write

from rnnsearch.lab import eflomal_links, learned_aligner


def stand_in(
    patch: pytest.MonkeyPatch, links: Callable[[str, str], tuple[str, str]]
) -> list[list[str]]:
    """Lets `links` make forward and reverse links of each pair. Returns the sides that it is given."""
    seen: list[list[str]] = []

    def run(source: Path, target: Path, forward: Path, reverse: Path, seed: int) -> None:
        seen.extend(lines_of(path) for path in (source, target))
        both = [links(*pair) for pair in zip(*seen[-2:], strict=True)]
        for place, path in enumerate((forward, reverse)):
            write(path, [pair[place] for pair in both])

    for module in (eflomal_links, learned_aligner):
        patch.setattr(module, "require_eflomal", lambda: None)
    patch.setattr(eflomal_links, "run_eflomal", run)
    return seen


def diagonal(source: str, target: str) -> str:
    """Links words at the same place."""
    size = min(len(source.split()), len(target.split()))
    return " ".join(f"{place}-{place}" for place in range(size))
