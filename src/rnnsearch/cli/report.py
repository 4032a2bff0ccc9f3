"""`rnnsearch report`: the paper's tables and figures for any runs and systems."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import (
    Device,
    GoldFrom,
    Set,
    Threads,
    TrustCode,
    changes,
    progress_bar,
)

Test = Annotated[
    list[str],
    typer.Option(
        metavar="[NAME=]SRC REF",
        help="Source and reference of a test set; repeat the two files for more test sets.",
    ),
]
Out = Annotated[Path, typer.Option(help="Folder for the page, its figures, tables and translations.")]
Runs = Annotated[list[str] | None, typer.Argument(metavar="[NAME=]RUN...", help="Trained runs.")]
System = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=HYP",
        help="Translations by another system: one file per test set, or - for none.",
    ),
]
Gold = Annotated[list[str] | None, typer.Option(metavar="[NAME=]FILE", help="Gold word links of a test set.")]
Title = Annotated[str, typer.Option(help="Title of the page.")]
First = Annotated[
    int,
    typer.Option(min=0, max=10**9, metavar="N", help="Use only the first N pairs of each test set; 0 = all."),
]
Beam = Annotated[int | None, typer.Option(help="Beam size; default: that of each run's settings.")]


def report(
    test: Test,
    out: Out,
    runs: Runs = None,
    system: System = None,
    gold: Gold = None,
    gold_from: GoldFrom = None,
    title: Title = "",
    first: First = 0,
    beam: Beam = None,
    set_: Set = None,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Compare runs and other systems as in the paper's Section 5: tables and figures as an HTML page,
    Markdown, JSON and CSV."""
    from rnnsearch.evaluation.test_set import name_runs, read_systems, read_test_sets
    from rnnsearch.report.make import ReportOptions, make_report
    from rnnsearch.system.machine import set_up_cpu

    search = changes("search", set_, beam=beam)
    tests = read_test_sets(test, gold or (), gold_from)
    systems = read_systems(system or (), tests)
    if first:
        tests = [each.first(first) for each in tests]
        systems = {
            name: {each: lines[:first] for each, lines in texts.items()} for name, texts in systems.items()
        }
    set_up_cpu(threads)
    with progress_bar() as progress:
        page = make_report(
            name_runs(runs or ()),
            tests,
            out,
            systems=systems,
            options=ReportOptions(
                search, device, trust_code, title, shlex.join(["rnnsearch", *sys.argv[1:]])
            ),
            progress=progress,
        )
    print(page)
