"""What is left after kill -9 at random moments: of training, of `prepare`, each in one process and in several, and of `translate --out`.

    python benchmarks/kills.py --kills 100 --out kills
    python benchmarks/kills.py --kills 10 --out kills --of prepare --seed 2

A small built-in corpus; every command is the real one, in a process of its own, which is forked so that nothing has to be imported again.
It is begun, killed after a random part of the time that it takes undisturbed, looked at, and begun again until it ends by itself; then
from the start, until so many kills are reached. After every kill all files of a result must be whole or absent, and none older than
before. At the end each result must be, byte for byte or number for number, that of the undisturbed command, with nothing beside it,
and no process may be left. The folder gets kills.json and kills.md, the table that is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from rnnsearch import cli
from rnnsearch.builtin.generate import write
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.machine import hardware
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.checkpoint import read_progress
from rnnsearch.translation.outputs_file import count_outputs

PRELOADED = (
    *("rnnsearch.training.loop", "rnnsearch.text.preparing.prepare", "rnnsearch.translation.answers", "rnnsearch.demo"),
    *("torch.utils.tensorboard.summary", "tensorboard.summary.writer.record_writer", "sacrebleu", "sacremoses"),
)
"""Imported once, before a command is begun."""
SMALL = ["embedding_size=12", "hidden_size=16", "alignment_size=12", "maxout_size=12", "initialisation=glorot"]
OFTEN = ["max_updates=30", "save_every=1", "validate_every=3", "batch_size=10", "validate_bleu=false", "select_by=nll", "threads=1"]
"""So often that many kills come while a file is written."""


@dataclass
class Counts:
    """half_written: kills that left a partial file or folder. faults: what should not have been, in words."""

    work: str
    kills: int = 0
    ended: int = 0
    half_written: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


class Work:
    """A command that is killed. words: of the command, with a place for the folder or file that it makes."""

    name = ""

    def __init__(self, base: Path) -> None:
        self.base = base

    def words(self, out: Path) -> list[object]:
        raise NotImplementedError

    def begin(self, out: Path) -> None:
        """What is there before the command."""

    def look(self, out: Path) -> str:
        """What is wrong with what a kill has left; nothing if it is empty."""
        raise NotImplementedError

    def compare(self, out: Path, undisturbed: Path) -> str:
        """How the result differs from the undisturbed one."""
        raise NotImplementedError


class Training(Work):
    """After a kill, checkpoint and model must be whole, and the checkpoint not older than it was."""

    name, processes = "train", 1

    def words(self, out: Path) -> list[object]:
        changes = [f"--set=model.{change}" for change in SMALL]
        changes += [f"--set=training.{change}" for change in (*OFTEN, f"processes={self.processes}")]
        return ["train", "demo", "--data", self.base / "store", "--out", out, "--resume", *changes]

    def begin(self, out: Path) -> None:
        self.update = 0

    def look(self, out: Path) -> str:
        if not (out / "config.toml").exists():
            return "a checkpoint without a run" if (out / "checkpoints" / "last.safetensors").exists() else ""
        run = Run.open(out)
        if run.model_path.exists():
            run.load_network()
        if run.checkpoint_path.exists():
            load_tensors(run.checkpoint_path, "")
            before, self.update = self.update, read_progress(run.checkpoint_path).update
            return f"update {self.update} after update {before}" if self.update < before else ""
        return "the checkpoint is gone" if self.update else ""

    def compare(self, out: Path, undisturbed: Path) -> str:
        for name in ("model.safetensors", "checkpoints/last.safetensors"):
            (found, _), (expected, _) = (load_tensors(folder / name, "") for folder in (out, undisturbed))
            if found.keys() != expected.keys() or not all(torch.equal(tensor, expected[key]) for key, tensor in found.items()):
                return f"other numbers in {name}"
        return ""


class TrainingInTwo(Training):
    name, processes = "train, two processes", 2


class Preparing(Work):
    """After a kill there must be no store, or the one that was there before."""

    name, workers = "prepare", 1

    def words(self, out: Path) -> list[object]:
        texts = [self.base / f"{part}.{side}" for part in ("train", "dev") for side in ("en", "fr")]
        return ["prepare", *texts[:2], "--dev", *texts[2:], "--out", out, "--overwrite", "--workers", self.workers]

    def begin(self, out: Path) -> None:
        """Every second time there is an older store."""
        self.before = random.random() < 0.5
        if self.before:
            shutil.copytree(self.base / "older", out)

    def look(self, out: Path) -> str:
        if not out.exists():
            aside = list(out.parent.glob(f".{out.name}.*.old"))
            return "the older store is gone" if self.before and not aside else ""
        Corpus.open(out, check=True)
        return ""

    def compare(self, out: Path, undisturbed: Path) -> str:
        names = {path.name for path in undisturbed.iterdir()}
        if names != {path.name for path in out.iterdir()}:
            return "other files"
        # The page says when it was made.
        differing = [name for name in sorted(names - {"report.html"}) if (out / name).read_bytes() != (undisturbed / name).read_bytes()]
        return f"other bytes in {', '.join(differing)}" if differing else ""


class PreparingInTwo(Preparing):
    name, workers = "prepare, two workers", 2


class Translating(Work):
    """After a kill there must be no file: its lines so far are in the journal, whose whole lines must not become fewer."""

    name = "translate --out"

    def words(self, out: Path) -> list[object]:
        return ["translate", self.base / "run", self.base / "train.en", "--out", out, "--batch-size", 1, "--beam", 3, "--threads", 1]

    def begin(self, out: Path) -> None:
        self.lines = 0

    def look(self, out: Path) -> str:
        before, self.lines = self.lines, count_outputs(out.with_name(f".{out.name}.journal"))
        if out.exists():
            return "" if len(out.read_text().split("\n")) == 301 else "half of the translations"
        return f"{self.lines} lines after {before}" if self.lines < before else ""

    def compare(self, out: Path, undisturbed: Path) -> str:
        return "" if out.read_bytes() == undisturbed.read_bytes() else "other translations"


WORK: dict[str, type[Work]] = {kind.name: kind for kind in (Training, TrainingInTwo, Preparing, PreparingInTwo, Translating)}


def started(words: list[object], log: Path) -> int:
    """The number of a new process that runs the command."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        with log.open("ab", buffering=0) as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        sys.argv = ["rnnsearch", *map(str, words)]
        cli.main()
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    finally:
        os._exit(code)


def children(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in task.read_text().split()]
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(processes: list[int], within: float = 10.0) -> bool:
    """Whether the processes end by themselves."""
    until = time.monotonic() + within
    while any(map(alive, processes)):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def disturbed(work: Work, undisturbed: Path, whole: float, out: Path, kills: int, log: Path, counts: Counts) -> None:
    """One command from its beginning to its end, killed at most so many times. whole: seconds that it takes undisturbed."""
    work.begin(out)
    said: Callable[[str], None] = counts.faults.append
    while True:
        process = started(work.words(out), log)
        killed = False
        if kills:
            until = time.monotonic() + random.uniform(0, whole)
            while time.monotonic() < until and alive(process):
                time.sleep(0.001)
            further = children(process)
            os.kill(process, signal.SIGKILL)
            killed = True
        _, status = os.waitpid(process, 0)
        if not killed or os.WIFEXITED(status):  # it was faster
            if code := os.waitstatus_to_exitcode(status):
                said(f"exit code {code}, see {log}")
            break
        kills, counts.kills = kills - 1, counts.kills + 1
        counts.half_written += any(path.name.endswith((".partial", ".old")) for path in out.parent.rglob(".*"))
        if not gone(further):
            said("a further process goes on")
        try:
            fault = work.look(out)
        except InputError as error:
            fault = str(error)
        if fault:
            said(f"after a kill: {fault}")
    counts.ended += 1
    if difference := work.compare(out, undisturbed):
        said(f"at the end: {difference}")
    if left := sorted(path.name for path in out.parent.rglob(".*")):
        said(f"at the end: {', '.join(left)} is left")


def measured(work: Work, kills: int, base: Path) -> Counts:
    counts, begun = Counts(work.name), time.monotonic()
    place = base / re.sub(r"\W+", "-", work.name)
    shutil.rmtree(place, ignore_errors=True)
    undisturbed, log = place / "undisturbed" / "out", place / "log"
    undisturbed.parent.mkdir(parents=True)
    whole = run_whole(work.words(undisturbed), log)
    while counts.kills < kills:
        shutil.rmtree(place / "victim", ignore_errors=True)
        (place / "victim").mkdir()
        disturbed(work, undisturbed, whole, place / "victim" / "out", kills - counts.kills, log, counts)
        shown = f"{work.name}: {counts.kills} kills, {counts.ended} ended, {len(counts.faults)} faults"
        print(shown, file=sys.stderr, flush=True)
    counts.seconds = time.monotonic() - begun
    return counts


def prepared(base: Path) -> None:
    """The corpus, its store, an older one of other text, and a run."""
    for module in PRELOADED:
        import_module(module)
    shutil.rmtree(base, ignore_errors=True)
    write(base, 300, 20)
    dev = [base / f"dev.{side}" for side in ("en", "fr")]
    run_whole(["prepare", base / "train.en", base / "train.fr", "--dev", *dev, "--out", base / "store"], base / "log")
    run_whole(["prepare", *dev, "--dev", *dev, "--out", base / "older"], base / "log")
    run_whole(Training(base).words(base / "run"), base / "log")


def run_whole(words: list[object], log: Path) -> float:
    """Seconds that the command takes."""
    begun = time.monotonic()
    if os.waitstatus_to_exitcode(os.waitpid(started(words, log), 0)[1]):
        raise SystemExit(f"{words[0]} fails undisturbed: see {log}")
    return time.monotonic() - begun


def as_table(rows: list[Counts], conditions: dict[str, Any]) -> str:
    lines = [
        "| command | kills | of them in the middle of a file or folder | results as undisturbed | faults | minutes |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        shown = f"{row.ended - sum(fault.startswith('at the end') for fault in row.faults)} of {row.ended}"
        lines.append(f"| `{row.work}` | {row.kills} | {row.half_written} | {shown} | {len(row.faults)} | {row.seconds / 60:.1f} |")
    return "\n".join([*lines, "", f"{conditions['hardware']}, {conditions['date']}, seed {conditions['seed']}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each command")
    parser.add_argument("--out", type=Path, required=True, help="folder of the table; what is made meanwhile lies in it too")
    parser.add_argument("--of", nargs="+", choices=list(WORK), default=list(WORK), help="commands to kill")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    base = arguments.out.resolve() / "work"
    prepared(base)
    conditions = {"hardware": hardware("cpu"), "date": time.strftime("%Y-%m-%d"), "seed": arguments.seed}
    rows = []
    for name in arguments.of:
        rows.append(measured(WORK[name](base), arguments.kills, base))
        table = as_table(rows, conditions)
        (arguments.out / "kills.json").write_text(json.dumps({"conditions": conditions, "rows": [asdict(row) for row in rows]}, indent=2))
        (arguments.out / "kills.md").write_text(table, encoding="utf-8")
    print(table)
    sys.exit(any(row.faults for row in rows))


if __name__ == "__main__":
    main()
