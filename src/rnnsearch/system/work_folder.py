"""A folder in which a command keeps the finished steps of its work, so that it goes on after an
interruption."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.system.files import PARTIAL, only_one, read_json, reading, remove_path, write_text

MakeOnce = Callable[[str, Callable[[Path], object]], Path]
"""(name, function that writes to a path) → the path of a finished step in a work folder."""


@contextmanager
def work_folder(folder: Path, doing: str, key: str) -> Iterator[MakeOnce]:
    """Yields a function that returns the path of a step in the folder, and first makes it if it is
    not there. A step is a file or folder, whole or not there.

    key: identifies the input and the settings. Raises InputError if the folder has steps of another
    key or other files, and if another process works in it.
    """
    about = folder / f"{doing}.json"

    def step(name: str, make: Callable[[Path], object]) -> Path:
        path, partial = folder / name, folder / f".{name}{PARTIAL}"
        if not path.exists():
            remove_path(partial)
            try:
                make(partial)
                write_text(about, json.dumps(key))
                partial.replace(path)
            finally:
                remove_path(partial)
        return path

    with only_one(folder, f"running {doing}"):
        if any(folder.glob("[!.]*")) and not (about.exists() and read_earlier(about) == key):
            what = "belongs to other files or settings"
            raise InputError(what, "name another folder with --out", file=folder)
        yield step


def read_earlier(file: Path) -> Any:
    """Reads a JSON file that an earlier session wrote. Raises InputError if it is damaged."""
    with reading(file, "name another folder with --out", "is damaged"):
        return read_json(file)
