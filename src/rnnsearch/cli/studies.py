"""`rnnsearch experiment` and `rnnsearch reproduce`: many runs from one file, compared in tables and a page.
`reproduce` adds a report like the paper's Section 5."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rnnsearch.cli.options import Set, TrustCode, progress_bar, say
from rnnsearch.errors import InputError

if TYPE_CHECKING:
    from rnnsearch.studies.study import StudyFolder

Out = Annotated[
    Path, typer.Option(help="Folder of the study; the same command with the same folder continues.")
]
Data = Annotated[
    Path | None,
    typer.Option(help="Base directory of the paths in the study file; default: the folder of that file."),
]
Jobs = Annotated[int, typer.Option(min=1, max=1_024, help="Number of runs to train at the same time.")]
Only = Annotated[
    list[str] | None, typer.Option(metavar="VARIANT", help="Only this variant; may be repeated.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="A small version of the study, as its table [quick] says.")
]
StudyFile = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="A TOML file with corpus, variants, seeds and test sets, or a built-in study (listed by "
        "`rnnsearch settings`).",
    ),
]


def experiment(
    study: StudyFile,
    *,
    out: Out,
    data: Data = None,
    set_: Set = None,
    jobs: Jobs = 1,
    only: Only = None,
    quick: Quick = False,
    trust_code: TrustCode = False,
) -> None:
    """Train every variant of a study with every seed, and compare them in tables and a page. After Ctrl-C,
    the same command continues."""
    from rnnsearch.studies.study import open_study

    _carry_out(open_study(study, out, data, set_ or (), quick), jobs, only or (), trust_code)


def reproduce(
    study: StudyFile = "paper",
    *,
    out: Out,
    data: Data = None,
    set_: Set = None,
    jobs: Jobs = 1,
    only: Only = None,
    quick: Quick = False,
    trust_code: TrustCode = False,
) -> None:
    """Reproduce the paper's experiment: prepare, train, translate, and report as in Section 5. After Ctrl-C,
    the same command continues."""
    from rnnsearch.evaluation.test_set import NamedRun, read_hypotheses
    from rnnsearch.report.make import ReportOptions, make_report
    from rnnsearch.studies.study import open_study

    folder = open_study(study, out, data, set_ or (), quick)
    done = _carry_out(folder, jobs, only or (), trust_code)
    tests = [folder.read_test(name) for name, test in folder.tests.items() if test.translate]
    systems: dict[str, dict[str, Sequence[str]]] = {}
    for test in tests:
        for system, path in folder.tests[test.name].systems.items():
            lines = read_hypotheses(path, len(test.source)).texts
            systems.setdefault(system, {})[test.name] = lines
    with progress_bar() as progress:
        page = make_report(
            [NamedRun(name, folder / "runs" / name) for name in done],
            tests,
            folder / "report",
            systems=systems,
            options=ReportOptions(
                trust_code=trust_code,
                title=folder.study.title,
                command=shlex.join(["rnnsearch", *sys.argv[1:]]),
                translations=folder / "translations",
            ),
            progress=progress,
        )
    print(page)


def _carry_out(folder: StudyFolder, jobs: int, only: Sequence[str], trust_code: bool) -> list[str]:
    """Runs a study and prints its tables; returns the names of the runs that count. Raises InputError if a
    run failed; the tables are then written without it."""
    from rnnsearch.studies.run import run_study
    from rnnsearch.studies.table import write_study

    with progress_bar() as progress:
        runs = run_study(folder, say=say, jobs=jobs, only=only, trust_code=trust_code, progress=progress)
        markdown, page = write_study(folder, runs, shlex.join(["rnnsearch", *sys.argv[1:]]))
    print(markdown, end="")
    say(f"page: {page}")
    failed = [run.row for run in runs if run.row["status"] == "failed"]
    if failed:
        others = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        what = f"the run {failed[0]['run']} failed ({failed[0]['error']}){others}"
        remedy = "see this log file; then give the same command again"
        raise InputError(what, file=folder / "logs" / f"{failed[0]['run']}.log", remedy=remedy)
    return [run.row["run"] for run in runs if run.usable]
