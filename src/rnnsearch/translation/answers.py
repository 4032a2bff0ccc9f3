"""The key of answers: two commands with the same key write the same lines for the same text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.files import checksum
from rnnsearch.text.formats.opening import is_on_disk


def runs_key(runs: Sequence[str | Path], files: Sequence[Path]) -> str:
    """Returns a checksum of runs, and of files that are read with them, such as a dictionary.

    Raises InputError for a pipe among them: a later command could not tell whether its content is the same.
    """
    for file in files:
        if not is_on_disk(file):
            what = "a pipe cannot be read again to go on with --out"
            raise InputError(what, file=file, remedy="write it to a file first")
    return checksum(*(Run.open(run).checksum for run in runs), *files)


def answers_key(runs: Sequence[str | Path], how: str, form: str, files: Sequence[Path]) -> str:
    """Returns a checksum of everything that the answers depend on, except the text. how: the settings. form:
    the output format. Raises InputError as `runs_key` does."""
    return checksum(form, how, runs_key(runs, files))
