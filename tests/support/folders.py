"""What lies in a folder."""

from __future__ import annotations

from pathlib import Path


def names(folder: Path) -> list[str]:
    """Returns the names of files and folders in it, in their order."""
    return sorted(path.name for path in folder.iterdir())
