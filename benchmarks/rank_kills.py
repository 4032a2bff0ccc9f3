"""kill -9 at random moments of trainings of two ranks under torchrun: of a rank, of a launcher, of all processes of a node.

    python benchmarks/rank_kills.py --kills 50 --out kills

Each training is begun, disturbed after a random part of the time that it takes undisturbed, and goes on: by itself after the loss of a
rank with --max-restarts, else by the same command given again with --resume, as a job script would. At its end the checkpoint must be
that of the undisturbed training, number for number, and no process may be left. The two nodes are two launchers of this machine with a
rank each, which meet at a port of loopback. The folder gets rank_kills.json and rank_kills.md, the table that is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from rnnsearch.builtin.generate import write
from rnnsearch.errors import InputError
from rnnsearch.system.machine import hardware
from rnnsearch.system.tensors import load_tensors

SMALL = [f"model.{name}_size=12" for name in ("embedding", "hidden", "alignment", "maxout")] + ["model.initialisation=glorot"]
UPDATES = 100
OFTEN = [
    f"max_updates={UPDATES}",
    "save_every=3",
    "validate_every=30",
    "batch_size=10",
    "validate_bleu=false",
    "select_by=nll",
    "threads=1",
]
OFTEN += ["samples=0", "dropout_embedding=0.1", "exchange_timeout=60", "max_minutes=20"]
KINDS = ("rank", "rank, no restarts", "launcher", "node")
IN_A_ROW = 3
"""Kills of one training, at most."""
PATIENCE = 240.0
"""Seconds after which what should end, or go on, does neither."""


@dataclass
class Counts:
    """moments: of the kills, the update of the last checkpoint. restarted: commands given again. faults: what should not have been."""

    kind: str
    kills: int = 0
    ended: int = 0
    restarted: int = 0
    seconds: float = 0.0
    moments: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Training:
    """One training: launchers, which may have to be started again, and their ranks."""

    def __init__(self, kind: str, base: Path, out: Path) -> None:
        self.kind, self.base, self.out = kind, base, out
        self.mark = uuid.uuid4().hex  # of its processes, in their environment
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.starts = 0
        self.nodes = [self.begun(number) for number in range(2 if kind == "node" else 1)]

    def begun(self, node: int) -> subprocess.Popen[bytes]:
        options = ["--nproc-per-node=2", "--standalone"]
        if self.kind == "node":
            meeting = [f"--rdzv-endpoint=127.0.0.1:{self.port}", f"--rdzv-conf=is_host={int(not node)}", "--local-addr=127.0.0.1"]
            options = ["--nproc-per-node=1", "--nnodes=2", f"--node-rank={node}", "--rdzv-backend=c10d", "--rdzv-id=kills", *meeting]
        restarts = 1000 if self.kind in ("rank", "node") else 0
        sets = [f"--set={change}" for change in (*SMALL, *(f"training.{change}" for change in OFTEN))]
        words = ["-m", "rnnsearch", "train", "demo", "--data", self.base / "store", "--out", self.out, "--resume", *sets]
        launcher = [sys.executable, "-m", "torch.distributed.run", f"--max-restarts={restarts}", *options]
        self.starts += 1
        self.saved_before = self.saved_at()
        self.said = self.out.parent / f"said{node}-{self.starts}"
        with self.said.open("wb") as file:
            environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "KILLS": self.mark}
            return subprocess.Popen([*launcher, *map(str, words)], stdout=file, stderr=file, env=environment)

    def update(self) -> int:
        """Of the last checkpoint."""
        with contextlib.suppress(OSError, InputError, KeyError):
            return int(load_tensors(self.out / "checkpoints" / "last.safetensors", "")[1]["progress"]["update"])
        return 0

    def saved_at(self) -> int:
        """When the last checkpoint was written, as the file system says it."""
        with contextlib.suppress(OSError):
            return (self.out / "checkpoints" / "last.safetensors").stat().st_mtime_ns
        return 0

    def kill(self) -> None:
        """What the kind of kill says, as soon as it is there."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not self.ended():
            node = random.choice(self.nodes)
            ranks = children(node.pid)
            victims = {"launcher": [node.pid], "node": [node.pid, *ranks]}.get(self.kind, random.sample(ranks, min(1, len(ranks))))
            if victims and node.poll() is None:
                for victim in victims:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(victim, signal.SIGKILL)
                return
            time.sleep(0.05)

    def ended(self) -> bool:
        return all(node.poll() == 0 for node in self.nodes)

    def again(self) -> int:
        """Starts what has ended badly again. Returns how many launchers that are."""
        gone = [number for number, node in enumerate(self.nodes) if node.poll() not in (None, 0)]
        for number in gone:
            self.nodes[number] = self.begun(number)
        return len(gone)

    def processes(self) -> list[int]:
        """All that are alive."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
        return found

    def nobody_left(self) -> bool:
        until = time.monotonic() + PATIENCE
        while self.processes():
            if time.monotonic() > until:
                return False
            for node in self.nodes:
                node.poll()
            time.sleep(0.1)
        return True


def children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def disturbed(kind: str, base: Path, place: Path, kills: int, whole: float, counts: Counts) -> None:
    """One training from its beginning to its end, with at most so many kills. whole: seconds that it takes undisturbed."""
    training = Training(kind, base, place / "run")
    until = time.monotonic() + random.uniform(0, whole)
    last, seen = time.monotonic(), -1
    while not training.ended():
        time.sleep(0.02)
        if kills and time.monotonic() > until:
            update = training.update()
            training.kill()
            if training.ended():
                break
            kills, counts.kills = kills - 1, counts.kills + 1
            counts.moments.append(update)
            if kind in ("rank, no restarts", "launcher"):
                if not training.nobody_left():
                    counts.faults.append("a process goes on without its launcher or rank")
                counts.faults += wrong_words(training)
            until, last = time.monotonic() + random.uniform(0, whole), time.monotonic()
        if begun_again := training.again():
            counts.restarted += begun_again
            if kind == "rank":
                counts.faults.append("it did not go on by itself")
        if (now := training.saved_at()) != seen:
            last, seen = time.monotonic(), now
        if time.monotonic() - last > PATIENCE:
            counts.faults.append(f"nothing happens after update {training.update()}: see {place}")
            for process in training.processes():
                os.kill(process, signal.SIGKILL)
            return
    if not training.nobody_left():
        counts.faults.append("a process is left")
    counts.ended += 1
    if difference := differences(place / "run", base / "undisturbed" / "run"):
        counts.faults.append(f"at the end: {difference}")


def wrong_words(training: Training) -> list[str]:
    """The loss of a rank is one line, that of a launcher one at most.

    Before the first checkpoint of a start its ranks may not know each other yet, and after the last update the others have ended well.
    """
    lines = [line for line in training.said.read_text("utf-8", "replace").split("\n") if line.startswith("rnnsearch: ")]
    met = training.saved_at() != training.saved_before
    least = training.kind != "launcher" and met and training.update() < UPDATES
    return [] if least <= len(lines) <= 1 else [f"{len(lines)} lines: {lines}"]


def differences(found: Path, expected: Path) -> str:
    for name in ("model.safetensors", "checkpoints/last.safetensors"):
        (one, _), (other, _) = (load_tensors(folder / name, "") for folder in (found, expected))
        if one.keys() != other.keys() or not all(torch.equal(tensor, other[key]) for key, tensor in one.items()):
            return f"other numbers in {name}"
    return ""


def prepared(base: Path) -> float:
    """The dataset and the undisturbed training. Returns the seconds of the second."""
    shutil.rmtree(base, ignore_errors=True)
    write(base, 300, 20)
    texts = [str(base / f"{part}.{side}") for part in ("train", "dev") for side in ("en", "fr")]
    words = ["prepare", *texts[:2], "--dev", *texts[2:], "--out", str(base / "store")]
    subprocess.run([sys.executable, "-m", "rnnsearch", *words], check=True)
    (base / "undisturbed").mkdir()
    begun = time.monotonic()
    training = Training("rank", base, base / "undisturbed" / "run")
    if training.nodes[0].wait(600):
        raise SystemExit(f"the undisturbed training fails: see {training.said}")
    return time.monotonic() - begun


def as_table(rows: list[Counts], conditions: dict[str, object]) -> str:
    lines = ["| killed | kills | of them after a checkpoint | commands given again | trainings, all as undisturbed | faults | minutes |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        same = row.ended - sum(fault.startswith("at the end") for fault in row.faults)
        after = sum(update > 0 for update in row.moments)
        shown = f"{same} of {row.ended} | {len(row.faults)} | {row.seconds / 60:.1f} |"
        lines.append(f"| {row.kind} | {row.kills} | {after} | {row.restarted} | {shown}")
    return "\n".join([*lines, "", f"{conditions['hardware']}, {conditions['date']}, seed {conditions['seed']}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="of all kinds together")
    parser.add_argument("--out", type=Path, required=True, help="folder of the table; what is made meanwhile lies in it too")
    parser.add_argument("--of", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    base = arguments.out.resolve() / "rank_kills"
    whole = prepared(base)
    conditions = {"hardware": hardware("cpu"), "date": time.strftime("%Y-%m-%d"), "seed": arguments.seed, "undisturbed_seconds": whole}
    rows = [Counts(kind) for kind in arguments.of]
    while (left := arguments.kills - sum(row.kills for row in rows)) > 0:
        row = min(rows, key=lambda row: row.kills)
        begun, place = time.monotonic(), base / f"{row.kind.replace(', ', '-').replace(' ', '-')}-{row.ended}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        disturbed(row.kind, base, place, min(left, IN_A_ROW), whole, row)
        row.seconds += time.monotonic() - begun
        print(f"{row.kind}: {row.kills} kills, {row.ended} ended, {len(row.faults)} faults", file=sys.stderr, flush=True)
        record = {"conditions": conditions, "rows": [asdict(row) for row in rows]}
        (arguments.out / "rank_kills.json").write_text(json.dumps(record, indent=2))
        (arguments.out / "rank_kills.md").write_text(as_table(rows, conditions), encoding="utf-8")
    print(as_table(rows, conditions))
    sys.exit(any(row.faults for row in rows))


if __name__ == "__main__":
    main()
