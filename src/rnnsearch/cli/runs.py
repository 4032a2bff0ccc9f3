"""How commands find and load trained runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError


def load(
    runs: list[Path], device: str, threads: int, trust_code: bool, dictionary: Path | None = None, lexical_shortlist: Path | None = None
) -> Any:
    """The translator of one run, or of an ensemble."""
    from rnnsearch.system.machine import set_up_cpu
    from rnnsearch.text.dictionary import read_dictionary
    from rnnsearch.translation.translator import Translator

    set_up_cpu(threads)
    entries = read_dictionary(dictionary) if dictionary else None
    return Translator.load(*runs, device=device, trust_code=trust_code, dictionary=entries, lexical_shortlist=lexical_shortlist)


def runs_and_texts(words: list[str]) -> tuple[list[Path], str, str]:
    """RUN... SRC TGT → the runs and the two texts."""
    if len(words) < 3:
        raise InputError("a run, a source text and a target text are needed", remedy="give RUN SRC TGT")
    *runs, source, target = words
    return [Path(run) for run in runs], source, target
