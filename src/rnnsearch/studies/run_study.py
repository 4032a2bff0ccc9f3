"""A study from its file to its tables: prepare, train every variant with every seed, translate, score,
compare, and report.

Every stage looks at what is there and does what is missing, so the same command goes on after Ctrl-C, kill -9
or a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.studies.runs import (
    Command,
    RunState,
    run_commands,
    run_state,
    time_left,
    train_command,
    usual_minutes,
)
from rnnsearch.studies.scores import ResultRows, Scorer
from rnnsearch.studies.study_corpora import is_written, note_origin, prepare_commands, write_corpus
from rnnsearch.studies.study_folder import StudyFolder, StudyRun
from rnnsearch.studies.study_tables import study_table, write_pages, write_tables
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import Progress
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.beginning import open_run
from rnnsearch.translation.outputs import write_texts


@dataclass(frozen=True)
class Finished:
    """Outcome of a study. table: as in table.json. markdown, page: for people. failed: name and error of
    every run that did not come to its end. report: page of the report, if one was wanted."""

    table: dict[str, Any]
    markdown: str
    page: Path
    failed: dict[str, str]
    report: Path | None = None


@dataclass(frozen=True)
class StudyOptions:
    """Options of a call.

    side_by_side: runs that are trained at the same time; with more than one each has one thread. only:
    variants to which the call is confined. report: end with the report on the runs. command: shown as what
    made the pages.
    """

    side_by_side: int = 1
    only: Sequence[str] = ()
    trust_code: bool = False
    report: bool = False
    command: str = ""


def run_study(
    folder: StudyFolder,
    wanted: StudyOptions,
    *,
    say: Callable[[str], None],
    progress: Progress = lambda text, done, total: None,
    look: Callable[[str, str], None] = lambda name, line: None,
) -> Finished:
    """Does what is missing of the study, and writes its tables and pages from all that is done.

    say: gets lines for a person. look: told what each command said last. A run that fails is recorded, and
    tried again by the next call.
    Raises InputError for a study that does not fit its files, or runs that were trained with other settings.
    """
    _check_names(folder, wanted.only)
    with folder.locked(say) as lock:
        run_all = partial(run_commands, folder=folder, lock=lock, look=look)
        _prepare(folder, run_all, progress)
        chosen = {run.name: run for run in folder.runs if not wanted.only or run.variant in wanted.only}
        _check_runs(folder, [*chosen.values()])
        results, failed = ResultRows(folder / "results.jsonl"), dict[str, str]()
        scorer = Scorer(folder, wanted.trust_code, progress)

        def score(run: StudyRun, error: str) -> None:
            try:
                if not error:
                    set_up_cpu(1 if wanted.side_by_side > 1 else folder.settings(run).training.threads)
                    _score(run, scorer, results)
            except (InputError, OSError, RuntimeError, MemoryError) as found:  # the other runs go on
                error = str(found) or type(found).__name__
            if error:
                failed[run.name] = error
                results.add(scorer.row(run, error=error))

        jobs = [run for run in chosen.values() if not run_state(run, folder.settings(run)).trained]
        ended: list[str] = []

        def end(command: Command, error: str) -> None:
            score(chosen[command.name], error)
            ended.append(command.name)
            left = time_left(current_states(folder), wanted.side_by_side) if len(ended) < len(jobs) else ""
            came = f"failed: {failed[command.name]}" if command.name in failed else "done"
            say(f"[{len(ended)} of {len(jobs)}] {command.name}: {came}{f'; {left}' if left else ''}")

        for run in chosen.values():
            if run not in jobs:
                score(run, "")
        commands = [train_command(folder, run, wanted.side_by_side > 1) for run in jobs]
        run_all(commands, ended=end, side_by_side=wanted.side_by_side)
        table = study_table(scorer, results)
        write_tables(folder, table, results)
        finished = [run for run in chosen.values() if not run.reverse and results.status(run.name) == "done"]
        report = _report(folder, finished, wanted.trust_code, run_all) if wanted.report else None
        return Finished(table, *write_pages(folder, table, wanted.command), failed, report)


def _prepare(folder: StudyFolder, run_all: Callable[..., None], progress: Progress) -> None:
    """Makes the stores that are missing, and the links before them. Raises InputError if a command fails."""
    write_corpus(folder, progress)
    missing = [command for command in prepare_commands(folder) if not command.made.exists()]
    if any(command.name != "links" for command in missing):
        run_all(missing, ended=_refuse)
    note_origin(folder)


def _refuse(command: Command, error: str) -> None:
    if error:
        raise InputError(error)


def current_states(folder: StudyFolder) -> list[RunState]:
    """Returns where every run stands; a run counts as measured when its row is in the results."""
    results = ResultRows(folder / "results.jsonl")
    return [run_state(run, folder.settings(run), results.status(run.name) == "done") for run in folder.runs]


def status_lines(folder: StudyFolder) -> Iterator[str]:
    """Yields a line for each run, and what is left."""
    states = current_states(folder)
    yield from (state.line(usual_minutes(states)) for state in states)
    done, left = sum(state.measured for state in states), time_left(states, 1)
    rest = f"; {left}, one run after the other" if left and done < len(states) else ""
    yield f"{done} of {len(states)} runs done{rest}"


def _check_names(folder: StudyFolder, only: Sequence[str]) -> None:
    """Raises InputError for a variant that is none, and for a system that has a run's name: no table could
    tell them apart."""
    plan, runs = folder.plan, {name for run in folder.runs for name in (run.name, run.variant)}
    for system in (system for test in plan.study.tests.values() for system in test.systems):
        if system in runs:
            what = f"the system {system} has the name of a run"
            raise InputError(what, file=plan.name, remedy="give it another name")
    for name in only:
        if name not in plan.study.variants:
            what, remedy = f"the study has no variant {name!r}", f"one of {', '.join(plan.study.variants)}"
            raise InputError(what, file=plan.name, remedy=remedy)


def _check_runs(folder: StudyFolder, runs: Sequence[StudyRun]) -> None:
    """Raises InputError for a run in the folder whose settings are not the study's: before anything is
    trained, not after."""
    for reverse in (False, True):
        there = [run for run in runs if run.reverse == reverse and (run.path / "config.toml").exists()]
        corpus = Corpus.open(folder.store(reverse)) if there else None
        for run in there:
            assert corpus is not None
            open_run(folder.settings(run), corpus, run.path)


def _score(run: StudyRun, scorer: Scorer, results: ResultRows) -> None:
    """Adds the run's row, unless the one that is there is from the same files; that of the forward run too,
    when its reverse is done."""
    folder = scorer.folder
    pair = [one for one in folder.runs if (one.variant, one.seed) == (run.variant, run.seed)]
    back = next(
        (one for one in pair if one.reverse and (one is run or results.status(one.name) == "done")), None
    )
    for one in pair:
        partner = None if one.reverse else back
        if one is not run and not (run.reverse and results.status(one.name) == "done"):
            continue
        if results.rows.get(one.name, {}).get("fingerprint") == scorer.fingerprint(one, partner):
            continue
        for name, files in folder.tests.items():
            if files.translate and not one.reverse:
                texts = [translation.text for translation in scorer.answers(one, name).translations]
                write_texts(folder.outputs, scorer.opened(one), files.read(), texts)
        results.add(scorer.row(one, partner))


def report_command(folder: StudyFolder, runs: Sequence[StudyRun], trust_code: bool = False) -> Command:
    """Returns the report on these runs, for the test sets that are translated."""
    tests = {name: test for name, test in folder.tests.items() if test.translate}
    words: list[Any] = ["report", *(f"{run.name}={run.path}" for run in runs), "--test"]
    for name, test in tests.items():
        words += [f"{name}={test.source}", test.reference]
    for system in dict.fromkeys(system for test in tests.values() for system in test.systems):
        first, *others = (str(test.systems.get(system, "-")) for test in tests.values())
        words += ["--system", f"{system}={first}", *others]
    words += [word for name, test in tests.items() if test.gold for word in ("--gold", f"{name}={test.gold}")]
    words += ["--title", folder.plan.study.title] if folder.plan.study.title else []
    training = folder.settings(runs[0]).training
    words += ["--device", training.device] if training.device != "cpu" else []
    words += ["--threads", training.threads] if training.threads else []
    words += ["--trust-code"] if trust_code else []
    out = folder / "report"
    return Command("report", [*map(str, words), "--out", str(out)], out / "index.html")


def _report(
    folder: StudyFolder, runs: Sequence[StudyRun], trust_code: bool, run_all: Callable[..., None]
) -> Path:
    """Writes OUT/report from finished runs; returns its page. It reads the study's own translations."""
    if not runs:
        raise InputError("no run is finished, so there is nothing to report", file=folder.path)
    translations = folder / "report" / "translations"
    if not translations.exists():
        translations.parent.mkdir(exist_ok=True)
        translations.symlink_to(Path("..") / folder.outputs.name)
    command = report_command(folder, runs, trust_code)
    run_all([command], ended=_refuse)
    return command.made


def dry_run(folder: StudyFolder, report: bool = False) -> Iterator[str]:
    """Yields the commands of the study, and some that measure as it does. report: with that of its report."""
    if is_written(folder):
        built_in = folder.plan.study.corpus.builtin
        what = "the built-in corpus" if built_in else "the part of the files that the study uses"
        yield f"# {folder.corpus}: {what}"
    yield from map(str, prepare_commands(folder))
    translated = {name: test for name, test in folder.tests.items() if test.translate}
    forward = [run for run in folder.runs if not run.reverse]
    for run in folder.runs:
        yield str(train_command(folder, run))
        for name, test in translated.items() if run in forward else ():
            out = folder.outputs / run.name / f"{name}.txt"
            yield str(Command(name, ["translate", str(run.path), str(test.source), "--out", str(out)], out))
    if report:
        yield str(report_command(folder, forward))
