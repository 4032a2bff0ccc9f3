"""`rnnsearch report`, `experiment` and `reproduce`: runs compared in tables, figures and a page;
many runs from one file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch.cli.answers import Loading
from rnnsearch.cli.options import (
    PositiveOption,
    Strings,
    describe,
    refuse,
    say,
    search_changes,
)
from rnnsearch.errors import InputError
from rnnsearch.lab.commands.evaluate import GoldFrom
from rnnsearch.system.progress import progress_bar

if TYPE_CHECKING:
    from rnnsearch.lab.study import StudyFolder


@dataclass(frozen=True)
class Compared:
    """Options that say what a report compares, and its title."""

    test: Strings = None
    alignments: Strings = None
    system: Strings = None
    gold: Strings = None
    gold_from: GoldFrom = None
    title: str = ""


@describe(
    """
    runs [NAME=]RUN...: Trained runs.
    alignments [NAME=]FILE...: Instead of runs and test sets: word alignments of the same pairs,
    written by `align --format matrices`. Measures, a page to browse, pictures of the first pairs.
    test [NAME=]SRC REF...: Source and reference of a test set; repeat the two files for more test
    sets.
    out: Folder for the page, its figures, tables and translations.
    system NAME=HYP...: Translations by another system: one file per test set, or - for none.
    gold [NAME=]FILE...: Gold word links of a test set, or of the pairs of --alignments.
    title: Title of the page.
    beam: Beam size; default: that of each run's settings.
    """,
    extra="report",
)
def report(
    runs: Strings = None,
    *,
    compared: Compared,
    out: Path,
    beam: int | None = None,
    set_: Strings = None,
    loading: Loading,
) -> None:
    """Compare runs and other systems as in the paper's Section 5: tables and figures as an HTML
    page, Markdown, JSON and CSV."""
    from rnnsearch.lab.alignment_report import report_alignments
    from rnnsearch.lab.report import ReportOptions, make_report
    from rnnsearch.lab.test_set import name_runs, read_systems, read_test_sets

    test, system, gold, title = compared.test, compared.system, compared.gold or [], compared.title
    if compared.alignments:
        others = {"RUN": runs, "--test": test, "--system": system, "--gold twice": gold[1:]}
        refuse(
            others | {"--beam": beam is not None, "--set": set_}, "cannot be used with --alignments"
        )
        first = (gold or [""])[0]
        print(report_alignments(compared.alignments, out, first, compared.gold_from, title))
        return
    search = search_changes(set_, beam=beam)
    tests = read_test_sets(test or (), gold, compared.gold_from)
    systems = read_systems(system or (), tests)
    with progress_bar() as progress:
        page = make_report(
            name_runs(runs or ()),
            tests,
            out,
            systems=systems,
            options=ReportOptions(search, loading, title, command_line()),
            progress=progress,
        )
    print(page)


def command_line() -> str:
    """Returns the command that was typed, for pages."""
    return shlex.join(["rnnsearch", *sys.argv[1:]])


@dataclass(frozen=True)
class StudyPlace:
    """Options that say where a study is, and how it is carried out."""

    out: Path
    data: Path | None = None
    set_: Strings = None
    jobs: PositiveOption = 1
    quick: bool = False

    def open(self, study: str) -> list[StudyFolder]:
        """Returns the study, or one for each name, as `open_studies` does."""
        from rnnsearch.lab.study import open_studies

        return open_studies(study, self.out, self.data, self.set_ or (), self.quick)


STUDY_PLACE = """
    out: Folder of the study; the same command with the same folder continues.
    data: Base directory of the paths in the study file; default: the folder of that file.
    jobs: Number of runs to train at the same time.
    quick: A small version of the study, as its table `quick` says.
    """


@describe(
    """
    study STUDY: A TOML file with corpus, variants, seeds and test sets, or a built-in study (listed
    by `rnnsearch settings`).
    only VARIANT: Only this variant; may be repeated.
    """
    + STUDY_PLACE,
    extra="all",
)
def experiment(
    study: str, *, place: StudyPlace, only: Strings = None, trust_code: bool = False
) -> None:
    """Train every variant of a study with every seed, and compare them in tables and a page. After
    Ctrl-C, the same command continues."""
    folders, failed = place.open(study), list[str]()
    for folder in folders:
        try:
            carry_out(folder, place.jobs, only or (), trust_code)
        except InputError as error:
            if len(folders) == 1:
                raise
            failed.append(folder.path.name)
            say(f"{folder.path.name}: {error}")
    if failed:
        what = f"{len(failed)} of {len(folders)} studies failed: {', '.join(failed)}"
        raise InputError(what, "see above; then give the same command again")


@describe(
    """
    study STUDY: A built-in study of the paper's experiment, or a TOML file.
    """
    + STUDY_PLACE,
    extra="all",
)
def reproduce(study: str = "paper", *, place: StudyPlace) -> None:
    """Reproduce the paper's experiment: prepare, train, translate, and report as in Section 5.
    After Ctrl-C, the same command continues."""
    from rnnsearch.lab.report import ReportOptions, make_report

    folder, *others = place.open(study)
    if others:
        what = f"has one study for each of {', '.join(folder.study.each)}"
        raise InputError(what, "use rnnsearch experiment", file=folder.name)
    if not any(test.translate for test in folder.tests.values()):
        what = "no test set is translated, so there is nothing to report"
        raise InputError(what, "use rnnsearch experiment", file=folder.name)
    done = carry_out(folder, place.jobs, (), False)
    tests = [folder.read_test(name) for name, test in folder.tests.items() if test.translate]
    systems: dict[str, dict[str, Sequence[str]]] = {}
    for test in tests:
        for system, lines in folder.read_systems(test.name).items():
            systems.setdefault(system, {})[test.name] = lines
    with progress_bar() as progress:
        page = make_report(
            {name: folder.path / "runs" / name for name in done},
            tests,
            folder.path / "report",
            systems=systems,
            options=ReportOptions(
                title=folder.study.title,
                command=command_line(),
                translations=folder.path / "translations",
            ),
            progress=progress,
        )
    print(page)


def carry_out(folder: StudyFolder, jobs: int, only: Sequence[str], trust_code: bool) -> list[str]:
    """Runs a study and prints its tables; returns the names of the runs that count. Raises
    InputError if a run failed; the tables are then written without it."""
    from rnnsearch.lab.report import write_study
    from rnnsearch.lab.run_study import run_study

    with progress_bar() as progress:
        runs = run_study(folder, jobs=jobs, only=only, trust_code=trust_code, progress=progress)
        markdown, page = write_study(folder, runs, command_line())
    print(markdown, end="")
    say(f"page: {page}")
    failed = [run.row for run in runs if run.row["status"] == "failed"]
    if failed:
        others = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        what = f"the run {failed[0]['run']} failed ({failed[0]['error']}){others}"
        remedy = "see this log file; then give the same command again"
        raise InputError(what, remedy, file=folder.path / "logs" / f"{failed[0]['run']}.log")
    return [run.row["run"] for run in runs if run.usable]
