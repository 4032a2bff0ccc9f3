"""`rnnsearch reproduce`: a study, and its report as the paper's Section 5."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, TrustCode, progress_bar, say
from rnnsearch.cli.study_options import Data, DryRun, Only, Out, SideBySide, Status, describe, read, refuse_failures, run


def reproduce(
    out: Out,
    study: Annotated[
        str,
        typer.Argument(
            metavar="[STUDY]", help="A built-in study (listed by `rnnsearch settings`) or a TOML file; default: the paper's experiment."
        ),
    ] = "paper",
    data: Data = None,
    set_: Set = None,
    side_by_side: SideBySide = 1,
    only: Only = None,
    status: Status = False,
    dry_run: DryRun = False,
    trust_code: TrustCode = False,
) -> None:
    """Reproduce the paper's experiment: prepare, train, translate, and report as in Section 5. After Ctrl-C, the same command continues."""
    plan = read(study, data, set_)
    if status or dry_run:
        describe(plan, out, status, page=True)
        return
    finished = run(plan, out, side_by_side, only, trust_code, page=True)
    print(finished.tables.markdown)
    from rnnsearch.studies.study_document import write_page
    from rnnsearch.studies.study_page import make_page

    command = shlex.join(["rnnsearch", *sys.argv[1:]])
    with progress_bar() as progress:
        report = make_page(plan, out, only=only or [], trust_code=trust_code, command=command, progress=progress)
    say(f"page: {write_page(plan, out, finished.tables.table, command)}")  # after the report, which it links to
    print(report)
    refuse_failures(out, finished.failed)
