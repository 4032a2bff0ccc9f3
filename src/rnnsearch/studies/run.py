"""A study from its file to its results: prepare the corpus once; then train every variant with every seed,
translate the test sets, and measure. What is there is not made again, so the same command continues."""

from __future__ import annotations

import ctypes
import json
import math
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack, closing
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w

from rnnsearch.builtin.corpus import generate, split, write_examples
from rnnsearch.config import Settings, stored
from rnnsearch.errors import InputError
from rnnsearch.evaluation.measures import Statistics, system_statistics
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.evaluation.test_set import System, TestSet, require_lines
from rnnsearch.records import Translation
from rnnsearch.studies.study import CorpusFiles, StudyFolder, StudyRun
from rnnsearch.system.files import (
    only_one,
    parse_json,
    read_json,
    read_toml,
    reading,
    whole_folder,
    write_text,
)
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import Progress, silent
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import Kind, open_run, run_answers
from rnnsearch.word_links import Link, parse_links

DEPARTURE = "distance from the links"
"""Metric: 1 − Σ_j α_ij over the linked source words j, averaged over the linked target words i."""
LEARNED = ("updates", "epochs", "hours", "dev_nll", "dev_bleu", "best_update", "hardware", "validations")
"""Keys that a row takes from the run's learning statistics."""
PRCTL = getattr(ctypes.CDLL(None), "prctl", None)
"""Linux's prctl, looked up here because a process that was just forked should do as little as possible."""
END_WITH_PARENT = 1
"""prctl's option PR_SET_PDEATHSIG: the signal that a process gets when its parent ends."""
Row = dict[str, Any]


class Measured(NamedTuple):
    """A run's row of results.jsonl, and its statistics by test set; these are empty if the run failed."""

    row: Row
    statistics: dict[str, Statistics]

    @property
    def usable(self) -> bool:
        """Tells whether the run is averaged with others: it was trained, and did not diverge."""
        return bool(self.row["status"] == "done")


def run_study(
    folder: StudyFolder,
    *,
    say: Callable[[str], None],
    jobs: int = 1,
    only: Sequence[str] = (),
    trust_code: bool = False,
    progress: Progress = silent,
) -> list[Measured]:
    """Trains and measures every run that is missing, and writes results.jsonl, a row for each run.

    say: receives messages for a person. jobs: runs that are trained at the same time. only: variants to run;
    empty for all. A run that fails has a row with its error, and the next call tries it again.
    Raises InputError for a study that does not fit its files, before anything is trained.
    """
    unknown = sorted(set(only) - set(folder.study.variants))
    if unknown:
        remedy = f"one of {', '.join(folder.study.variants)}"
        raise InputError(f"the study has no variant {unknown[0]!r}", file=folder.name, remedy=remedy)
    runs = [run for run in folder.runs if not only or run.variant in only]
    found: dict[str, Measured] = {}
    with only_one(folder.path, "running a study"):
        tests = prepare(folder, say)
        rows = _earlier_rows(folder / "results.jsonl")
        with closing(train(folder, runs, jobs)) as trained:
            for run, error in trained:
                if error:
                    row = run.names | {"status": "failed", "error": error, "tests": {}}
                    measured = Measured(row, {})
                else:
                    measured = measure(folder, run, tests, trust_code, progress)
                found[run.name], rows[run.name] = measured, measured.row
                lines = [json.dumps(rows[run.name]) + "\n" for run in folder.runs if run.name in rows]
                write_text(folder / "results.jsonl", "".join(lines))
                shown = ": ".join(measured.row[key] for key in ("status", "error") if key in measured.row)
                say(f"[{len(found)} of {len(runs)}] {run.name}: {shown}")
    return [found[run.name] for run in runs]


def _earlier_rows(results: Path) -> dict[str, Row]:
    """Returns the rows that an earlier call has written, by run. Raises InputError for other content."""
    if not results.exists():
        return {}
    with reading(results, "remove it: the same command writes it again"):
        rows = list(map(parse_json, results.read_text("utf-8").splitlines()))
        if not all(isinstance(row, dict) and "run" in row for row in rows):
            raise ValueError("a line is not the row of a run")
        return {row["run"]: row for row in rows}


def prepare(folder: StudyFolder, say: Callable[[str], None]) -> dict[str, TestSet]:
    """Writes OUT/corpus, the links and OUT/store, if they are missing. Returns the test sets by name, which
    are read before the links are made.

    Raises InputError if the folder was prepared from other files or with other settings.
    """
    study, note = folder.study.corpus, folder / "corpus.json"
    sizes = {}
    for path in (folder.data / name for name in (*study.train, *study.dev, study.links) if name):
        if not path.exists():
            remedy = "check the path; paths are relative to the folder of --data"
            raise InputError("no such file", file=path, remedy=remedy)
        sizes[path.name] = path.stat().st_size
    if note.exists():
        old = read_json(note)
        data = stored({"data": old["data"]}, str(note)).data
        if (CorpusFiles(**old["corpus"]), data, old["bytes"]) != (study, folder.corpus.data, sizes):
            what = "the corpus was prepared from other files or settings"
            raise InputError(what, file=folder.path, remedy="begin again in another folder")
    corpus, recipe = folder / "corpus", folder / "recipes" / "corpus.toml"
    if not corpus.exists():
        with whole_folder(corpus, lambda path: False) as parts:
            _write_corpus(folder, parts)
    content = {"corpus": study.model_dump(), "data": folder.corpus.data.model_dump(), "bytes": sizes}
    write_text(note, json.dumps(content, indent=2) + "\n")
    tests = {name: folder.read_test(name) for name in folder.tests}
    write_recipe(recipe, folder.corpus)
    train, dev = ([corpus / f"{part}.{side}" for side in folder.sides] for part in ("train", "dev"))
    links, store = corpus / "train.links", folder / "store"
    if study.align and not links.exists():
        say("making word links with eflomal")
        words: list[object] = [*train]
        outs: list[object] = ["--out", links]
        for name, test in folder.tests.items():
            if folder.study.tests[name].links == "eflomal":
                words += [test.source, test.reference]
                outs += ["--out", test.links]
        how = ["--symmetrise", study.align, "--recipe", recipe, "--overwrite"]
        Command(folder / "logs" / "links.log", "links", *words, *outs, *how).finish()
    if not store.exists():
        say("preparing the corpus")
        words = [*train, "--out", store, "--recipe", recipe]
        words += ["--dev", *dev] if study.dev or study.builtin else []
        words += ["--links", links] if links.exists() else []
        Command(folder / "logs" / "store.log", "prepare", *words).finish()
    return tests


def _write_corpus(folder: StudyFolder, out: Path) -> None:
    """Writes train and dev as plain text, with the links that are given."""
    study = folder.study.corpus
    if study.builtin:
        parts = split(study.pairs or 12_000, study.held_out)
        for name, examples in zip(("train", "dev", "test"), parts, strict=True):
            write_examples(out, name, examples)
        if study.long_pairs:
            write_examples(out, "long", generate(study.long_pairs, seed=2, min_words=41))
        return
    for name, files, count in (("train", study.train, study.pairs), ("dev", study.dev, study.dev_pairs)):
        paths = [folder.data / file for file in files]
        texts = (read_pairs(*sides) for sides in zip(paths[::2], paths[1::2], strict=True))
        with ExitStack() as opened:
            names = (out / f"{name}.{side}" for side in folder.sides)
            sides = [opened.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in names]
            for pair in islice(chain.from_iterable(texts), count):
                for file, line in zip(sides, pair, strict=True):
                    file.write(f"{line}\n")
    if study.links:
        lines = islice(read_lines(folder.data / study.links), study.pairs)
        write_text(out / "train.links", "".join(f"{line}\n" for line in lines))


def write_recipe(path: Path, settings: Settings) -> None:
    """Writes resolved settings as a recipe."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, tomli_w.dumps(settings.model_dump(exclude_none=True)))


class Command:
    """A command of rnnsearch, in a process of its own that appends its messages to a log file."""

    def __init__(self, log: Path, *words: object) -> None:
        self.log = log
        log.parent.mkdir(exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rnnsearch", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C does not reach it
                preexec_fn=_end_with_parent,
            )

    def error(self) -> str:
        """Waits for the end of the command; returns its error, "" if it succeeded."""
        code = self.process.wait()
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        lines = self.log.read_text("utf-8", errors="replace").replace("\r", "\n").split("\n")
        said = next((line for line in reversed(lines) if line.startswith("rnnsearch: ")), f"exit code {code}")
        return said.removeprefix("rnnsearch: ") if code else ""

    def finish(self) -> None:
        """Waits for the end of the command. Raises InputError with its error; Ctrl-C ends it."""
        try:
            if error := self.error():
                raise InputError(error)
        finally:
            end([self])


def end(commands: Collection[Command]) -> None:
    """Asks the commands that still run to save and end, and waits for them."""
    for command in commands:
        command.process.terminate()
    for command in commands:
        command.process.wait()


def _end_with_parent() -> None:
    """Asks the kernel for SIGTERM when the parent is killed; a training then saves and ends."""
    if PRCTL is not None:
        PRCTL(END_WITH_PARENT, signal.SIGTERM)


def train(
    folder: StudyFolder, runs: Sequence[StudyRun], jobs: int
) -> Generator[tuple[StudyRun, str], None, None]:
    """Trains the runs, or resumes their training, `jobs` at a time. Yields each when it ends, with its error,
    "" if it succeeded. Closing the generator ends the trainings that still run."""
    waiting, running = deque(runs), list[tuple[StudyRun, Command | None]]()
    try:
        while waiting or running:
            if waiting and len(running) < jobs:
                run = waiting.popleft()
                running.append((run, begin_training(folder, run)))
            for run, command in [*running]:
                if command is None or command.process.poll() is not None:
                    running.remove((run, command))
                    yield run, command.error() if command else ""
            time.sleep(0.05)
    finally:
        end([command for _, command in running if command])


def begin_training(folder: StudyFolder, run: StudyRun) -> Command | None:
    """Begins or resumes the training of a run; None if it has been trained with these settings."""
    recipe = folder / "recipes" / f"{run.name}.toml"
    if not recipe.exists() or stored(read_toml(recipe), str(recipe)) != run.settings:
        # a training that ended did so by other settings; its next checkpoint says how
        (run.path / "log" / "statistics.json").unlink(missing_ok=True)
    elif read_statistics(run.path).get("ended_because"):
        return None
    write_recipe(recipe, run.settings)
    log, store = folder / "logs" / f"{run.name}.log", folder / "store"
    return Command(log, "train", recipe, "--data", store, "--out", run.path, "--resume")


def measure(
    folder: StudyFolder, run: StudyRun, tests: dict[str, TestSet], trust_code: bool, progress: Progress
) -> Measured:
    """Returns the results of a trained run. Outputs that are missing are made, and kept in
    OUT/translations."""
    training, statistics, parameters = run.settings.training, dict[str, Statistics](), None
    set_up_cpu(training.threads)
    opened = open_run(run.name, run.path, device=training.device, trust_code=trust_code)
    for name, test in tests.items():
        files = folder.tests[name]
        kinds = [Kind.TRANSLATIONS] * files.translate + [Kind.POSTERIOR] * (files.gold is not None)
        answers = run_answers(opened, test, folder / "translations", progress, kinds)
        statistics[name] = system_statistics(test, System(run.name, answers.texts, run=answers))
        if files.links and answers.attends:
            statistics[name][DEPARTURE] = departure(answers.references, read_test_links(files.links, test))
        parameters = answers.parameters or parameters
    learned = read_statistics(run.path)
    row = (
        run.names | {"status": "done", "parameters": parameters} | {key: learned.get(key) for key in LEARNED}
    )
    nll = [one["dev_nll"] for one in learned.get("validations") or [] if "dev_nll" in one]
    if nll and not (math.isfinite(nll[-1]) and nll[-1] <= nll[0]):
        row |= {"status": "diverged", "error": f"development NLL {nll[0]:.1f} became {nll[-1]:.1f}"}
    scores = {name: {key: one.score().value for key, one in of.items()} for name, of in statistics.items()}
    return Measured(row | {"tests": scores}, statistics)


def read_test_links(file: str, test: TestSet) -> list[list[Link]]:
    """Reads the known links of a test set, between the tokenisers' words, one line for each sentence. Raises
    InputError for a file that cannot be read, or that has fewer lines."""
    lines = list(islice(read_lines(file), len(test.source)))
    require_lines(file, len(lines), test)
    return [parse_links(line, file, number) for number, line in enumerate(lines, 1)]


def departure(references: Sequence[Translation], links: Sequence[Sequence[Link]]) -> SufficientStatistics:
    """Returns how far α is from known links: the mean, over the target words that have links, of the weight
    on other source words.

    references: results of forced decoding. links: (source, target) of every sentence. Links outside a
    sentence are left out.
    """
    distances, words = [], []
    for result, known in zip(references, links, strict=True):
        targets, sources = len(result.tokens), len(result.source_tokens)
        linked = np.zeros((targets, sources), dtype=bool)
        for j, i in known:
            if i < targets and j < sources - 1:
                linked[i, j] = True
        some = linked.any(axis=1)
        distances.append(float((1.0 - (result.alignment * linked).sum(axis=1))[some].sum()))
        words.append(int(some.sum()))
    return ratio(DEPARTURE, "of forced decoding", distances, words, lower_is_better=True)
