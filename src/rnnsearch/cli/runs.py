"""How commands find and load trained runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.installed import installed_models, is_name


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


def is_run(word: Path) -> bool:
    """Whether a word of the command line is a run, and not a text: a folder, or the name of an installed model."""
    return word.is_dir() or (is_name(word) and str(word) in installed_models())


def check_reverse(forward: Any, reverse: Any, named: Path) -> None:
    """Raises InputError if the second translator does not read what the first one writes, and write what it reads."""
    ours, theirs = (translator.settings.data for translator in (forward, reverse))
    if ours.tokeniser == "space" or theirs.tokeniser == "space":  # then nothing depends on the languages, and nobody need name them
        return
    if (theirs.source_language, theirs.target_language) != (ours.target_language, ours.source_language):
        what = f"translates from {theirs.source_language} to {theirs.target_language}"
        remedy = f"--reverse-run needs a run from {ours.target_language} to {ours.source_language}"
        raise InputError(what, file=named, remedy=remedy)
