"""Speed and peak memory of `rnnsearch select` against a plain loop of sacremoses over both sides, in one run.

    python benchmarks/selection_speed.py --in-domain dev.en dev.fr --pool train.en.gz train.fr.gz --copies 10

The command runs as a user starts it, and reads the pool as often as `--copies` says; its peak is that of all its processes together, each
page shared between them counted once (PSS, read from /proc five times per second). The plain loop tokenises some of the pool's pairs in one
process, half of them before the command and half after it. Processor time, of all processes, is what other work on the machine disturbs
least: pairs per second of it are what one core does.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sacremoses import MosesTokenizer

from rnnsearch.text.formats.lines import read_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in-domain", nargs=2, required=True)
    parser.add_argument("--pool", nargs=2, required=True)
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--plain", type=int, default=40_000, help="pairs that the plain loop tokenises")
    arguments = parser.parse_args()
    pairs = list(islice(read_pairs(*arguments.pool), arguments.plain))
    half = len(pairs) // 2
    plain = plain_seconds(pairs[:half], arguments.languages)
    found = {workers: measured(arguments, workers) for workers in arguments.workers}
    plain += plain_seconds(pairs[half:], arguments.languages)
    rate, core = len(pairs) / plain
    print(f"plain sacremoses loop: {rate:,.0f} pairs/s, {core:,.0f} a second of processor time")
    for workers, (total, seconds, peak) in found.items():
        faster, faster_core = total / seconds
        print(f"{workers} workers: {total:,} pairs in {seconds[0]:.0f} s, {faster:,.0f} pairs/s: {faster / rate:.1f} times the plain loop")
        print(f"  {faster_core:,.0f} a second of processor time: {faster_core / core:.1f} times; peak {peak / 2**20:.0f} MiB")


def plain_seconds(pairs: list[tuple[str, str]], languages: list[str]) -> NDArray[np.float64]:
    """Of the clock and of the processor."""
    source, target = map(MosesTokenizer, languages)
    started = np.array([time.perf_counter(), time.process_time()])
    for left, right in pairs:
        source.tokenize(left, escape=False)
        target.tokenize(right, escape=False)
    seconds: NDArray[np.float64] = np.array([time.perf_counter(), time.process_time()]) - started
    return seconds


def clocks() -> NDArray[np.float64]:
    """The clock, and the processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([time.perf_counter(), used.ru_utime + used.ru_stime])


def measured(arguments: argparse.Namespace, workers: int) -> tuple[int, NDArray[np.float64], int]:
    """(pairs of the pool, seconds of both clocks, bytes at the peak) of a whole selection: sample, models, scores, cut, files."""
    settings = [f"--set=data.{side}_language={code}" for side, code in zip(("source", "target"), arguments.languages, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "rnnsearch", "select", "--in-domain", *arguments.in_domain, *settings]
        command += ["--pool", *arguments.pool * arguments.copies, "--share", "0.4", "--workers", str(workers), "--out", f"{folder}/kept"]
        started = clocks()
        with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
            peak = 0
            while process.poll() is None:
                peak = max(peak, sum(map(shared_fairly, family(process.pid))))
                time.sleep(0.2)
            report = process.stdout.read() if process.stdout else ""
        seconds = clocks() - started
        if process.returncode:
            raise SystemExit(process.returncode)
    line = next(line for line in report.split("\n") if line.startswith("pool: "))
    return int(line.split(" of ")[1].split()[0].replace(",", "")), seconds, peak


def family(process: int) -> list[int]:
    """A process and all that it has started, directly or not."""
    children = (int(child) for path in Path(f"/proc/{process}/task").glob("*/children") for child in text_of(path).split())
    return [process, *(member for child in children for member in family(child))]


def shared_fairly(process: int) -> int:
    """Bytes of a process; of pages that it shares, its share."""
    sizes = [line.split()[1] for line in text_of(Path(f"/proc/{process}/smaps_rollup")).split("\n") if line.startswith("Pss:")]
    return sum(map(int, sizes)) * 1024


def text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended
        return ""


if __name__ == "__main__":
    main()
