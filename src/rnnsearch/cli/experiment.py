"""`rnnsearch experiment`: every variant of a study, with every seed, in one table."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from rnnsearch.cli.options import Set, TrustCode, say
from rnnsearch.cli.study_options import Data, DryRun, Only, Out, SideBySide, Status, describe, read, refuse_failures, run


def experiment(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A TOML file with corpus, variants, seeds and test sets, or a built-in study (listed by `rnnsearch settings`).",
        ),
    ],
    out: Out,
    data: Data = None,
    set_: Set = None,
    side_by_side: SideBySide = 1,
    only: Only = None,
    status: Status = False,
    dry_run: DryRun = False,
    trust_code: TrustCode = False,
) -> None:
    """Train every variant of a study with every seed, and compare them in tables and a page. After Ctrl-C, the same command continues."""
    plan = read(study, data, set_)
    if status or dry_run:
        describe(plan, out, status)
        return
    finished = run(plan, out, side_by_side, only, trust_code)
    print(finished.tables.markdown, end="")
    from rnnsearch.studies.study_document import write_page

    say(f"page: {write_page(plan, out, finished.tables.table, shlex.join(['rnnsearch', *sys.argv[1:]]))}")
    refuse_failures(out, finished.failed)
