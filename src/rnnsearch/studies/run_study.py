"""A study from its file to its tables: prepare, train every variant with every seed, translate, score, compare.

Every stage looks at what is there and does what is missing, so the same command goes on after Ctrl-C, kill -9 or a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.studies.job import Job
from rnnsearch.studies.processes import Outcome, Task, run_all
from rnnsearch.studies.result_rows import ResultRows
from rnnsearch.studies.run_states import RunState, is_trained, states
from rnnsearch.studies.scoring import Scorer, failed_row
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_corpora import prepare_corpora
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.studies.study_tables import Tables, make_tables
from rnnsearch.studies.test_sets import set_files
from rnnsearch.studies.watch import Watch
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import core_count
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.loop import open_run


@dataclass(frozen=True)
class Finished:
    """failed: name and error of every run that did not come to its end."""

    tables: Tables
    failed: dict[str, str]


def run_study(
    plan: Plan,
    out: str | Path,
    *,
    side_by_side: int = 1,
    only: Sequence[str] = (),
    trust_code: bool = False,
    page: bool = False,
    say: Callable[[str], None],
    progress: Progress = lambda text, done, total: None,
) -> Finished:
    """Does what is missing of the study in `out`, and writes its tables there from all that is done.

    side_by_side: runs that are trained at the same time; with more than one each has one thread. only: variants to which this call is
    confined. page: make what `rnnsearch report` needs, too. say: gets lines for a person.
    A run that fails is recorded, and tried again by the next call.
    Raises InputError for a study that does not fit its files, or runs in `out` that were trained with other settings.
    """
    folder = StudyFolder(Path(out))
    _check_names(plan, only, folder)
    with folder.locked(say) as lock:
        runs = folder.runs(plan)
        prepare_corpora(plan, folder, any(run.reverse for run in runs), core_count(), progress)
        chosen = [run for run in runs if not only or run.variant in only]
        _check_runs(plan, folder, chosen)
        scorer = Scorer(folder, set_files(plan, folder), plan.data, plan.study.symmetrisation, page)
        results = ResultRows(folder / "results.jsonl")
        by_name = {run.name: run for run in runs}
        tasks, failed = [], dict[str, str]()

        def score(run: StudyRun, error: str = "") -> str:
            try:
                if not error:
                    _score(run, runs, scorer, results)
            except InputError as found:  # the other runs go on
                error = str(found)
            if error:
                failed[run.name] = error
                results.add(failed_row(run, error))
            return error

        for run in chosen:
            if is_trained(run.path, plan.of_seed(run.variant, run.seed)) and scorer.is_measured(run):
                score(run)
            else:
                tasks.append(_task(run, plan, folder, scorer, side_by_side, trust_code))

        if tasks and (folder / "forced").exists():
            say(f"{out}: translations and alignments of an earlier version are not used (forced/ may be removed); they are made anew")

        def ended(outcome: Outcome) -> None:
            name = outcome.task.name
            watch.ended(name, score(by_name[name], outcome.error))

        with Watch(len(tasks), lambda: current_states(plan, folder), side_by_side, say) as watch:
            run_all(tasks, side_by_side, lock, ended, watch.show)
        return Finished(make_tables(plan, folder, scorer, results), failed)


def current_states(plan: Plan, folder: StudyFolder) -> list[RunState]:
    """Where every run stands; a run counts as measured when its row is in the results."""
    results = ResultRows(folder / "results.jsonl")
    return states(plan, folder, {name for name, found in results.rows.items() if found["status"] == "done"})


def _check_names(plan: Plan, only: Sequence[str], folder: StudyFolder) -> None:
    """Raises InputError for a variant that is none, and for a system that has a run's name: no table could tell them apart."""
    runs = {name for run in folder.runs(plan) for name in (run.name, run.variant)}
    for system in (system for test in plan.study.tests.values() for system in test.systems):
        if system in runs:
            raise InputError(f"the system {system} has the name of a run", file=plan.name, remedy="give it another name")
    for name in only:
        if name not in plan.study.variants:
            raise InputError(f"the study has no variant {name!r}", file=plan.name, remedy=f"one of {', '.join(plan.study.variants)}")


def _check_runs(plan: Plan, folder: StudyFolder, runs: Sequence[StudyRun]) -> None:
    """Raises InputError for a run in the folder whose settings are not the study's: before anything is trained, not after."""
    corpora: dict[bool, Corpus] = {}
    for run in runs:
        if (run.path / "config.toml").exists():
            if run.reverse not in corpora:
                corpora[run.reverse] = Corpus.open(folder.store(run.reverse))
            open_run(plan.of_seed(run.variant, run.seed), corpora[run.reverse], run.path)


def _task(run: StudyRun, plan: Plan, folder: StudyFolder, scorer: Scorer, side_by_side: int, trust_code: bool) -> Task:
    settings = plan.of_seed(run.variant, run.seed)
    if side_by_side > 1:
        settings = settings.model_copy(update={"training": settings.training.model_copy(update={"threads": 1})})
    tests = scorer.tests.items()
    job = Job(
        run=run.path,
        store=folder.store(run.reverse),
        settings=settings,
        trust_code=trust_code,
        texts={name: (test.reference, test.source) if run.reverse else (test.source, test.reference) for name, test in tests},
        kinds={name: list(test.kinds(run.reverse, scorer.page)) for name, test in tests},
        outputs=folder.outputs,
    )
    return Task(run.name, job, folder.log(run))


def _score(run: StudyRun, runs: Sequence[StudyRun], scorer: Scorer, results: ResultRows) -> None:
    """Adds the run's row, unless the one that is there is from the same files; that of the forward run too, when its reverse is done."""
    both = [found for found in runs if (found.variant, found.seed) == (run.variant, run.seed)]
    reverse = next((found for found in both if found.reverse and scorer.is_measured(found)), None)
    for one in both:
        if one is run or (run.reverse and results.status(one.name) == "done"):
            partner = None if one.reverse else reverse
            if results.rows.get(one.name, {}).get("fingerprint") != scorer.fingerprint(one, partner):
                results.add(scorer.row(one, partner))
