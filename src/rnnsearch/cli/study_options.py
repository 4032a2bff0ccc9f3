"""What `rnnsearch experiment` and `rnnsearch reproduce` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rnnsearch.cli.options import progress_bar, say
from rnnsearch.errors import InputError

Out = Annotated[
    Path, typer.Option(help="Folder for the corpus, runs, translations and tables; the same command with the same folder continues.")
]
Data = Annotated[Path | None, typer.Option(help="Base directory of the paths in the study file; default: the folder of that file.")]
SideBySide = Annotated[
    int,
    typer.Option("--jobs", min=1, max=1_024, help="Number of runs to train at the same time; if more than one, each run uses one thread."),
]
Only = Annotated[list[str] | None, typer.Option(metavar="VARIANT", help="Train and compare only this variant; may be repeated.")]
Status = Annotated[bool, typer.Option("--status", help="Show what is done and how long the rest may take, then stop.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, then stop.")]


def read(study: str, data: Path | None, set_: list[str] | None) -> Any:
    from rnnsearch.studies.study import read_plan

    return read_plan(study, data, tuple(set_ or ()))


def run(plan: Any, out: Path, side_by_side: int, only: list[str] | None, trust_code: bool, page: bool = False) -> Any:
    from rnnsearch.studies.run_study import run_study

    with progress_bar() as progress:
        return run_study(
            plan, out, side_by_side=side_by_side, only=only or [], trust_code=trust_code, page=page, say=say, progress=progress
        )


def describe(plan: Any, out: Path, status: bool, page: bool = False) -> None:
    """What is done, or what would be."""
    from rnnsearch.studies.overview import dry_run, status_lines

    for line in status_lines(plan, out) if status else dry_run(plan, out, page):
        print(line)


def refuse_failures(out: Path, failed: dict[str, str]) -> None:
    """Raises InputError if a run failed: the table is there, and not whole."""
    if failed:
        name, error = next(iter(failed.items()))
        others = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        what = f"the run {name} failed ({error}){others}"
        raise InputError(what, file=out / "logs" / f"{name}.log", remedy="see this log file; then give the same command again")
