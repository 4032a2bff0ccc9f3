"""Studies that a test writes itself."""

from __future__ import annotations

from pathlib import Path

from rnnsearch.lab.study import StudyFolder, open_study


def study_in(folder: Path, text: str) -> StudyFolder:
    """Writes study.toml into the folder; the study's OUT is `out` beside it."""
    file = folder / "study.toml"
    file.write_text(text, "utf-8")
    return open_study(file, folder / "out")
