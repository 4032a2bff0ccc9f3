"""A statistical word aligner, run over a corpus: eflomal (Östling & Tiedemann 2016), from the extra `align`."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

from rnnsearch.errors import InputError

LONGEST = 1023
"""Words: eflomal leaves pairs with a longer side without links."""


def require_eflomal() -> None:
    """Raises InputError where eflomal is not installed: before the work, not after the corpus was read."""
    if find_spec("eflomal") is None:
        remedy = "pip install 'rnnsearch[align]', which needs a C compiler; or give another aligner's files with --forward and --reverse"
        raise InputError("aligning words needs the package eflomal", remedy=remedy)


def run_eflomal(source: Path, target: Path, forward: Path, reverse: Path) -> None:
    """Aligns two files of words between spaces, line by line, and writes Pharaoh files (source-target) of both directions.

    forward: every target word has its source word, or none; reverse: every source word its target word. eflomal ignores case, samples from
    a state that the system's clock and random numbers begin, so that no two runs give quite the same links, and uses all its threads
    unless OMP_NUM_THREADS says otherwise. Raises InputError if it is not installed or fails.
    """
    require_eflomal()
    from eflomal import Aligner

    with source.open(encoding="utf-8", newline="\n") as sources, target.open(encoding="utf-8", newline="\n") as targets:
        try:
            Aligner().align(sources, targets, links_filename_fwd=str(forward), links_filename_rev=str(reverse))
        except subprocess.CalledProcessError as error:
            how = f"signal {-error.returncode}" if error.returncode < 0 else f"exit code {error.returncode}"
            remedy = "check the free disk space and memory; eflomal holds the whole corpus in memory"
            raise InputError(f"eflomal ended with {how}", remedy=remedy) from None
