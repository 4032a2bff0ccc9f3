"""A study from its file to its tables: prepare, train every variant with every seed, translate, score,
compare, and report.

Every stage does only what is missing, so the same command continues after Ctrl-C, kill -9 or a failure.
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
from rnnsearch.studies.scores import Results
from rnnsearch.studies.study import StudyFolder, StudyRun
from rnnsearch.studies.study_corpora import is_written, prepare_commands, prepare_corpus
from rnnsearch.studies.study_tables import study_table, write_pages, write_tables
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import Progress
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.setup import check_resumed


@dataclass(frozen=True)
class Finished:
    """Outcome of a study. table: as in table.json. markdown: the text of table.md. page: the path of
    index.html. failed: run → error. report: page of the report, if one was asked for."""

    table: dict[str, Any]
    markdown: str
    page: Path
    failed: dict[str, str]
    report: Path | None = None


def run_study(
    folder: StudyFolder,
    *,
    say: Callable[[str], None],
    side_by_side: int = 1,
    only: Sequence[str] = (),
    trust_code: bool = False,
    report: bool = False,
    command: str = "",
    progress: Progress = lambda text, done, total: None,
    look: Callable[[str, str], None] = lambda name, line: None,
) -> Finished:
    """Runs the stages that are missing, and writes the tables and pages of all finished runs.

    say: receives messages for a person. side_by_side: runs that are trained at the same time; if there are
    several, each has one thread. only: variants to run; empty for all. report: whether to write the report on
    the runs, too. command: the command line shown on the pages. look: called with the name of each running
    command and the last line of its log. A run that fails is recorded, and the next call tries it again.
    Raises InputError for a study that does not fit its files, or runs that were trained with other settings.
    """
    _check_names(folder, only)
    with folder.locked(say) as lock:
        run_all = partial(run_commands, folder=folder, lock=lock, look=look)
        prepare_corpus(folder, run_all, progress)
        chosen = {run.name: run for run in folder.runs if not only or run.variant in only}
        _check_runs([*chosen.values()])
        results, failed = Results(folder, trust_code, progress), dict[str, str]()

        def measure(run: StudyRun, error: str = "") -> None:
            try:
                if not error:
                    set_up_cpu(1 if side_by_side > 1 else run.settings.training.threads)
                    results.measure(run)
            except (InputError, OSError, RuntimeError, MemoryError) as found:  # the other runs continue
                error = str(found) or type(found).__name__
            if error:
                failed[run.name] = error
                results.failed(run, error)

        jobs = [run for run in chosen.values() if not run_state(run).trained]
        ended: list[str] = []

        def end(command: Command, error: str) -> None:
            measure(chosen[command.name], error)
            ended.append(command.name)
            left = time_left(current_states(results), side_by_side) if len(ended) < len(jobs) else ""
            came = f"failed: {failed[command.name]}" if command.name in failed else "done"
            say(f"[{len(ended)} of {len(jobs)}] {command.name}: {came}{f'; {left}' if left else ''}")

        for run in chosen.values():
            if run not in jobs:
                measure(run)
        commands = [train_command(run, side_by_side > 1) for run in jobs]
        run_all(commands, ended=end, side_by_side=side_by_side)
        table = study_table(results)
        write_tables(table, results)
        finished = [run for run in chosen.values() if not run.reverse and results.status(run) == "done"]
        page = _report(folder, finished, trust_code, run_all) if report else None
        return Finished(table, *write_pages(folder, table, command), failed, page)


def current_states(results: Results) -> list[RunState]:
    """Returns the state of every run; a run counts as measured when its row is in the results."""
    return [run_state(run, results.status(run) == "done") for run in results.folder.runs]


def status_lines(folder: StudyFolder) -> Iterator[str]:
    """Yields a line about each run, and one about the whole study."""
    states = current_states(Results(folder))
    yield from (state.line(usual_minutes(states)) for state in states)
    done, left = sum(state.measured for state in states), time_left(states, 1)
    rest = f"; {left}, one run after the other" if left and done < len(states) else ""
    yield f"{done} of {len(states)} runs done{rest}"


def _check_names(folder: StudyFolder, only: Sequence[str]) -> None:
    """Raises InputError for an unknown variant, and for a system with the name of a run: tables could not
    tell them apart."""
    study, runs = folder.study, {name for run in folder.runs for name in (run.name, run.variant)}
    for system in (system for test in study.tests.values() for system in test.systems):
        if system in runs:
            what = f"the system {system} has the name of a run"
            raise InputError(what, file=folder.name, remedy="give it another name")
    for name in only:
        if name not in study.variants:
            what, remedy = f"the study has no variant {name!r}", f"one of {', '.join(study.variants)}"
            raise InputError(what, file=folder.name, remedy=remedy)


def _check_runs(runs: Sequence[StudyRun]) -> None:
    """Raises InputError, before anything is trained, for a run in the folder whose settings differ from the
    study's."""
    corpora: dict[Path, Corpus] = {}
    for run in runs:
        if (run.path / "config.toml").exists():
            if run.store not in corpora:
                corpora[run.store] = Corpus.open(run.store)
            check_resumed(run.path, run.settings, corpora[run.store])


def report_command(folder: StudyFolder, runs: Sequence[StudyRun], trust_code: bool = False) -> Command:
    """Returns the command that reports on these runs, for the test sets that are translated."""
    tests = {name: test for name, test in folder.tests.items() if test.translate}
    words: list[Any] = ["report", *(f"{run.name}={run.path}" for run in runs), "--test"]
    for name, test in tests.items():
        words += [f"{name}={test.source}", test.reference]
    for system in dict.fromkeys(system for test in tests.values() for system in test.systems):
        first, *others = (test.systems.get(system, "-") for test in tests.values())
        words += ["--system", f"{system}={first}", *others]
    words += [word for name, test in tests.items() if test.gold for word in ("--gold", f"{name}={test.gold}")]
    training, out = runs[0].settings.training, folder / "report"
    words += ["--title", folder.study.title] if folder.study.title else []
    words += ["--device", training.device] if training.device != "cpu" else []
    words += ["--threads", training.threads] if training.threads else []
    words += ["--trust-code"] if trust_code else []
    return Command("report", [*map(str, words), "--out", str(out)], out / "index.html")


def _report(
    folder: StudyFolder, runs: Sequence[StudyRun], trust_code: bool, run_all: Callable[..., None]
) -> Path:
    """Writes OUT/report from finished runs; returns its page. The report reuses the study's translations."""
    if not runs:
        raise InputError("no run is finished, so there is nothing to report", file=folder.path)
    translations = folder / "report" / "translations"
    if not translations.exists():
        translations.parent.mkdir(exist_ok=True)
        translations.symlink_to(Path("..") / folder.outputs.name)
    command = report_command(folder, runs, trust_code)
    run_all([command])
    return command.made


def dry_run(folder: StudyFolder, report: bool = False) -> Iterator[str]:
    """Yields commands that do the same as the study. report: whether to include the report's command."""
    if is_written(folder):
        built_in = folder.study.corpus.builtin
        what = "the built-in corpus" if built_in else "the part of the files that the study uses"
        yield f"# {folder.corpus}: {what}"
    yield from map(str, prepare_commands(folder))
    translated = {name: test for name, test in folder.tests.items() if test.translate}
    for run in folder.runs:
        yield str(train_command(run))
        for name, test in translated.items() if not run.reverse else ():
            out = folder.outputs / run.name / f"{name}.txt"
            yield str(Command(name, ["translate", str(run.path), test.source, "--out", str(out)], out))
    if report:
        yield str(report_command(folder, [run for run in folder.runs if not run.reverse]))
