"""Kills `train`, `prepare` and `translate --out` with -9 at random moments, and ranks, launchers or nodes of
trainings under torchrun; then checks the files.

    python benchmarks/kills.py --kills 25 --out kills
    python benchmarks/kills.py --kills 10 --out kills --of prepare "torchrun, rank" --seed 2

Each command runs on a small built-in corpus, in a process of its own. It is killed after a random part of its
undisturbed duration, and started again, as a job script would; a lost rank is restarted by torchrun
(--max-restarts). This is repeated until the command finishes. After every kill, each result file must be
complete or absent, and none may be older than before. At the end the result must equal that of the
undisturbed command, byte for byte or number for number, with no other files or processes left. The table is
printed and written to kills.md, and each fault is a line on stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import torch

from rnnsearch import cli
from rnnsearch.builtin.corpus import write
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.machine import hardware
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.checkpoint import read_progress

PRELOADED = (
    *("rnnsearch.training.loop", "rnnsearch.text.preparing.prepare", "rnnsearch.system.line_file"),
    *("rnnsearch.demo", "torch.utils.tensorboard"),
    *("sacrebleu", "sacremoses"),
)
"""Modules imported once: each command is a fork of this process, so that it is not killed during imports."""
SMALL = [f"model.{name}_size=12" for name in ("embedding", "hidden", "alignment", "maxout")] + [
    *("model.initialisation=glorot", "training.batch_size=10", "training.dropout_embedding=0.1"),
    *("training.validate_bleu=false", "training.select_by=nll", "training.samples=0", "training.threads=1"),
    "training.max_minutes=20",
]
PATIENCE = 240.0
"""Seconds after which a process that should end or make progress counts as hanging."""


@dataclass
class Counts:
    """half_written: kills that left a partial file or folder. as_undisturbed: results without a fault."""

    work: str
    kills: int = 0
    ended: int = 0
    half_written: int = 0
    faults: int = 0
    as_undisturbed: int = 0
    seconds: float = 0.0

    def fault(self, text: str) -> None:
        self.faults += 1
        print(f"{self.work}: {text}", file=sys.stderr, flush=True)


class Work:
    """A command that is killed.

    processes: number of processes that share its work. nodes: number of processes to start. alone: whether
    this program must restart it after a kill.
    """

    nodes, alone = 1, True

    def __init__(self, name: str, base: Path) -> None:
        self.name, self.base = name, base
        self.processes = 2 if name.endswith((", two processes", ", two workers")) else 1

    def before(self, out: Path) -> None:
        """Makes the files that exist before the command."""

    def words(self, out: Path) -> list[object]:
        """Returns the arguments of rnnsearch."""
        raise NotImplementedError

    def begin(self, node: int, out: Path, log: Path) -> int:
        """Starts the command. Returns its process id."""
        if process := os.fork():
            return process
        code = 1
        try:
            with log.open("ab", buffering=0) as file:
                for stream in (1, 2):
                    os.dup2(file.fileno(), stream)
            sys.argv = ["rnnsearch", *map(str, self.words(out))]
            cli.main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        finally:
            os._exit(code)

    def victims(self, process: int) -> list[int]:
        """Returns the ids of the processes to kill; empty if they have not been started yet."""
        return [process]

    def look(self, out: Path, log: Path) -> str:
        """Returns a fault found after a kill; "" if there is none."""
        raise NotImplementedError

    def difference(self, out: Path, undisturbed: Path) -> str:
        """Returns how the result differs from the undisturbed one."""
        return "" if out.read_bytes() == undisturbed.read_bytes() else "other bytes"


class Training(Work):
    """After a kill, checkpoint and model must be complete, and the checkpoint not older than before."""

    often = ("max_updates=30", "save_every=1", "validate_every=3")

    def words(self, out: Path) -> list[object]:
        own = [f"training.{change}" for change in (*self.often, f"processes={self.processes}")]
        sets = [f"--set={change}" for change in (*SMALL, *own)]
        return ["train", "demo", "--data", self.base / "store", "--out", out, "--resume", *sets]

    def before(self, out: Path) -> None:
        self.update = 0

    def look(self, out: Path, log: Path) -> str:
        run = out / "config.toml"
        checkpoint = out / "checkpoints" / "last.safetensors"
        if not run.exists():
            return "a checkpoint without a run" if checkpoint.exists() else ""
        if (out / "model.safetensors").exists():
            Run.open(out).load_network()
        if not checkpoint.exists():
            return "the checkpoint is gone" if self.update else ""
        load_tensors(checkpoint, "")
        before, self.update = self.update, read_progress(checkpoint).update
        return f"update {self.update} after update {before}" if self.update < before else ""

    def difference(self, out: Path, undisturbed: Path) -> str:
        for name in ("model.safetensors", "checkpoints/last.safetensors"):
            (found, _), (expected, _) = (load_tensors(folder / name, "") for folder in (out, undisturbed))
            same = found.keys() == expected.keys()
            if not same or not all(torch.equal(tensor, expected[key]) for key, tensor in found.items()):
                return f"other numbers in {name}"
        return ""


class Torchrun(Training):
    """Two ranks under torchrun, on one node, or on two nodes that meet at a port of this machine.

    The name says what is killed: a rank, the launcher, or all processes of a node.
    """

    often = ("max_updates=100", "save_every=3", "validate_every=30")

    def __init__(self, name: str, base: Path) -> None:
        super().__init__(name, base)
        self.whom = name.removeprefix("torchrun, ")
        self.nodes, self.alone = 1 + (self.whom == "node"), self.whom not in ("rank", "node")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def begin(self, node: int, out: Path, log: Path) -> int:
        options = ["--standalone", "--nproc-per-node=2", f"--max-restarts={0 if self.alone else 1000}"]
        if self.nodes > 1:
            here = f"--node-rank={node} --local-addr=127.0.0.1 --rdzv-conf=is_host={int(not node)}"
            meeting = f"--rdzv-backend=c10d --rdzv-id=kills --rdzv-endpoint=127.0.0.1:{self.port}"
            options[:2] = ["--nnodes=2", "--nproc-per-node=1", *here.split(), *meeting.split()]
        words = ["-m", "torch.distributed.run", *options, "-m", "rnnsearch", *map(str, self.words(out))]
        log.unlink(missing_ok=True)
        files = [(os.POSIX_SPAWN_OPEN, stream, log, os.O_WRONLY | os.O_CREAT, 0o644) for stream in (1, 2)]
        environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
        return os.posix_spawn(sys.executable, [sys.executable, *words], environment, file_actions=files)

    def victims(self, process: int) -> list[int]:
        ranks = descendants(process)
        if self.whom == "node":
            return [process, *ranks]
        return [process] if self.whom == "launcher" else random.sample(ranks, min(1, len(ranks)))

    def look(self, out: Path, log: Path) -> str:
        if not self.alone:
            return ""  # the ranks are already writing
        said = [
            line for line in log.read_text("utf-8", "replace").split("\n") if line.startswith("rnnsearch: ")
        ]
        return f"{len(said)} lines: {said}" if len(said) > 1 else super().look(out, log)


class Preparing(Work):
    """After a kill there must be no dataset, or the earlier one."""

    text = "train"

    def words(self, out: Path) -> list[object]:
        texts = [self.base / f"{part}.{side}" for part in (self.text, "dev") for side in ("en", "fr")]
        options = ["--dev", *texts[2:], "--out", out, "--overwrite", "--workers", self.processes]
        return ["prepare", *texts[:2], *options]

    def before(self, out: Path) -> None:
        """Makes an older dataset every second time."""
        self.older = random.random() < 0.5
        if self.older:
            shutil.copytree(self.base / "older", out)

    def look(self, out: Path, log: Path) -> str:
        if out.exists():
            Corpus.open(out, check=True)
        elif self.older and not list(out.parent.glob(f".{out.name}.*.old")):
            return "the older dataset is gone"
        return ""

    def difference(self, out: Path, undisturbed: Path) -> str:
        """Compares all files but the page, which has a date."""
        found, expected = (
            {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".html"}
            for folder in (out, undisturbed)
        )
        return "" if found == expected else "other files or bytes"


class Translating(Work):
    """After a kill there must be no file. Its lines so far are in a partial file, which must not lose any."""

    def words(self, out: Path) -> list[object]:
        options = ["--search.batch_size", 1, "--beam", 3, "--threads", 1]
        return ["translate", self.base / "run", self.base / "train.en", "--out", out, *options]

    def before(self, out: Path) -> None:
        self.lines = 0

    def look(self, out: Path, log: Path) -> str:
        partial = out.with_name(f".{out.name}.partial")
        before, self.lines = self.lines, partial.read_bytes().count(b"\n") if partial.exists() else 0
        if out.exists():
            return "" if len(out.read_text().split("\n")) == 301 else "half of the translations"
        return f"{self.lines} lines after {before}" if self.lines < before else ""


WORK: dict[str, type[Work]] = {
    **dict.fromkeys(("train", "train, two processes"), Training),
    **dict.fromkeys(("prepare", "prepare, two workers"), Preparing),
    "translate --out": Translating,
    **dict.fromkeys(
        ("torchrun, rank", "torchrun, rank without restarts", "torchrun, launcher", "torchrun, node"),
        Torchrun,
    ),
}


def descendants(process: int) -> list[int]:
    """Returns the processes that a process has started, and their descendants."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in task.read_text().split()]
    return found + [further for child in found for further in descendants(child)]


def all_gone(processes: Sequence[int]) -> bool:
    """Tells whether the processes end by themselves."""
    until = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{process}").exists() for process in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def exit_code(process: int, wait: bool = False) -> int | None:
    """Returns the exit code of a process; None while it runs. Can be called only once after its end."""
    found, status = os.waitpid(process, 0 if wait else os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def disturbed(work: Work, undisturbed: Path, whole: float, out: Path, kills: int, counts: Counts) -> None:
    """Runs one command until it ends, and kills it at most `kills` times. whole: seconds that it takes
    undisturbed."""
    work.before(out)
    logs = [undisturbed.parent / f"log{node}" for node in range(work.nodes)]
    running = {node: work.begin(node, out, logs[node]) for node in range(work.nodes)}
    until = last = time.monotonic()
    until += random.uniform(0, whole)
    while running:
        time.sleep(0.002)
        node = random.choice(list(running))
        if kills and time.monotonic() > until and (victims := work.victims(running[node])):
            every = [process for launcher in running.values() for process in descendants(launcher)]
            for victim in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            kills, counts.kills = kills - 1, counts.kills + 1
            if work.alone:
                exit_code(running[node], wait=True)
                if not all_gone(every):
                    counts.fault("a further process goes on")
                left = [path.name for path in out.parent.rglob(".*")]
                counts.half_written += any(name.endswith((".partial", ".old")) for name in left)
                note(counts, "after a kill: ", work.look, out, logs[node])
                running[node] = work.begin(node, out, logs[node])
            last = time.monotonic()
            until = last + random.uniform(0, whole)
        for node, process in list(running.items()):
            if (code := exit_code(process)) is not None:
                del running[node]
                if code:  # this node was killed, or ended because the other one was killed
                    if work.nodes == 1:
                        counts.fault(f"exit code {code}, see {logs[node]}")
                        return
                    running[node] = work.begin(node, out, logs[node])
        if time.monotonic() - last > 2 * PATIENCE:
            counts.fault(f"nothing ends: see {logs}")
            for process in [one for pid in running.values() for one in (pid, *descendants(pid))]:
                os.kill(process, signal.SIGKILL)
            return
    counts.ended += 1
    before = counts.faults
    note(counts, "at the end: ", work.difference, out, undisturbed)
    if left := sorted(path.name for path in out.parent.rglob(".*")):
        counts.fault(f"at the end: {', '.join(left)} is left")
    counts.as_undisturbed += counts.faults == before


def note(counts: Counts, when: str, look: Callable[[Path, Path], str], *paths: Path) -> None:
    """Counts the fault that `look` returns, if any."""
    try:
        fault = look(*paths)
    except InputError as error:
        fault = str(error)
    if fault:
        counts.fault(when + fault)


def run_whole(work: Work, out: Path, log: Path) -> float:
    """Returns the seconds that a command takes undisturbed."""
    begun = time.monotonic()
    processes = [work.begin(node, out, log) for node in range(work.nodes)]
    codes = [exit_code(process, wait=True) for process in processes]
    if any(codes):
        raise SystemExit(f"{work.name} fails undisturbed: see {log}")
    return time.monotonic() - begun


def measured(work: Work, kills: int) -> Counts:
    """Runs a command, again and again, until it was killed `kills` times. Returns the counts."""
    counts, begun = Counts(work.name), time.monotonic()
    place = work.base / re.sub(r"\W+", "-", work.name)
    shutil.rmtree(place, ignore_errors=True)
    undisturbed = place / "undisturbed" / "out"
    undisturbed.parent.mkdir(parents=True)
    whole = run_whole(work, undisturbed, place / "log")
    while counts.kills < kills:
        shutil.rmtree(place / "victim", ignore_errors=True)
        (place / "victim").mkdir()
        disturbed(work, undisturbed, whole, place / "victim" / "out", kills - counts.kills, counts)
        counts.seconds = time.monotonic() - begun
        print(counts, file=sys.stderr, flush=True)
    return counts


def prepared(base: Path) -> None:
    """Makes the corpus, its dataset, an older one of other text, and a run."""
    for module in PRELOADED:
        import_module(module)
    shutil.rmtree(base, ignore_errors=True)
    write(base, 300, 20)
    preparing = Preparing("prepare", base)
    run_whole(preparing, base / "store", base / "log")
    preparing.text = "dev"
    run_whole(preparing, base / "older", base / "log")
    run_whole(Training("train", base), base / "run", base / "log")


def as_table(rows: list[Counts], conditions: str) -> str:
    """Returns the counts in Markdown."""
    heading = (
        "command | kills | kills while a file or folder was written | results equal to the undisturbed one"
    )
    lines = [f"| {heading} | faults | minutes |", "|---" * 6 + "|"]
    for row in rows:
        cells = f"{row.kills} | {row.half_written} | {row.as_undisturbed} of {row.ended} | {row.faults}"
        lines.append(f"| `{row.work}` | {cells} | {row.seconds / 60:.1f} |")
    return "\n".join([*lines, "", conditions, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--kills", type=int, default=100, help="of each command")
    add("--out", type=Path, required=True, help="folder of the table and of the work")
    add("--of", nargs="+", choices=list(WORK), default=list(WORK), help="commands to kill")
    add("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    base = arguments.out.resolve() / "work"
    prepared(base)
    conditions = f"{hardware('cpu')}, {time.strftime('%Y-%m-%d')}, seed {arguments.seed}."
    rows = []
    for name in arguments.of:
        rows.append(measured(WORK[name](name, base), arguments.kills))
        table = as_table(rows, conditions)
        (arguments.out / "kills.md").write_text(table, encoding="utf-8")
    print(table)
    sys.exit(any(row.faults for row in rows))


if __name__ == "__main__":
    main()
