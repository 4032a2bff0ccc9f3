"""`rnnsearch experiment` and `rnnsearch reproduce`: many runs from one file, compared in tables and a page.
`reproduce` adds a report like the paper's Section 5."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from rnnsearch.cli.options import Set, TrustCode, progress_bar, say
from rnnsearch.errors import InputError

Out = Annotated[
    Path,
    typer.Option(
        help="Folder for the corpus, runs, translations and tables; the same command with the same folder "
        "continues."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(help="Base directory of the paths in the study file; default: the folder of that file."),
]
SideBySide = Annotated[
    int,
    typer.Option(
        "--jobs",
        min=1,
        max=1_024,
        help="Number of runs to train at the same time; if more than one, each run uses one thread.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="VARIANT", help="Train and compare only this variant; may be repeated."),
]
Status = Annotated[
    bool, typer.Option("--status", help="Show what is done and how long the rest may take, then stop.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, then stop.")]


def _command(name: str, about: str, study_: Any, usual: Any, report: bool) -> Callable[..., None]:
    """Returns one of the two commands. study_: its argument. usual: the default of the argument. report:
    whether it ends with a report."""

    def command(
        *,
        study: Annotated[str, study_] = usual,
        out: Out,
        data: Data = None,
        set_: Set = None,
        side_by_side: SideBySide = 1,
        only: Only = None,
        status: Status = False,
        dry_run: DryRun = False,
        trust_code: TrustCode = False,
    ) -> None:
        from rnnsearch.studies import run_study
        from rnnsearch.studies.study import open_study

        folder = open_study(study, out, data, set_ or ())
        if status or dry_run:
            for line in run_study.status_lines(folder) if status else run_study.dry_run(folder, report):
                print(line)
            return
        _carry_out(folder, side_by_side=side_by_side, only=only or (), trust_code=trust_code, report=report)

    command.__name__, command.__doc__ = name, about
    return command


def _carry_out(folder: Any, **wanted: Any) -> None:
    """Runs a study and prints its tables. wanted: options of `run_study`.

    Raises InputError if a run failed; the tables are then written without it.
    """
    from rich.markup import escape

    from rnnsearch.drawing.characters import shorten
    from rnnsearch.studies.run_study import run_study

    with progress_bar() as progress:
        finished = run_study(
            folder,
            **wanted,
            command=shlex.join(["rnnsearch", *sys.argv[1:]]),
            say=say,
            progress=progress,
            look=lambda name, line: progress(name, 0, None, escape(shorten(line, 40))),
        )
    print(finished.markdown, end="" if finished.report is None else "\n")
    say(f"page: {finished.page}")
    if finished.report is not None:
        print(finished.report)
    if finished.failed:
        name, error = next(iter(finished.failed.items()))
        others = f", and {len(finished.failed) - 1} more" if len(finished.failed) > 1 else ""
        what = f"the run {name} failed ({error}){others}"
        remedy = "see this log file; then give the same command again"
        raise InputError(what, file=folder.log(name), remedy=remedy)


experiment = _command(
    "experiment",
    """Train every variant of a study with every seed, and compare them in tables and a page. After Ctrl-C,
    the same command continues.""",
    typer.Argument(
        metavar="STUDY",
        help="A TOML file with corpus, variants, seeds and test sets, or a built-in study (listed by "
        "`rnnsearch settings`).",
    ),
    ...,
    report=False,
)
reproduce = _command(
    "reproduce",
    """Reproduce the paper's experiment: prepare, train, translate, and report as in Section 5. After Ctrl-C,
    the same command continues.""",
    typer.Argument(
        metavar="[STUDY]",
        help="A built-in study (listed by `rnnsearch settings`) or a TOML file; default: the paper's "
        "experiment.",
    ),
    "paper",
    report=True,
)
