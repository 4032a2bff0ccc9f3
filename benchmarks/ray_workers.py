"""Throughput of `translate --ray` with two workers against one, on this machine.

    python benchmarks/ray_workers.py run train.en.gz --lines 8000 --shards 16

Both take the same shards, in turns, with one thread each. The clock runs from when the first worker has loaded the model until the last
shard is done; starting Ray and the workers is shown apart. With --ceiling, two commands without Ray, side by side, show what the machine
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
from itertools import islice
from pathlib import Path

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


def measured(run: Path, shards: Sequence[Shard], number: int, home: Path) -> tuple[float, float, int]:
    """(seconds until a worker was ready, seconds of work, MiB of the largest worker) of this many workers."""
    task = Translating(Models((run,)), {}, text_of, "text", OneSide())
    folder = AnswerFolder(Place.at(str(home)), task.key(), task.form)
    folder.begin({}, overwrite=False)
    begun, ready, largest = time.monotonic(), [], 0
    workers = Workers(number, 1, gpu=False)
    with connected(LOCAL, Workers(2, 1, gpu=False)) as ray:
        for outcome in answered(ray, task, folder, shards, workers, print, lambda _: ready.append(time.monotonic())):
            if outcome.fault:
                raise outcome.fault
            largest = max(largest, largest_worker())
        done = time.monotonic()
    return ready[0] - begun, done - ready[0], largest


def largest_worker() -> int:
    """MiB that the largest of Ray's workers has had in memory."""
    sizes = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::Worker"):
                status = dict(line.split(":", 1) for line in (process / "status").read_text(encoding="utf-8").splitlines() if ":" in line)
                sizes.append(int(status["VmHWM"].split()[0]) // 1024)
        except (OSError, KeyError):  # it has ended
            continue
    return max(sizes)


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
    parser.add_argument("--lines", type=int, default=8_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--ceiling", action="store_true", help="also measure commands without Ray")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    times: dict[str, list[float]] = {}
    starts, sizes = [], []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shards = cut(arguments.text, arguments.lines, arguments.shards, home / "corpus")
        files = [Path(shard.files[0].path) for shard in shards]
        for turn in range(arguments.turns):
            for number in (1, 2):
                start, seconds, size = measured(arguments.run.resolve(), shards, number, home / f"{turn}-{number}")
                times.setdefault(f"ray {number}", []).append(seconds)
                starts.append(start)
                sizes.append(size)
                if arguments.ceiling:
                    times.setdefault(f"plain {number}", []).append(side_by_side(arguments.run, files, number))
    rates = {name: arguments.lines / statistics.median(found) for name, found in times.items()}
    ratios = {kind: rates[f"{kind} 2"] / rates[f"{kind} 1"] for kind in ("ray", "plain") if f"{kind} 1" in rates}
    found = {"lines_per_second": rates, "ratio": ratios, "start_seconds": statistics.median(starts), "worker_mib": max(sizes)}
    if arguments.json:
        print(json.dumps({**found, "seconds": times, "machine": hardware("cpu")}))
        return
    for name, rate in rates.items():
        print(f"{name:8} {rate:8,.0f} lines/s   ({', '.join(f'{seconds:.1f} s' for seconds in times[name])})")
    for kind, ratio in ratios.items():
        print(f"{kind:8} {ratio:8.2f} x from one to two")
    print(f"started in {found['start_seconds']:.1f} s; the largest worker had {max(sizes):,} MiB; {hardware('cpu')}")


if __name__ == "__main__":
    main()
