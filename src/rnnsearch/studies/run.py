"""A study from its file to its results: prepare the corpus once; then train every variant with every seed,
translate the test sets, and measure. What is there is not made again, so the same command continues."""

from __future__ import annotations

import ctypes
import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from threading import Lock
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
from rnnsearch.studies.study import CorpusFiles, StudyFolder, StudyRun, StudyTest
from rnnsearch.system.files import only_one, read_json, read_toml, whole_folder, write_text
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.system.progress import Progress
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.training.log import read_statistics
from rnnsearch.translation.outputs import open_run, run_answers
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
    progress: Progress = lambda text, done, total: None,
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
    with only_one(folder.path, "running a study"):
        commands = Commands(folder.path / "logs")
        tests = prepare(folder, commands, say)
        runs = [run for run in folder.runs if not only or run.variant in only]
        results, found, writing = folder / "results.jsonl", dict[str, Measured](), Lock()
        rows = _earlier_rows(results, [run.name for run in folder.runs])

        def finish(run: StudyRun) -> None:
            error = train(folder, commands, run)
            if commands.ended:
                return
            with writing:  # measures one run at a time
                one = found[run.name] = (
                    Measured(run.names | {"status": "failed", "error": error, "tests": {}}, {})
                    if error
                    else measure(folder, run, tests, trust_code, progress)
                )
                shown = one.row["status"] if one.usable else f"{one.row['status']}: {one.row['error']}"
                say(f"[{len(found)} of {len(runs)}] {run.name}: {shown}")
                rows[run.name] = one.row
                write_text(results, "".join(json.dumps(row) + "\n" for row in rows.values()))

        with ThreadPoolExecutor(jobs) as pool:
            try:
                list(pool.map(finish, runs))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                commands.end()
                raise
        return [found[run.name] for run in runs]


def _earlier_rows(results: Path, runs: Sequence[str]) -> dict[str, Row]:
    """Returns the rows of an earlier call for these runs. Raises InputError for a line that is not a row."""
    rows = {}
    for number, line in enumerate(results.read_text("utf-8").splitlines() if results.exists() else (), 1):
        try:
            row = json.loads(line)
            rows[row["run"]] = row
        except (ValueError, KeyError, TypeError):
            raise InputError("is not a row", file=results, line=number, remedy="remove the line") from None
    return {name: rows[name] for name in runs if name in rows}


def prepare(folder: StudyFolder, commands: Commands, say: Callable[[str], None]) -> dict[str, TestSet]:
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
        files, data = CorpusFiles(**old["corpus"]), stored({"data": old["data"]}, str(note)).data
    if note.exists() and (files, data, old["bytes"]) != (study, folder.corpus.data, sizes):
        what, remedy = "the corpus was prepared from other files or settings", "begin again in another folder"
        raise InputError(what, file=folder.path, remedy=remedy)
    corpus, recipe = folder / "corpus", folder / "recipes" / "corpus.toml"
    if not corpus.exists():
        with whole_folder(corpus, lambda path: False) as parts:
            _write_corpus(folder, parts)
    content = {"corpus": study.model_dump(), "data": folder.corpus.data.model_dump(), "bytes": sizes}
    write_text(note, json.dumps(content, indent=2) + "\n")
    tests = {name: folder.read_test(name) for name in folder.tests}
    write_recipe(recipe, folder.corpus)
    train, dev = ([str(corpus / f"{part}.{side}") for side in folder.sides] for part in ("train", "dev"))
    links = corpus / "train.links"
    if study.align and not links.exists():
        say("making word links with eflomal")
        words, outs = [*train], ["--out", str(links)]
        for name, test in folder.tests.items():
            if folder.study.tests[name].links == "eflomal":
                words += [test.source, test.reference]
                outs += ["--out", str(test.links)]
        how = ["--symmetrise", study.align, "--recipe", recipe, "--overwrite"]
        commands.must("links", "links", *words, *outs, *how)
    if not (folder / "store").exists():
        say("preparing the corpus")
        words = [*train, "--out", str(folder / "store"), "--recipe", str(recipe)]
        words += ["--dev", *dev] if study.dev or study.builtin else []
        words += ["--links", str(links)] if links.exists() else []
        commands.must("store", "prepare", *words)
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


class Commands:
    """The commands of rnnsearch that a study runs, each in a process of its own, with its messages in
    OUT/logs."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.running: set[subprocess.Popen[bytes]] = set()
        self.ended = False

    def run(self, name: str, *words: object) -> str:
        """Runs a command to its end; returns its error, "" if it succeeded."""
        self.logs.mkdir(exist_ok=True)
        log, command = self.logs / f"{name}.log", [sys.executable, "-m", "rnnsearch", *map(str, words)]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        with log.open("a", encoding="utf-8") as file:  # in its own session, which Ctrl-C does not reach
            process = subprocess.Popen(
                command, stdout=file, start_new_session=True, preexec_fn=_end_with_parent, **pipes
            )
        self.running.add(process)
        code = process.wait()
        self.running.discard(process)
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        lines = log.read_text("utf-8", errors="replace").replace("\r", "\n").split("\n")
        said = next((line for line in reversed(lines) if line.startswith("rnnsearch: ")), f"exit code {code}")
        return said.removeprefix("rnnsearch: ") if code else ""

    def must(self, name: str, *words: object) -> None:
        """Runs a command. Raises InputError with its error, if it has one; Ctrl-C ends it."""
        try:
            error = self.run(name, *words)
        except BaseException:
            self.end()
            raise
        if error:
            raise InputError(error)

    def end(self) -> None:
        """Asks every running command to save and end, and waits for it; no other is recorded."""
        self.ended = True
        running = list(self.running)
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def _end_with_parent() -> None:
    """Asks the kernel for SIGTERM when the parent is killed; a training then saves and ends."""
    if PRCTL is not None:
        PRCTL(END_WITH_PARENT, signal.SIGTERM)


def train(folder: StudyFolder, commands: Commands, run: StudyRun) -> str:
    """Trains a run, or resumes its training; returns the error, "" if it succeeded."""
    recipe = folder / "recipes" / f"{run.name}.toml"
    if not recipe.exists() or stored(read_toml(recipe), str(recipe)) != run.settings:
        # a training that ended did so by other settings; its next checkpoint says how
        (run.path / "log" / "statistics.json").unlink(missing_ok=True)
    elif read_statistics(run.path).get("ended_because"):
        return ""
    write_recipe(recipe, run.settings)
    return commands.run(run.name, "train", recipe, "--data", folder / "store", "--out", run.path, "--resume")


def measure(
    folder: StudyFolder, run: StudyRun, tests: dict[str, TestSet], trust_code: bool, progress: Progress
) -> Measured:
    """Returns the results of a trained run. Outputs that are missing are made, and kept in
    OUT/translations."""
    training, statistics = run.settings.training, dict[str, Statistics]()
    set_up_cpu(training.threads)
    opened = open_run(run.name, run.path, device=training.device, trust_code=trust_code)
    row: Row = run.names | {"status": "done", "parameters": None}
    for name, test in tests.items():
        files = folder.tests[name]
        answers = run_answers(
            opened,
            test,
            folder / "translations",
            progress,
            translate=files.translate,
            without_unk=False,
            posterior=files.gold is not None,
        )
        statistics[name] = system_statistics(test, System(run.name, answers.texts, run=answers))
        if files.links and answers.attends:
            statistics[name][DEPARTURE] = departure(answers.references, read_test_links(files, test))
        row["parameters"] = answers.parameters or row["parameters"]
    learned = read_statistics(run.path)
    row |= {key: learned.get(key) for key in LEARNED}
    nll = [one["dev_nll"] for one in learned.get("validations") or [] if "dev_nll" in one]
    if nll and not (math.isfinite(nll[-1]) and nll[-1] <= nll[0]):
        row |= {"status": "diverged", "error": f"development NLL {nll[0]:.1f} became {nll[-1]:.1f}"}
    scores = {name: {key: one.score().value for key, one in of.items()} for name, of in statistics.items()}
    return Measured(row | {"tests": scores}, statistics)


def read_test_links(files: StudyTest, test: TestSet) -> list[list[Link]]:
    """Reads the known links of a test set, between the tokenisers' words, one line for each sentence. Raises
    InputError for a file that cannot be read, or that has fewer lines."""
    assert files.links is not None
    lines = list(islice(read_lines(files.links), len(test.source)))
    require_lines(files.links, len(lines), test)
    return [parse_links(line, files.links, number) for number, line in enumerate(lines, 1)]


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
