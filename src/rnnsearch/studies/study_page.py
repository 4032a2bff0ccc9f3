"""The last stage of a reproduction: the report on its runs and on the other systems of its test sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.evaluation.test_set import read_test_set
from rnnsearch.report.arguments import NamedRun, read_systems
from rnnsearch.report.make import make_report
from rnnsearch.studies.result_rows import ResultRows
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.studies.test_sets import set_files
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import Progress


def make_page(plan: Plan, out: Path, *, only: Sequence[str] = (), trust_code: bool = False, command: str = "", progress: Progress) -> Path:
    """Writes OUT/report from all runs that are done, for the test sets that are translated; returns its page.

    command: shown as what made it. Raises InputError if no run is done.
    """
    folder = StudyFolder(out)
    results = ResultRows(folder / "results.jsonl")
    done = [
        run for run in folder.runs(plan) if not run.reverse and results.status(run.name) == "done" and (not only or run.variant in only)
    ]
    if not done:
        raise InputError("no run is done, so there is nothing to report on", file=out)
    sets = {name: test for name, test in set_files(plan, folder).items() if test.translate}
    tests = [read_test_set(name, test.source, test.reference) for name, test in sets.items()]
    names = dict.fromkeys(system for test in sets.values() for system in test.systems)
    files = {system: {name: test.systems[system] for name, test in sets.items() if system in test.systems} for system in names}
    first = plan.of_seed(done[0].variant, done[0].seed).training
    set_up_cpu(first.threads)
    return make_report(
        [NamedRun(run.name, run.path) for run in done],
        tests,
        folder.page,
        systems=read_systems(files, tests),
        outputs_folder=folder.outputs,
        device=first.device,
        trust_code=trust_code,
        title=plan.study.title,
        command=command,
        beside=[("../index.html", "the study: its tables and settings")],
        progress=progress,
    )
