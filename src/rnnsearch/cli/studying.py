"""Commands that train and compare many runs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rnnsearch.cli.options import Set, TrustCode, progress_bar, say
from rnnsearch.errors import InputError

Out = Annotated[Path, typer.Option(help="Folder of the study: corpus, runs, translations and tables. The same call goes on with it.")]
Data = Annotated[Path | None, typer.Option(help="Folder that the study's paths begin in, if not that of its file.")]
SideBySide = Annotated[int, typer.Option("--jobs", min=1, help="Runs trained side by side, on one thread each if more than one.")]
Only = Annotated[list[str] | None, typer.Option(metavar="VARIANT", help="Only this variant; may be repeated.")]
Status = Annotated[bool, typer.Option("--status", help="Say what is done and how long the rest may take; do nothing.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; do nothing.")]


def experiment(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A TOML file (see docs/how-to/experiments.md) or a built-in study.")],
    out: Out,
    data: Data = None,
    set_: Set = None,
    side_by_side: SideBySide = 1,
    only: Only = None,
    status: Status = False,
    dry_run: DryRun = False,
    trust_code: TrustCode = False,
) -> None:
    """Train every variant of a study with every seed, and compare them in a table. Ctrl-C ends it; the same call goes on."""
    plan = read(study, data, set_)
    if status or dry_run:
        describe(plan, out, status)
        return
    finished = run(plan, out, side_by_side, only, trust_code)
    print(finished.tables.markdown, end="")
    refuse_failures(out, finished.failed)


def reproduce(
    out: Out,
    study: Annotated[
        str, typer.Argument(metavar="[STUDY]", help="A TOML file or a built-in study; the paper's if none is named.")
    ] = "paper",
    data: Data = None,
    set_: Set = None,
    side_by_side: SideBySide = 1,
    only: Only = None,
    status: Status = False,
    dry_run: DryRun = False,
    trust_code: TrustCode = False,
) -> None:
    """Reproduce the paper's experiment: prepare, train all, translate, report as its Section 5. After Ctrl-C the same call goes on."""
    plan = read(study, data, set_)
    if status or dry_run:
        describe(plan, out, status, page=True)
        return
    finished = run(plan, out, side_by_side, only, trust_code, page=True)
    print(finished.tables.markdown)
    from rnnsearch.studies.page import make_page

    command = shlex.join(["rnnsearch", *sys.argv[1:]])
    with progress_bar() as progress:
        print(make_page(plan, out, only=only or [], trust_code=trust_code, command=command, progress=progress))
    refuse_failures(out, finished.failed)


def read(study: str, data: Path | None, set_: list[str] | None) -> Any:
    from rnnsearch.studies.study import read_plan

    return read_plan(study, data, tuple(set_ or ()))


def run(plan: Any, out: Path, side_by_side: int, only: list[str] | None, trust_code: bool, page: bool = False) -> Any:
    from rnnsearch.studies.engine import run_study

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
        raise InputError(what, file=out / "logs" / f"{name}.log", remedy="mend it and give the same command again")
