"""A study from its file to its results: prepare the corpus once; then train every variant with
every seed, translate the test sets, and measure. What is there is not made again, so the same
command continues."""

from __future__ import annotations

import ctypes
import json
import math
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import tomli_w

from rnnsearch.arguments import in_step
from rnnsearch.builtin.corpus import generate, write_examples
from rnnsearch.builtin.corpus import write as write_builtin
from rnnsearch.cli.answers import Loading
from rnnsearch.config import stored
from rnnsearch.errors import InputError
from rnnsearch.lab.eflomal_links import link_texts
from rnnsearch.lab.held_out import pairs_of, write_corpus, write_pairs
from rnnsearch.lab.measures import MeasureOptions, Statistics, departure, system_statistics
from rnnsearch.lab.metrics import DEPARTURE
from rnnsearch.lab.outputs import Kind, open_run, run_answers
from rnnsearch.lab.study import EFLOMAL, StudyFolder, StudyRun
from rnnsearch.lab.test_set import TestSet
from rnnsearch.run import CHECKPOINT, read_statistics
from rnnsearch.settings import Settings
from rnnsearch.system.cores import core_count
from rnnsearch.system.files import content_key, parse_json, read_toml, reading, write_text
from rnnsearch.system.progress import Progress, note, silent
from rnnsearch.system.work_folder import MakeOnce, work_folder
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.preparation import PrepareOptions, prepare_texts

LEARNED = (
    "updates",
    "epochs",
    "hours",
    "dev_nll",
    "dev_bleu",
    "best_update",
    "hardware",
    "validations",
)
"""Keys that a row takes from the run's learning statistics."""
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)
END_WITH_PARENT = partial(PRCTL, 1, signal.SIGTERM) if PRCTL else None
"""Asks Linux for SIGTERM when the parent is killed (PR_SET_PDEATHSIG); a training then saves and
ends. Made here because a process that was just forked should do as little as possible."""
ResultRow = dict[str, Any]


class Measured(NamedTuple):
    """A run's row of results.jsonl, and its statistics by test set; these are empty if the run
    failed."""

    row: ResultRow
    statistics: dict[str, Statistics]

    @property
    def usable(self) -> bool:
        """Tells whether the run is averaged with others: it was trained, and did not diverge."""
        return bool(self.row["status"] == "done")


def run_study(
    folder: StudyFolder,
    *,
    jobs: int = 1,
    only: Sequence[str] = (),
    trust_code: bool = False,
    progress: Progress = silent,
) -> list[Measured]:
    """Trains and measures every run that is missing, and writes results.jsonl, a row for each run.

    jobs: runs that are trained at the same time. only: variants to run; empty for all. A run that
    fails has a row with its error, and the next call tries it again.
    Raises InputError for a study that does not fit its files, and for a folder with other files,
    before anything is trained.
    """
    if unknown := sorted(set(only) - set(folder.study.variants)):
        remedy = f"one of {', '.join(folder.study.variants)}"
        raise InputError(f"the study has no variant {unknown[0]!r}", remedy, file=folder.name)
    runs = [run for run in folder.runs if not only or run.variant in only]
    found, results = dict[str, Measured](), folder.path / "results.jsonl"
    with work_folder(folder.path, "experiment", study_key(folder)) as step:
        tests = prepare_study(folder, step, progress)
        rows = read_rows(results)
        with closing(train_runs(folder, runs, jobs)) as trained:
            for run, error in trained:
                if error:
                    failed = run.names | {"status": "failed", "error": error, "tests": {}}
                    measured = Measured(failed, {})
                else:
                    measured = measure_run(folder, run, tests, trust_code, progress)
                row = measured.row
                found[run.name], rows[run.name] = measured, row
                known = (rows[one.name] for one in folder.runs if one.name in rows)
                write_text(results, "".join(f"{json.dumps(one)}\n" for one in known))
                shown = ": ".join(row[key] for key in ("status", "error") if key in row)
                note(f"[{len(found)} of {len(runs)}] {run.name}: {shown}")
    return [found[run.name] for run in runs]


def study_key(folder: StudyFolder) -> str:
    """Returns a checksum of what the study's corpus is made from. Raises InputError for files that
    are missing."""
    inputs = folder.study.corpus
    files = [folder.base / name for name in (*inputs.train, *inputs.dev, inputs.links) if name]
    files += chain.from_iterable(linked_tests(folder).values())
    for path in files:
        if not path.exists():
            remedy = "check the path; paths are relative to the folder of --data"
            raise InputError("no such file", remedy, file=path)
    made = inputs, folder.corpus.data
    settings = (one.model_dump_json(exclude_defaults=True) for one in made)
    return content_key(files, *settings, *linked_tests(folder))


def linked_tests(folder: StudyFolder) -> dict[str, tuple[Path, Path]]:
    """Returns the texts of the tests that eflomal links, by the test's name."""
    return {
        name: (Path(test.source), Path(test.reference))
        for name, test in folder.tests.items()
        if name in folder.study.tests and folder.study.tests[name].links == EFLOMAL
    }


def prepare_study(folder: StudyFolder, step: MakeOnce, progress: Progress) -> dict[str, TestSet]:
    """Makes OUT/corpus, with the links, and OUT/store, if they are missing. Returns the test sets
    by name, which are read first where they are given."""
    tests = {name: folder.read_test(name) for name in folder.study.tests}
    for name, test in folder.study.tests.items():
        if test.links and test.links != EFLOMAL:
            folder.read_links(name)
        folder.read_systems(name)
    corpus = step("corpus", lambda out: write_study_corpus(folder, out, progress))
    tests |= {name: folder.read_test(name) for name in folder.tests if name not in tests}
    step("store", lambda out: write_study_store(folder, corpus, out, progress))
    return {name: tests[name] for name in folder.tests}


def write_study_corpus(folder: StudyFolder, out: Path, progress: Progress) -> None:
    """Writes train and dev as plain text, the links of train, and those of the tests by a second
    run of eflomal on train and the tests together: nothing of a test is in what a network learns
    from."""
    out.mkdir()
    write_parts(folder, out)
    if not (method := folder.study.corpus.align):
        return
    note("making word links with eflomal")
    learned = [out / f"train.{side}" for side in folder.sides]
    link = partial(link_texts, settings=folder.corpus.data, method=method, progress=progress)
    note(link(parallel_texts(learned), [out / "train.links"]).rstrip())
    if tests := linked_tests(folder):
        texts = parallel_texts([*learned, *chain.from_iterable(tests.values())])
        with TemporaryDirectory(prefix="rnnsearch-") as work:
            link(texts, [Path(work) / "train.links", *(out / f"{name}.links" for name in tests)])


def write_study_store(folder: StudyFolder, corpus: Path, out: Path, progress: Progress) -> None:
    """Prepares the dataset from the corpus."""
    learned, dev = (
        [corpus / f"{part}.{side}" for side in folder.sides] for part in ("train", "dev")
    )
    known = [links] if (links := corpus / "train.links").exists() else []
    options = PrepareOptions(links=known, workers=core_count(), progress=progress)
    pairs = parallel_texts(dev) if dev[0].stat().st_size else []
    settings = folder.corpus.data
    prepare_texts(parallel_texts(learned), out, dev=pairs, settings=settings, options=options)


def write_parts(folder: StudyFolder, out: Path) -> None:
    """Writes train and dev as plain text, with the links that are given."""
    inputs = folder.study.corpus
    train, dev = ([folder.base / file for file in files] for files in (inputs.train, inputs.dev))
    if inputs.builtin:
        write_builtin(out, inputs.pairs or 12_000, inputs.held_out)
        if inputs.long_pairs:
            write_examples(out, "long", generate(inputs.long_pairs, seed=2, min_words=41))
    elif inputs.hold_out:
        write_corpus(parallel_texts(train), out, folder.sides, inputs.pairs)
    else:
        parts = ("train", train, inputs.pairs), ("dev", dev, inputs.dev_pairs)
        named = (
            (name, pair)
            for name, files, most in parts
            if files
            for pair in islice(pairs_of(parallel_texts(files)), most)
        )
        write_pairs(named, out, folder.sides, ("train", "dev"))
    if inputs.links:
        links = folder.base / inputs.links
        texts = pairs_of(parallel_texts(train))
        pairs = in_step(read_lines(links), texts, (links, inputs.train[0]))
        lines = [line for line, _ in pairs][: inputs.pairs]
        write_text(out / "train.links", "".join(f"{line}\n" for line in lines))


def read_rows(results: Path) -> dict[str, ResultRow]:
    """Returns the rows that an earlier call has written, by run. Raises InputError for other
    content."""
    if not results.exists():
        return {}
    with reading(results, "remove it: the same command writes it again"):
        rows = list(map(parse_json, results.read_text("utf-8").splitlines()))
        if not all(isinstance(row, dict) and "run" in row for row in rows):
            raise ValueError("a line is not the row of a run")
        return {row["run"]: row for row in rows}


def train_runs(
    folder: StudyFolder, runs: Sequence[StudyRun], jobs: int
) -> Generator[tuple[StudyRun, str], None, None]:
    """Trains the runs, or resumes their training, `jobs` at a time. Yields each when it ends, with
    its error, "" if it succeeded. Closing the generator asks the trainings that still run to save
    and end."""
    waiting, running = deque(runs), list[Training]()
    try:
        while waiting or running:
            if waiting and len(running) < jobs:
                running.append(Training(folder, waiting.popleft()))
            for training in [*running]:
                if training.has_ended():
                    running.remove(training)
                    yield training.run, training.error()
            time.sleep(0.05)
    finally:
        processes = [training.process for training in running if training.process]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


class Training:
    """The training of a run, in a process of its own that appends its messages to a log file.
    process: None if the run has been trained with these settings."""

    process: subprocess.Popen[bytes] | None = None
    fault = ""

    def __init__(self, folder: StudyFolder, run: StudyRun) -> None:
        self.run, self.log = run, folder.path / "logs" / f"{run.name}.log"
        recipe = folder.path / "recipes" / f"{run.name}.toml"
        before = stored(read_toml(recipe), str(recipe)) if recipe.exists() else None
        if before and (run.path / CHECKPOINT).exists():
            self.fault = _other_optimiser(before, run)
        if self.fault:
            return
        if before != run.settings:
            # a training that ended did so by other settings; its next checkpoint says how
            (run.path / "log" / "statistics.json").unlink(missing_ok=True)
        elif read_statistics(run.path).get("ended_because"):
            return
        for file in (recipe, self.log):
            file.parent.mkdir(exist_ok=True)
        write_text(recipe, tomli_w.dumps(run.settings.model_dump(exclude_none=True)))
        words = ["train", recipe, "--data", folder.path / "store", "--out", run.path, "--resume"]
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rnnsearch", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C does not reach it
                preexec_fn=END_WITH_PARENT,
            )

    def has_ended(self) -> bool:
        """Tells whether the training has ended, successfully or not."""
        return self.process is None or self.process.poll() is not None

    def error(self) -> str:
        """Returns the error of a training that has ended, "" if it succeeded."""
        if self.fault:
            return self.fault
        code = self.process.returncode if self.process else 0
        if code <= 0:
            return f"ended by {signal.Signals(-code).name}" if code else ""
        log = self.log.read_text("utf-8", errors="replace")
        said = re.findall(r"(?:^|[\r\n])rnnsearch: ([^\r\n]*)", log)
        return str(said[-1]) if said else f"exit code {code}"


def _other_optimiser(before: Settings, run: StudyRun) -> str:
    """Returns why weights that were trained with these settings are not those of the run; "" if
    they are. `train --resume` accepts another learning rate, which affects only later updates."""
    for key, old in before.optimiser:
        if (new := getattr(run.settings.optimiser, key)) != old:
            what = f"was trained with optimiser.{key} = {old!r}, which is now {new!r}"
            remedy = "remove it to train it anew, or name another folder with --out"
            return str(InputError(what, remedy, file=run.path))
    return ""


def measure_run(
    folder: StudyFolder,
    run: StudyRun,
    tests: dict[str, TestSet],
    trust_code: bool,
    progress: Progress,
) -> Measured:
    """Returns the results of a trained run. Outputs that are missing are made, and kept in
    OUT/translations."""
    training, statistics, parameters = run.settings.training, dict[str, Statistics](), None
    loading = Loading(training.device, training.threads, trust_code)
    opened = open_run(run.name, run.path, loading=loading)
    options = MeasureOptions(multi_bleu=side_tokeniser("target", opened.run.settings.data))
    for name, test in tests.items():
        files = folder.tests[name]
        kinds = [Kind.TRANSLATIONS] if files.translate else []
        kinds += [Kind.POSTERIOR] if files.gold else []
        answers = run_answers(opened, test, folder.path / "translations", progress, kinds)
        statistics[name] = system_statistics(test, answers.system, options)
        if files.links and answers.attends:
            statistics[name][DEPARTURE] = departure(answers.references, folder.read_links(name))
        parameters = answers.header.get("parameters", parameters)
    learned = read_statistics(run.path)
    row = run.names | {"status": "done", "parameters": parameters}
    row |= {key: learned.get(key) for key in LEARNED}
    nll = [one["dev_nll"] for one in learned.get("validations") or [] if "dev_nll" in one]
    if nll and not (math.isfinite(nll[-1]) and nll[-1] <= nll[0]):
        row |= {"status": "diverged", "error": f"development NLL {nll[0]:.1f} became {nll[-1]:.1f}"}
    row["tests"] = {
        name: {key: one.score().value for key, one in of.items()} for name, of in statistics.items()
    }
    return Measured(row, statistics)
