"""Throughput of `translate --ray` with two workers against one, on this machine.

    python benchmarks/ray_workers.py run train.en.gz --lines 4000 --shards 16

Both take the same shards, in turns, with one thread each. The clock runs from when the first worker has loaded the model until the last
shard is done; starting the workers is shown apart. "Cores" is the workers' CPU time over this time: a turn in which it is far below their
number was disturbed by other work. With --ceiling, two commands without Ray, side by side, show what the machine
itself gains from a second core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.cluster.actors import LOCAL, Workers, answered, connected
from rnnsearch.cluster.answer_folder import AnswerFolder
from rnnsearch.cluster.shards import Shard, text_shards
from rnnsearch.cluster.storage import Place
from rnnsearch.cluster.tasks import Models, Translating
from rnnsearch.records import Translation
from rnnsearch.system.machine import hardware
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers.layout import OneSide


def text_of(number: int, result: Translation) -> str:
    return result.text


def cut(text: str, lines: int, shards: int, folder: Path) -> list[Shard]:
    """Writes the first lines of a text as shards of one size."""
    folder.mkdir()
    some = read_lines(text)
    for number in range(shards):
        part = list(islice(some, lines // shards))
        (folder / f"part-{number:03}.txt").write_text("".join(f"{line}\n" for line in part), encoding="utf-8")
    return text_shards(str(folder), None)


class Turn(NamedTuple):
    """start: seconds until a worker was ready. seconds: of work. cores: CPU time of the workers over these seconds. mib: of the largest."""

    start: float
    seconds: float
    cores: float
    mib: int


def measured(ray: Any, run: Path, shards: Sequence[Shard], number: int, home: Path) -> Turn:
    """The shards, translated by this many workers."""
    task = Translating(Models((run,)), {}, text_of, "text", OneSide())
    folder = AnswerFolder(Place.at(str(home)), task.key(), task.form)
    folder.begin({}, overwrite=False)
    ready: list[tuple[float, dict[int, float]]] = []
    used: dict[int, tuple[float, int]] = {}
    begun = time.monotonic()

    def started(_: int) -> None:
        ready.append((time.monotonic(), {process: seconds for process, (seconds, _) in workers().items()}))

    for outcome in answered(ray, task, folder, shards, Workers(number, 1, gpu=False), print, started):
        if outcome.fault:
            raise outcome.fault
        used |= workers()
    done = time.monotonic()
    at, before = ready[0]
    busy = sum(seconds - before.get(process, 0.0) for process, (seconds, _) in used.items())
    return Turn(at - begun, done - at, busy / (done - at), max([size for _, size in used.values()], default=0))


def workers() -> dict[int, tuple[float, int]]:
    """Of each of Ray's workers at work: process → (seconds of CPU time, MiB that it had in memory at most)."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::Worker"):
                fields = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                status = dict(line.split(":", 1) for line in (process / "status").read_text(encoding="utf-8").splitlines() if ":" in line)
                seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                found[int(process.name)] = seconds, int(status["VmHWM"].split()[0]) // 1024
        except (OSError, KeyError, IndexError):  # it has ended
            continue
    return found


def side_by_side(run: Path, files: Sequence[Path], number: int) -> float:
    """Seconds of this many commands without Ray that share the files; the time of an empty text, of loading, is taken off."""

    def seconds(texts: Sequence[Sequence[Path]]) -> float:
        begun = time.monotonic()
        command = [sys.executable, "-m", "rnnsearch", "translate", str(run), "--threads", "1", "--quiet"]
        running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in texts]
        for process, some in zip(running, texts, strict=True):
            assert process.stdin is not None
            process.stdin.write(b"".join(file.read_bytes() for file in some))
            process.stdin.close()
        if any(process.wait() for process in running):
            raise SystemExit("translate failed")
        return time.monotonic() - begun

    return seconds([files[part::number] for part in range(number)]) - seconds([[]] * number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run, or the name of a model")
    parser.add_argument("text", help="source text")
    parser.add_argument("--lines", type=int, default=4_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--ceiling", action="store_true", help="also measure commands without Ray")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    turns: dict[str, list[Turn]] = {}
    with tempfile.TemporaryDirectory() as folder, connected(LOCAL, Workers(2, 1, gpu=False)) as ray:
        home = Path(folder)
        shards = cut(arguments.text, arguments.lines, arguments.shards, home / "corpus")
        files = [Path(shard.files[0].path) for shard in shards]
        for turn, number in product(range(arguments.turns), (1, 2)):
            found = [("ray", measured(ray, arguments.run.resolve(), shards, number, home / f"{turn}-{number}"))]
            if arguments.ceiling:
                found.append(("plain", Turn(0.0, side_by_side(arguments.run, files, number), 0.0, 0)))
            for kind, one in found:
                turns.setdefault(f"{kind} {number}", []).append(one)
                print(f"{kind} {number}: {one.seconds:.1f} s, {one.cores:.2f} cores", file=sys.stderr, flush=True)
    rates = {name: arguments.lines / statistics.median(one.seconds for one in some) for name, some in turns.items()}
    ratios = {kind: rates[f"{kind} 2"] / rates[f"{kind} 1"] for kind in ("ray", "plain") if f"{kind} 1" in rates}
    start = statistics.median(one.start for name in ("ray 1", "ray 2") for one in turns[name])
    size = max(one.mib for some in turns.values() for one in some)
    if arguments.json:
        said = {"lines_per_second": rates, "ratio": ratios, "start_seconds": start, "worker_mib": size, "machine": hardware("cpu")}
        print(json.dumps({**said, "turns": {name: [one._asdict() for one in some] for name, some in turns.items()}}))
        return
    for name, rate in rates.items():
        cores = statistics.median(one.cores for one in turns[name])
        print(f"{name:8} {rate:8,.0f} lines/s" + (f" on {cores:.2f} cores: {rate / cores:,.0f} per core" if cores else ""))
    for kind, ratio in ratios.items():
        print(f"{kind:8} {ratio:8.2f} x from one to two")
    print(f"started in {start:.1f} s; the largest worker had {size:,} MiB; {hardware('cpu')}")


if __name__ == "__main__":
    main()
